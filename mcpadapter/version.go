package mcpadapter

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator"
)

var (
	// versionForm is what every protocol version looks like.
	versionForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)

	// versionLike is what may pass for one, and hides nothing that a header should
	// not have held.
	versionLike = regexp.MustCompile(`^v?[0-9]{1,8}([.-][0-9]{1,8}){0,3}$`)
)

// unspoken is the refusal of a protocol version in the header that nobody speaks,
// or nil. It tells which versions there are, so that a client can take one of them,
// and to whom, where the body says so: fail is what else is wrong with the body, and
// m the message where nothing is.
func unspoken(h http.Header, m *message, fail *fault) *fault {
	version := one(h, headerVersion)
	known := mcp.SupportedProtocolVersions()
	if version == "" || slices.Contains(known, version) {
		return nil
	}
	out := &fault{status: http.StatusBadRequest, code: mcp.CodeUnsupportedProtocolVersion,
		more: mcp.UnsupportedProtocolVersionData{Supported: known, Requested: repeatable(version)},
		err: operator.Refuse(operator.ReasonInvalidValue,
			"This server does not speak the protocol version in the header; it speaks %s.", strings.Join(known, ", "))}
	if fail != nil {
		out.id, out.tool = fail.id, fail.tool
		return out
	}
	out.id = m.id
	if m.method == methodCallTool {
		name, _ := only(m.params, "name")
		out.tool = text(name)
	}
	return out
}

// repeatable is a version as it may stand in an answer: empty where it is something
// else that came to stand in that header.
func repeatable(version string) string {
	if versionLike.MatchString(version) {
		return version
	}
	return ""
}
