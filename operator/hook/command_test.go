//go:build unix

package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
)

func TestACommandSaysWhatCameOfIt(t *testing.T) {
	ctx := t.Context()
	t.Run("exit 0 succeeded, with what it printed", func(t *testing.T) {
		out, err := mustParse(t, "exec:echo paid; echo noise >&2", nil).Run(ctx, aJob())
		if err != nil || out != "paid" {
			t.Errorf("%q, %v", out, err)
		}
	})
	t.Run("another exit code failed, with the last line of its complaints", func(t *testing.T) {
		_, err := mustParse(t, "exec:echo one >&2; echo card declined >&2; exit 3", nil).Run(ctx, aJob())
		wantFailed(t, err, "exit status 3: card declined")
	})
	t.Run("a command that does not exist failed", func(t *testing.T) {
		_, err := mustParse(t, "exec:/no/such/command", nil).Run(ctx, aJob())
		wantFailed(t, err, "exit status 127")
	})
	t.Run("one that a signal killed is unknown", func(t *testing.T) {
		_, err := mustParse(t, "exec:kill -9 $$", nil).Run(ctx, aJob())
		wantUnknown(t, err)
	})
	t.Run("one whose child a signal killed is unknown", func(t *testing.T) {
		_, err := mustParse(t, "exec:sh -c 'kill -9 $$'; exit $?", nil).Run(ctx, aJob())
		wantUnknown(t, err)
	})
	t.Run("exit 255, by which ssh says that the connection broke, is unknown", func(t *testing.T) {
		_, err := mustParse(t, "exec:exit 255", nil).Run(ctx, aJob())
		wantUnknown(t, err)
	})
	t.Run("one that ignores its input succeeded", func(t *testing.T) {
		job := aJob()
		job.Intent.Payload.Body = strings.Repeat("b", 60_000)
		if _, err := mustParse(t, "exec:exec <&-; sleep 0.1", nil).Run(ctx, job); err != nil {
			t.Error(err)
		}
	})
	t.Run("one that leaves a process behind with its output open ends all the same", func(t *testing.T) {
		out, err := mustParse(t, "exec:echo done; sleep 4 &", nil).Run(ctx, aJob())
		if err != nil || out != "done" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestACommandIsGivenTheJob(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seen")
	environ := []string{"PATH=" + os.Getenv("PATH"), "REEVE_TOKEN_FILE=/secret", "REEVE_TOKEN=rv", "REEVE_DATABASE_URL=postgres://me:pw@host/db",
		"REEVE_DIR=/data", "REEVE_INTENT_ID=forged"}
	h := mustParse(t, "exec:cat >"+file+"; env >"+file+".env", &Options{Environ: environ})
	if _, err := h.Run(t.Context(), aJob()); err != nil {
		t.Fatal(err)
	}
	var got gate.Action
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	job := aJob()
	if !reflect.DeepEqual(got, *job.Intent.Payload) {
		t.Errorf("standard input was %s", body)
	}
	env, err := os.ReadFile(file + ".env")
	if err != nil {
		t.Fatal(err)
	}
	lines := "\n" + string(env)
	for _, want := range []string{"REEVE_IDEMPOTENCY_KEY=" + job.IdempotencyKey, "REEVE_EXECUTION_KEY=" + job.ExecutionKey,
		"REEVE_DIGEST=" + job.Intent.Digest, "REEVE_INTENT_ID=7", "REEVE_ACTION_TYPE=spend", "REEVE_DIR=/data"} {
		if !strings.Contains(lines, "\n"+want+"\n") {
			t.Errorf("the environment lacks %s", want)
		}
	}
	for _, secret := range []string{"REEVE_TOKEN", "REEVE_DATABASE_URL", "forged"} {
		if strings.Contains(lines, secret) {
			t.Errorf("the environment has %s", secret)
		}
	}
}

func TestACommandIsStoppedWithEverythingItStarted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "late")
	for _, c := range []struct {
		name string
		run  func(h *Hook) error
		opts *Options
	}{
		{"by its context", func(h *Hook) error {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := h.Run(ctx, aJob())
			return err
		}, nil},
		{"by its own time limit", func(h *Hook) error {
			_, err := h.Run(t.Context(), aJob())
			return err
		}, &Options{Timeout: 200 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := mustParse(t, "exec:(sleep 1; echo late >"+file+") & wait", c.opts)
			start := time.Now()
			wantUnknown(t, c.run(h))
			if took := time.Since(start); took > time.Second {
				t.Errorf("it took %s to stop", took)
			}
			time.Sleep(1100 * time.Millisecond)
			if _, err := os.Stat(file); err == nil {
				t.Error("what the command had started went on")
			}
		})
	}
}

func TestAContextThatHasEndedStartsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := mustParse(t, "exec:touch "+file, nil).Run(ctx, aJob())
	wantFailed(t, err, "could not be started")
	if _, err := os.Stat(file); err == nil {
		t.Error("the command ran")
	}
}

func TestOutputWithoutEndTakesNoMemory(t *testing.T) {
	h := mustParse(t, "exec:head -c 200000000 /dev/zero | tr '\\0' x; head -c 200000000 /dev/zero | tr '\\0' y >&2; echo end >&2; exit 1", nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := h.Run(t.Context(), aJob())
	runtime.ReadMemStats(&after)
	wantFailed(t, err, "end")
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 4<<20 {
		t.Errorf("400 MB of output took %d bytes", grown)
	}
	out, err := mustParse(t, "exec:head -c 100000 /dev/zero | tr '\\0' x", nil).Run(t.Context(), aJob())
	if err != nil || len(out) > maxOutcome || len(out) < maxOutcome-10 {
		t.Errorf("the outcome is %d bytes, %v", len(out), err)
	}
}

func TestANoticeReachesACommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notice")
	h := mustParse(t, fmt.Sprintf(`exec:{ echo "$REEVE_MESSAGE_KEY"; cat; } >%s`, file), nil)
	if err := h.Notify(t.Context(), aNotice()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	key, body, _ := strings.Cut(string(got), "\n")
	var n map[string]any
	if err := json.Unmarshal([]byte(body), &n); err != nil {
		t.Fatal(err)
	}
	if key != "intent.pending:7" || n["key"] != key || n["topic"] != "intent.pending" || n["redelivery"] != false || n["payload"].(map[string]any)["intent_id"] != 7.0 {
		t.Errorf("the notice was %s", got)
	}
	if err := mustParse(t, "exec:exit 1", nil).Notify(t.Context(), aNotice()); err == nil {
		t.Error("a notice that failed passed for delivered")
	}
}
