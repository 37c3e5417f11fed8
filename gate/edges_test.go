package gate

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestLinesHaveNoBlanksAroundThem(t *testing.T) {
	for _, s := range []string{" a", "a ", "\u00a0a", "a\u2003", "\u2800", "\u2800a", " ", "a\u3000"} {
		for name, a := range map[string]Action{
			"title":     {Type: "note", Title: s},
			"recipient": {Type: "send", Title: "x", Recipient: s},
		} {
			if err := a.Check(); !errors.Is(err, &FieldError{Field: name, Code: CodeTextUnhygienic}) {
				t.Errorf("%s %q: %v", name, s, err)
			}
		}
	}
	if err := (Action{Type: "send", Title: "a b", Recipient: "Ana <ana@x.example>"}).Check(); err != nil {
		t.Error(err)
	}
}

func TestDataIsHeldToTheHygieneOfText(t *testing.T) {
	for data, fine := range map[string]bool{
		`{"note":"two\nlines\tand a tab"}`:              true,
		`{"名前":"値", "deep":[{"ключ":"می\u200cخواهم"}]}`: true,
		`{"iban\u200c":"x"}`:                            false,
		`{"two\nlines":"x"}`:                            false,
		`{"x":"\u202eright to left"}`:                   false,
		`{"x":["\u001b[2J"]}`:                           false,
		`{"x":{"y":"\u009b31m"}}`:                       false,
		`{"x":"zero\u200bwidth"}`:                       false,
		`{"\u202e":1}`:                                  false,
		`{"x":"a\u0000"}`:                               false,
		`["\u202e"]`:                                    false,
	} {
		err := (Action{Type: "note", Title: "x", Data: jsontext.Value(data)}).Check()
		if (err == nil) != fine {
			t.Errorf("%s: %v", data, err)
		}
	}
}
