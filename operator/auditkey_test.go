package operator_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestTheFirstStartInAFolderMakesTheKeyBesideTheDatabase(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	file, public := w.AuditKey()
	if file != filepath.Join(w.Where, operator.AuditKeyName) || !strings.HasPrefix(public, "reeve+") {
		t.Errorf("%s %s", file, public)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, again := w.Again(t, nil).AuditKey(); again != public {
		t.Error("the second process has another key")
	}
}

func TestTheSecretOfTheKeyIsNeverInTheDatabase(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w, opts := sealedWorld(t, store)
		w.Approved(t, renewal())
		_, err := w.RotateAuditKey(context.Background(), "")
		mustHave(t, err)
		text, err := os.ReadFile(opts.AuditKey)
		mustHave(t, err)
		secret := strings.TrimSpace(strings.SplitN(string(text), "+", 5)[4])
		db := operatortest.Database(t, w.Where)
		for _, table := range []string{"reeve_audit", "reeve_audit_keys", "reeve_logs", "reeve_checkpoints", "reeve_settings"} {
			for _, row := range operatortest.Rows(t, db, `select * from `+table) {
				if strings.Contains(row, "PRIVATE") || strings.Contains(row, secret) {
					t.Errorf("%s: %s", table, row)
				}
			}
		}
		if bytes.Contains(export(t, w.Operator, ""), []byte(secret)) {
			t.Error("the export holds it")
		}
	})
}

func TestADatabaseIsNotOpenedWithoutItsKey(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, opts := sealedWorld(t, store)
		_, public := w.AuditKey()
		good, err := os.ReadFile(opts.AuditKey)
		mustHave(t, err)
		elsewhere, _ := sealedWorld(t, "sqlite")
		theirs, _ := elsewhere.AuditKey()
		other, err := os.ReadFile(theirs)
		mustHave(t, err)
		for name, c := range map[string]struct {
			put   func(path string) error
			fault error
			says  string
		}{
			"missing":             {func(string) error { return nil }, operator.ErrAuditKeyMissing, public},
			"another one":         {func(p string) error { return os.WriteFile(p, other, 0o600) }, operator.ErrAuditKeyWrong, public},
			"readable by others":  {func(p string) error { return errors.Join(os.WriteFile(p, good, 0o600), os.Chmod(p, 0o644)) }, operator.ErrAuditKeyExposed, "chmod 600"},
			"empty":               {func(p string) error { return os.WriteFile(p, nil, 0o600) }, operator.ErrAuditKeyMalformed, "empty"},
			"a link to the right": {func(p string) error { return os.Symlink(opts.AuditKey, p) }, operator.ErrAuditKeyMalformed, "link"},
			"a folder":            {func(p string) error { return os.Mkdir(p, 0o700) }, operator.ErrAuditKeyMalformed, "folder"},
		} {
			path := filepath.Join(t.TempDir(), "audit.key")
			mustHave(t, c.put(path))
			op, err := operator.Open(ctx, w.Where, &operator.Options{AuditKey: path})
			if err == nil {
				op.Close()
			}
			var k *operator.AuditKeyError
			if !errors.Is(err, c.fault) || !errors.As(err, &k) || k.Path != path || k.Do == "" || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		path := filepath.Join(t.TempDir(), "copy.key")
		mustHave(t, os.WriteFile(path, good, 0o600))
		if _, again := w.Again(t, &operator.Options{AuditKey: path}).AuditKey(); again != public {
			t.Error("a copy of the key is another key")
		}
	})
}

func TestAFirstStartTakesNoKeyThatOthersCanRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, operator.AuditKeyName)
	mustHave(t, os.WriteFile(path, []byte("x\n"), 0o600))
	mustHave(t, os.Chmod(path, 0o644))
	if _, err := operator.OpenDir(context.Background(), dir, nil); !errors.Is(err, operator.ErrAuditKeyExposed) {
		t.Errorf("%v", err)
	}
}

func TestProcessesThatBeginAtOnceAgreeOnOneKey(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		where, key := operatortest.Where(t, store), filepath.Join(t.TempDir(), "audit.key")
		keys := together(6, func(int) string {
			op, err := operator.Open(context.Background(), where, &operator.Options{AuditKey: key})
			if err != nil {
				t.Error(err)
				return ""
			}
			defer op.Close()
			_, public := op.AuditKey()
			return public
		})
		for _, k := range keys {
			if k == "" || k != keys[0] {
				t.Errorf("not one key: %v", keys)
			}
		}
		if n := count(t, operatortest.Database(t, where), `select count(*) from reeve_audit_keys`); n != 1 {
			t.Errorf("%d keys are registered", n)
		}
	})
}

