package hook

import (
	"errors"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// aJob is a job as a worker would hold it.
func aJob() operator.Job {
	cents := gate.Cents(4900)
	return operator.Job{
		Intent: operator.Intent{ID: 7, ActionType: "spend", Digest: strings.Repeat("d", 64),
			Payload: &gate.Action{Type: "spend", Title: "Annual plan renewal", AmountCents: &cents, Currency: "USD"}},
		FencingToken: 3, IdempotencyKey: "eda5f4d3e25d47e92b81a5a7d27064d1", ExecutionKey: "eda5f4d3e25d47e92b81a5a7d27064d1-7",
	}
}

func aNotice() operator.Notice {
	return operator.Notice{Key: "intent.pending:7", Topic: "intent.pending", Payload: []byte(`{"intent_id":7}`)}
}

func mustParse(t *testing.T, spec string, opts *Options) *Hook {
	t.Helper()
	h, err := Parse(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wantFailed holds an error to mean that nothing was done.
func wantFailed(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || errors.Is(err, operator.ErrOutcomeUnknown) {
		t.Fatalf("error %v, want one that means that nothing was done", err)
	}
	if !strings.Contains(err.Error(), words) {
		t.Errorf("error %q, want %q in it", err, words)
	}
}

// wantUnknown holds an error to mean that nobody knows.
func wantUnknown(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, operator.ErrOutcomeUnknown) {
		t.Fatalf("error %v, want operator.ErrOutcomeUnknown", err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		good       bool
	}{
		{"a command", "exec:./pay.sh --now", true},
		{"a command with every sign in it", `exec:echo "a=b;c,d" | wc -c`, true},
		{"an address", "http://127.0.0.1:8080/pay", true},
		{"an address over TLS", "https://pay.example/hook?from=reeve", true},
		{"an address with the transport in front", "http:http://127.0.0.1/pay", true},
		{"an address over TLS with the transport in front", "http:https://pay.example/", true},
		{"nothing", "", false},
		{"an empty command", "exec:", false},
		{"a command of blanks", "exec:  \t", false},
		{"a command with a NUL", "exec:a\x00b", false},
		{"a bare command", "./pay.sh", false},
		{"another scheme", "ftp://pay.example/", false},
		{"another scheme behind the transport", "http:ftp://pay.example/", false},
		{"a file", "http:file:///etc/passwd", false},
		{"an address without a host", "http:///pay", false},
		{"an address with a fragment", "http://pay.example/#now", false},
		{"capitals", "EXEC:true", false},
		{"a space in front", " exec:true", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.spec, nil)
			if c.good != (err == nil) {
				t.Errorf("Parse(%q): %v", c.spec, err)
			}
			if err != nil && !errors.Is(err, ErrSpec) {
				t.Errorf("Parse(%q): %v does not wrap ErrSpec", c.spec, err)
			}
		})
	}
}

func TestAPasswordInABadAddressIsNotRepeated(t *testing.T) {
	_, err := Parse("http://me:hunter2@[::1/pay", nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestWhatAHookSaysIsBoundedAndValid(t *testing.T) {
	for _, in := range []string{strings.Repeat("é", 5000), strings.Repeat("x", maxOutcome+1), "\xff\xfe", "", " a \n"} {
		out := said([]byte(in))
		if len(out) > maxOutcome || strings.ToValidUTF8(out, "") != out || strings.TrimSpace(out) != out {
			t.Errorf("said(%d bytes) = %d bytes: %.20q", len(in), len(out), out)
		}
	}
	if got := said([]byte(strings.Repeat("x", maxOutcome))); len(got) != maxOutcome {
		t.Errorf("what fits exactly was cut to %d bytes", len(got))
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"exec:true", "http://a/", "http:https://a/b", "exec:", "http:", "http://[::1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		h, err := Parse(spec, &Options{Environ: []string{}})
		if (h == nil) == (err == nil) {
			t.Fatalf("Parse(%q) = %v, %v", spec, h, err)
		}
		if err == nil {
			if e, ok := h.transport.(*endpoint); ok && (e.address.Host == "" || e.address.Scheme != "http" && e.address.Scheme != "https") {
				t.Fatalf("Parse(%q) would call %v", spec, e.address)
			}
		}
	})
}
