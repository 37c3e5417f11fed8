package powers

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// longestSentence bounds what a refusal says, in bytes: a sentence that names a
// place may carry a key of the caller's, and a key may be as long as the body.
const longestSentence = 600

// cutQuote finds a quotation that was cut short. The redactor knows a credential
// by its whole form, so the beginning of one would pass it by.
var cutQuote = regexp.MustCompile(`"(?:[^"\\]|\\.)*…"`)

// cutName finds the last part of a place that was cut short.
var cutName = regexp.MustCompile(`[^./]*…$`)

// sentence makes a refusal's words fit to be shown: without credentials, without
// what could steer a terminal, and not too long.
func sentence(s string) string {
	s = gate.Redact(cutQuote.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "(a long text)"))
	s = strings.Map(graphic, s)
	if len(s) <= longestSentence {
		return s
	}
	end := longestSentence
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// place is sentence for the name of a field.
func place(s string) string { return sentence(cutName.ReplaceAllString(s, "…")) }

func graphic(r rune) rune {
	if unicode.IsGraphic(r) {
		return r
	}
	return utf8.RuneError
}

// plainDetails is what a refusal adds for programs, with every credential in it
// blotted out, the caller's own payload included. What has no JSON is left out:
// the refusal stands without it.
func plainDetails(details map[string]any) jsontext.Value {
	none := jsontext.Value("{}")
	if len(details) == 0 {
		return none
	}
	raw, err := json.Marshal(withPlainFaults(details), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return none
	}
	out, err := redacted(raw)
	if err != nil {
		return none
	}
	return out
}

// withPlainFaults is details with its list of faults fit to be shown.
func withPlainFaults(details map[string]any) map[string]any {
	faults, ok := details["faults"].([]operator.Fault)
	if !ok {
		return details
	}
	shown := make([]operator.Fault, len(faults))
	for i, f := range faults {
		shown[i] = operator.Fault{Field: place(f.Field), Code: f.Code, Message: sentence(f.Message)}
	}
	out := make(map[string]any, len(details))
	for key, value := range details {
		out[key] = value
	}
	out["faults"] = shown
	return out
}

// redacted copies JSON and blots out credentials, in keys as well. They are
// looked for in the texts as they decode: an escape would hide one.
func redacted(raw []byte) (jsontext.Value, error) {
	var out bytes.Buffer
	from, to := jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&out)
	for {
		token, err := from.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		if token.Kind() == '"' {
			if text := token.String(); len(gate.FindSecrets(text)) > 0 {
				token = jsontext.String(gate.Redact(text))
			}
		}
		if err := to.WriteToken(token); err != nil {
			return nil, err // two keys that were one credential each
		}
	}
}