func TestARotatedLogIsVerifiedByTheOldKeyAndByTheNewAndByNoOther(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, opts := sealedWorld(t, store)
		again := w.Again(t, opts)
		w.Elsewhere(t, "other", operator.DefaultSlug)
		_, first := w.AuditKey()
		w.Approved(t, renewal())
		early, err := w.AuditCheckpoint(ctx, "")
		mustHave(t, err)

		second, err := w.RotateAuditKey(ctx, "") // in its place
		mustHave(t, err)
		// The other process finds the new key where the old one was.
		_, err = again.Approve(ctx, w.Owner, act(w.Record(t, spend("Between", 1))))
		mustHave(t, err)
		if _, now := again.AuditKey(); now != second || second == first {
			t.Errorf("the other process seals with %s, want %s", now, second)
		}
		third := filepath.Join(t.TempDir(), "third.key")
		last, err := again.RotateAuditKey(ctx, third)
		mustHave(t, err)
		if file, now := again.AuditKey(); file != third || now != last {
			t.Errorf("%s %s", file, now)
		}
		// This one does not know of that file. Its act waits for the other.
		w.Hurry(500 * time.Millisecond)
		_, err = w.Comment(ctx, w.Owner, operator.CommentInput{Text: "x"})
		mustBe(t, err, operator.ErrAuditUnsealed)
		if !errors.Is(err, operator.ErrAuditKeyWrong) {
			t.Errorf("it does not say why: %v", errors.Unwrap(err))
		}
		whole(t, again, "other")
		text := export(t, again, "")
		for _, key := range []string{first, second, last} {
			report, err := operator.VerifyAudit(bytes.NewReader(text), &operator.VerifyAuditOptions{Keys: []operator.AuditPublicKey{operator.AuditPublicKey(key)}, Checkpoints: []string{early}})
			if err != nil || string(report.Key) != last {
				t.Errorf("by %s: %+v, %v", key, report, err)
			}
		}
		stranger, _ := sealedWorld(t, "sqlite")
		_, theirs := stranger.AuditKey()
		if _, err := operator.VerifyAudit(bytes.NewReader(text), &operator.VerifyAuditOptions{Keys: []operator.AuditPublicKey{operator.AuditPublicKey(theirs)}}); !errors.Is(err, operator.ErrAuditKey) {
			t.Errorf("by a stranger's: %v", err)
		}
		inOrder(t, operatortest.Database(t, w.Where))
		// An account that begins now has no history of keys.
		mustHave(t, again.AddAccount(ctx, "late", "UTC", "USD"))
		whole(t, again, "late")
		if _, err := again.RotateAuditKey(ctx, opts.AuditKey); !errors.Is(err, operator.ErrAuditKeyThere) {
			t.Errorf("back to a key of before: %v", err)
		}
	})
}

func TestTwoRotationsAtOnceAreOneAfterTheOtherOrRefused(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, opts := sealedWorld(t, store)
		ops := []*operator.Operator{w.Operator, w.Again(t, opts), w.Again(t, opts)}
		dir := t.TempDir()
		results := together(len(ops), func(i int) error {
			_, err := ops[i].RotateAuditKey(ctx, filepath.Join(dir, itoa(int64(i))))
			return err
		})
		won := 0
		for i, err := range results {
			if err == nil {
				won++
				whole(t, ops[i], "")
			} else if !errors.Is(err, operator.ErrAuditKeyWrong) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d rotations from one key: %v", won, results)
		}
	})
}

func TestARotationThatWasCutOffIsBroughtToItsEndByTheNextStart(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, opts := sealedWorld(t, store)
		old, err := os.ReadFile(opts.AuditKey)
		mustHave(t, err)
		next, err := w.RotateAuditKey(ctx, "")
		mustHave(t, err)
		// As it was between the commit and the new file's taking the old one's place.
		mustHave(t, os.Rename(opts.AuditKey, opts.AuditKey+".new"))
		mustHave(t, os.WriteFile(opts.AuditKey, old, 0o600))
		again := w.Again(t, opts)
		if _, key := again.AuditKey(); key != next {
			t.Errorf("it has %s, want %s", key, next)
		}
		whole(t, again, "")
	})
}

func TestALostKeyIsReplacedAndVouchesNoMore(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, opts := sealedWorld(t, store)
		_, first := w.AuditKey()
		w.Approved(t, renewal())
		early, err := w.AuditCheckpoint(ctx, "")
		mustHave(t, err)
		if _, err := operator.ReplaceLostAuditKey(ctx, w.Where, opts); !errors.Is(err, operator.ErrAuditKeyThere) {
			t.Errorf("a key that is not lost was replaced: %v", err)
		}
		mustHave(t, os.Remove(opts.AuditKey))
		second, err := operator.ReplaceLostAuditKey(ctx, w.Where, opts)
		mustHave(t, err)
		again := w.Again(t, opts)
		if _, key := again.AuditKey(); key != second || second == first {
			t.Errorf("it has %s, want %s", key, second)
		}
		whole(t, again, "")
		text := export(t, again, "")
		trust := func(key string) *operator.VerifyAuditOptions {
			return &operator.VerifyAuditOptions{Keys: []operator.AuditPublicKey{operator.AuditPublicKey(key)}, Checkpoints: []string{early}}
		}
		if _, err := operator.VerifyAudit(bytes.NewReader(text), trust(second)); err != nil {
			t.Errorf("by the new key and an old checkpoint: %v", err)
		}
		if _, err := operator.VerifyAudit(bytes.NewReader(text), trust(first)); !errors.Is(err, operator.ErrAuditKey) {
			t.Errorf("by the lost key: %v", err)
		}
	})
}
