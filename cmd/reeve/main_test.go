package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// program is the binary under test: what is tested is what a person runs.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "reeve-cmd-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "reeve")
	build := exec.Command("go", "build", "-ldflags", "-X main.version=9.8.7", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// place is a folder to work in, and the database that commands run there use.
type place struct {
	dir string
	env []string // beyond an environment without any REEVE_ variable
}

// newPlace is an empty folder whose database is of the given kind.
func newPlace(t *testing.T, store string) place {
	t.Helper()
	p := place{dir: t.TempDir()}
	if store == "postgres" {
		p.env = append(p.env, "REEVE_DATABASE_URL="+operatortest.Where(t, store))
	}
	return p
}

// with is the same place with more in its environment.
func (p place) with(env ...string) place {
	p.env = append(append([]string{}, p.env...), env...)
	return p
}

// file writes a file that only its owner can read, and gives its path.
func (p place) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (p place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = p.dir
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "REEVE_") && !strings.HasPrefix(entry, "EDITOR=") && !strings.HasPrefix(entry, "VISUAL=") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, p.env...)
	// A session of its own has no terminal, wherever the tests are run from.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// run runs a command to its end, which must come soon.
func (p place) run(t *testing.T, args ...string) result {
	t.Helper()
	return p.feed(t, "", args...)
}

func (p place) feed(t *testing.T, input string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := p.command(ctx, args...)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &complaints
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("reeve %s: %v", strings.Join(args, " "), err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), complaints.String()}
}

// ok runs a command that must succeed, and gives what it printed.
func (p place) ok(t *testing.T, args ...string) string {
	t.Helper()
	r := p.run(t, args...)
	if r.code != 0 {
		t.Fatalf("reeve %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// refused holds a result to be a refusal in plain words.
func (r result) refused(t *testing.T, code int, words ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit %d, want %d\n%s%s", r.code, code, r.out, r.err)
	}
	for _, w := range words {
		if !strings.Contains(r.err, w) {
			t.Errorf("it does not say %q:\n%s", w, r.err)
		}
	}
	for _, leak := range []string{"goroutine ", "panic", ".go:", "rv_"} {
		if strings.Contains(r.err+r.out, leak) {
			t.Errorf("it shows %q:\n%s%s", leak, r.out, r.err)
		}
	}
}

// background is a command that runs on while the test does.
type background struct {
	cmd  *exec.Cmd
	out  *lines
	err  *lines
	done chan struct{}
}

// lines is output that can be read while it grows.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start runs a command that is ended, if it has not by itself, with the test.
func (p place) start(t *testing.T, args ...string) *background {
	t.Helper()
	b := &background{cmd: p.command(context.Background(), args...), out: &lines{}, err: &lines{}, done: make(chan struct{})}
	b.cmd.Stdout, b.cmd.Stderr = b.out, b.err
	b.cmd.WaitDelay = time.Second
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = b.cmd.Wait(); close(b.done) }()
	t.Cleanup(func() {
		b.cmd.Process.Kill()
		<-b.done
	})
	return b
}

func (b *background) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// ended waits for a command's end and gives its exit code.
func (b *background) ended(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-b.done:
	case <-time.After(within):
		t.Fatalf("it did not end within %s:\n%s%s", within, b.out, b.err)
	}
	return b.cmd.ProcessState.ExitCode()
}

// eventually waits for something to become true.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("it never came about: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
