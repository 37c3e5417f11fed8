package mcpadapter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// asEscapes writes a text as escapes of JSON alone.
func asEscapes(s string) string {
	var out strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&out, `\u%04X`, c)
	}
	return out.String()
}

// inJSON is a text within JSON that is itself text, so many times over.
func inJSON(s string, times int) string {
	for range times {
		quoted, _ := json.Marshal(`{"x":"` + s + `"}`)
		s = strings.Trim(string(quoted), `"`)
	}
	return s
}

func TestNoAnswerThatRepeatsTheCredentialIsPassedOnHoweverItIsSpelt(t *testing.T) {
	half := asEscapes(someToken[:20]) + someToken[20:]
	for name, spelt := range map[string]string{
		"as it is":                     someToken,
		"its first letter as escape":   `\u0072` + someToken[1:],
		"one in the middle":            someToken[:9] + `\u0030` + someToken[10:],
		"escapes alone":                asEscapes(someToken),
		"small letters":                strings.ToLower(asEscapes(someToken)),
		"within JSON that is text":     inJSON(half, 1),
		"three times so":               inJSON(half, 3),
		"after a backslash":            `\\` + someToken,
		"after an escape that is none": `\\u00` + half,
	} {
		t.Run(name, func(t *testing.T) {
			for _, body := range []string{
				`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + spelt + `"}]}}`,
				`{"jsonrpc":"2.0","id":1,"result":{"` + spelt + `":1}}`,
				`{"ok":false,"verdict":"deny","reason":"x","message":"` + spelt + `"}`,
			} {
				b := bridgeTo(t, farSide(func(*http.Request) (*http.Response, error) { return response(200, "application/json", body), nil }), nil)
				for _, l := range whole(t, b, ping(1)+recordAs(1)) {
					if !strings.Contains(l, "repeated the credential") || strings.Contains(l, spelt) {
						t.Errorf("passed on: %s", l)
					}
				}
			}
		})
	}
}

func TestWhatIsNotTheCredentialIsPassedOnAsItIs(t *testing.T) {
	for _, text := range []string{`\\\\\\`, `C:\\temp\u0041`, `\"` + someToken[1:], someToken[:len(someToken)-1] + `\n`, `\ud83d\ude00`} {
		body := `{"jsonrpc":"2.0","id":1,"result":{"x":"` + text + `"}}`
		b := bridgeTo(t, farSide(func(*http.Request) (*http.Response, error) { return response(200, "application/json", body), nil }), nil)
		if got := whole(t, b, ping(1)); len(got) != 1 || got[0] != body {
			t.Errorf("%s became %v", body, got)
		}
	}
}
