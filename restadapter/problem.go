package restadapter

import (
	"bytes"
	"mime"
	"strconv"
	"strings"

	"github.com/reeve-go/reeve/operator/powers"
)

// problem writes a refusal as a problem of RFC 9457: its five members, then the
// envelope's own as extensions. type is the same for every refusal of a reason;
// instance names this one.
func problem(a powers.Answer, requestID string) []byte {
	reason := string(a.Reason)
	title := strings.ReplaceAll(reason, "_", " ")
	members := [][2]string{
		{"type", string(quote("/problems/" + reason))},
		{"title", string(quote(strings.ToUpper(title[:min(1, len(title))]) + title[min(1, len(title)):]))},
		{"status", strconv.Itoa(a.Status)},
		{"detail", messageOf(a.JSON)},
		{"instance", string(quote("/problems/" + reason + "/" + requestID))},
	}
	out := []byte{'{'}
	for _, m := range members {
		out = append(out, "\n  \""+m[0]+"\": "+m[1]+","...)
	}
	return append(out, bytes.TrimPrefix(a.JSON, []byte{'{'})...)
}

// messageOf is the envelope's message, as it is written there.
func messageOf(envelope []byte) string {
	members, err := powers.Members(envelope)
	if err != nil {
		return `""`
	}
	for _, m := range members {
		if m.Name == "message" {
			return string(m.Value)
		}
	}
	return `""`
}

// prefersProblem reads Accept (RFC 9110, 12.5.1): problem+json must be named,
// and must weigh no less than plain JSON does.
func prefersProblem(accept []string) bool {
	const named, subtype, anything = 3, 2, 1
	var problem, plain float64
	best := 0
	for entry := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, params, err := mime.ParseMediaType(entry)
		if err != nil {
			continue
		}
		q := weight(params)
		specific := 0
		switch media {
		case mediaProblem:
			problem = q
		case mediaJSON:
			specific = named
		case "application/*":
			specific = subtype
		case "*/*":
			specific = anything
		}
		if specific > best {
			best, plain = specific, q
		}
	}
	return problem > 0 && problem >= plain
}

func weight(params map[string]string) float64 {
	text, has := params["q"]
	if !has {
		return 1
	}
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}
