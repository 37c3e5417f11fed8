package hook_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/hook"
)

func TestAHookThatCannotBeCalledIsFoundWithoutCallingIt(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	for _, c := range []struct{ name, spec, says string }{
		{"a program", "exec:cat >/dev/null", ""},
		{"a word of the shell", "exec:cd / && touch never", ""},
		{"more than a word", `exec:"$HOME/x" y`, ""},
		{"a program that there is not", "exec:no-such-program --now", "there is no command no-such-program"},
		{"what the shell cannot read", "exec:cat |", "the shell cannot read"},
		{"an address", server.URL, ""},
		{"an address where nothing listens", "http://127.0.0.1:1/x?token=secret", "nothing answers there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := hook.Parse(c.spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = h.Reach(context.Background())
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("it says %v", err)
			}
		})
	}
}
