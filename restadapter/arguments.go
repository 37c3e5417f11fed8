package restadapter

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/reeve-go/reeve/operator"
)

// arguments makes the one JSON object that the schedule is called with: the
// path's parameters, then the query's (of a GET) or the body's members (of
// anything else). Nothing is judged here that the decoder judges, so a name that
// comes twice, in whatever way, is put in twice and refused there.
func (x *exchange) arguments(e *endpoint) ([]byte, error) {
	first := e.pathMembers(x.r)
	if x.r.Method == http.MethodGet || x.r.Method == http.MethodHead {
		if x.hasBody() {
			return nil, operator.Refuse(operator.ReasonInvalidValue, "A %s takes its arguments in the address and has no body.", x.r.Method)
		}
		query, err := e.queryMembers(x.r.URL.RawQuery)
		if err != nil {
			return nil, err
		}
		return object(append(first, query...)), nil
	}
	if x.r.URL.RawQuery != "" {
		return nil, operator.Refuse(operator.ReasonUnknownKey, "A %s takes its arguments in the body; take the query off the address.", x.r.Method)
	}
	body, err := x.body()
	if err != nil {
		return nil, err
	}
	return splice(first, body), nil
}

// pathMembers are the path's parameters as members of an object.
func (e *endpoint) pathMembers(r *http.Request) [][]byte {
	var out [][]byte
	for _, name := range e.params {
		out = append(out, e.member(name, r.PathValue(name)))
	}
	return out
}

// queryMembers are the query's, in their order. Repeated ones are all there.
func (e *endpoint) queryMembers(raw string) ([][]byte, error) {
	var out [][]byte
	for piece := range strings.SplitSeq(raw, "&") {
		if piece == "" {
			continue
		}
		before, after, _ := strings.Cut(piece, "=")
		name, errName := url.QueryUnescape(before)
		value, errValue := url.QueryUnescape(after)
		if errors.Join(errName, errValue) != nil || strings.Contains(piece, ";") {
			return nil, operator.Refuse(operator.ReasonInvalidValue, "The query is not well-formed: write name=value, with & between and %% escapes of two hex digits.")
		}
		out = append(out, e.member(name, value))
	}
	return out, nil
}

// member writes one parameter as `"argument":value`. Text is all that an address
// can hold: where the argument is an integer or a boolean, the canonical spelling
// of one becomes one, so that a call has the same digest whichever way it came.
// Any other spelling stays a string, and is refused as the wrong type.
func (e *endpoint) member(name, text string) []byte {
	argument := e.argument(name)
	out := append(quote(argument), ':')
	switch {
	case e.types[argument] == "integer" && isInteger(text):
		return append(out, text...)
	case e.types[argument] == "boolean" && (text == "true" || text == "false"):
		return append(out, text...)
	}
	return append(out, quote(text)...)
}

// isInteger knows the one spelling of an integer that JSON has (RFC 8259, 6),
// minus zero apart.
func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	return digits[0] != '0' || s == "0"
}

// quote writes a JSON string. Bytes that are not UTF-8 stay as they are, so that
// the decoder refuses them; a marshaller would put something else in their place.
func quote(s string) []byte {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < ' ':
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

func object(members [][]byte) []byte {
	out := append([]byte{'{'}, bytes.Join(members, []byte{','})...)
	return append(out, '}')
}

const jsonSpace = " \t\r\n"

// splice puts members before those of the object in body, whose bytes stay as
// they are. What does not begin an object is handed on as it is: the decoder
// takes nothing else, so it cannot be called without the path's parameters.
func splice(members [][]byte, body []byte) []byte {
	if len(body) == 0 {
		return object(members)
	}
	rest, isObject := bytes.CutPrefix(bytes.TrimLeft(body, jsonSpace), []byte{'{'})
	if len(members) == 0 || !isObject {
		return body
	}
	out := append(make([]byte, 0, len(body)+64), '{')
	out = append(out, bytes.Join(members, []byte{','})...)
	if !bytes.HasPrefix(bytes.TrimLeft(rest, jsonSpace), []byte{'}'}) {
		out = append(out, ',')
	}
	return append(out, rest...)
}
