package reeve

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
)

// block is a fenced block of a page.
type block struct{ language, text string }

func blocks(t *testing.T, page string) []block {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllStringSubmatch(string(raw), -1) {
		out = append(out, block{m[1], m[2]})
	}
	return out
}

func TestTheProgramsOfTheREADMERun(t *testing.T) {
	programs := 0
	for _, b := range blocks(t, "README.md") {
		if b.language != "go" || !strings.HasPrefix(b.text, "package main") {
			continue
		}
		programs++
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("go", "run", file).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		const want = "pending_approval [Spending money, or promising to, needs a person.]\nsucceeded <nil>\n"
		if string(out) != want {
			t.Errorf("it prints\n%swant\n%s", out, want)
		}
	}
	if programs == 0 {
		t.Fatal("the README has no program")
	}
}

// step is one command of a transcript and what it should print.
type step struct{ command, want string }

func transcript(t *testing.T, page string) []step {
	t.Helper()
	var out []step
	for _, b := range blocks(t, page) {
		if b.language != "console" {
			continue
		}
		for _, line := range strings.SplitAfter(b.text, "\n") {
			command, isCommand := strings.CutPrefix(line, "$ ")
			switch {
			case isCommand:
				out = append(out, step{command: command})
			case len(out) > 0 && strings.HasPrefix(line, "    ") && out[len(out)-1].want == "":
				out[len(out)-1].command += line // a command that goes on
			case len(out) > 0:
				out[len(out)-1].want += line
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no transcript", page)
	}
	return out
}

func TestTheTranscriptsAreWhatHappens(t *testing.T) {
	for _, page := range []string{"README.md", "docs/operation.md"} {
		t.Run(page, func(t *testing.T) { replay(t, page) })
	}
}

// replay runs every command of a page in an empty folder, one after the other.
func replay(t *testing.T, page string) {
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is needed to replay %s", tool, page)
			}
			t.Skipf("%s is not installed", tool)
		}
	}
	bin, dir, port := t.TempDir(), t.TempDir(), freePort(t)
	if out, err := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./cmd/reeve").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	steps := transcript(t, page)
	const mark = "\x1e" // between the outputs of two commands
	var script strings.Builder
	script.WriteString("trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n")
	for _, s := range steps {
		script.WriteString(strings.ReplaceAll(s.command, "3401", port))
		fmt.Fprintf(&script, "printf '%s'\n", mark)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "REEVE_LISTEN=127.0.0.1:"+port)
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Logf("the script ended with %v\n%s", err, stderr.String())
	}
	got := strings.Split(string(out), mark)
	for i, s := range steps {
		if i >= len(got) {
			t.Fatalf("the script ended before: %s", s.command)
		}
		if !looksLike(s.want, got[i]) {
			t.Errorf("$ %sprints\n%s\n%s says\n%s\n%s", s.command, got[i], page, s.want, stderr.String())
		}
	}
}

// looksLike compares line by line; … stands for any text within a line.
func looksLike(want, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", "[^\n]*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(strings.TrimSpace(got))
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestThePoliciesOfTheREADMELoad(t *testing.T) {
	policies := 0
	for _, b := range blocks(t, "README.md") {
		if b.language != "yaml" {
			continue
		}
		policies++
		p, err := gate.LoadPolicy("README.md", []byte(b.text))
		if err != nil {
			t.Fatal(err)
		}
		cents := func(n int64) *gate.Cents { c := gate.Cents(n); return &c }
		facts := gate.Facts{Now: time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC), Zone: time.UTC, Currency: "USD", Principal: "agent:agent",
			Committed: []gate.Commitment{{Rule: "small-subscriptions", Window: gate.PerMonth, Currency: "USD", Cents: 8000}}}
		small := gate.Action{Type: "spend", Title: "x", Recipient: "billing@vendor.example", AmountCents: cents(2000), Currency: "USD"}
		large := gate.Action{Type: "spend", Title: "x", AmountCents: cents(100000), Currency: "USD"}
		if v := p.Evaluate(small, facts); v.Effect != gate.Allow {
			t.Errorf("20 dollars at the vendor: %+v", v)
		}
		facts.Committed[0].Cents++
		if v := p.Evaluate(small, facts); v.Effect != gate.RequiresApproval {
			t.Errorf("beyond 100 dollars a month: %+v", v)
		}
		if v := p.Evaluate(large, facts); v.Effect != gate.RequiresApproval || v.Approval.Quorum != 2 {
			t.Errorf("1,000 dollars: %+v", v)
		}
	}
	if policies == 0 {
		t.Fatal("the README has no policy")
	}
}

func TestTheREADMEStaysShort(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("line endings differ")
	}
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(raw, []byte("\n")); lines > 200 {
		t.Errorf("the README has %d lines; move something to docs/", lines)
	}
}
