package operator_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestTheSchemaIsToldAndBroughtUpToDate(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		where := operatortest.Where(t, store)
		if _, err := operator.SchemaOf(ctx, where); store == "sqlite" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a folder without a database: %v", err)
		}
		op := operatortest.Open(t, where, nil)
		mustHave(t, op.Ping(ctx))
		s, err := operator.SchemaOf(ctx, where)
		if err != nil || s.At != s.Known || s.At < 5 {
			t.Fatalf("%+v, %v", s, err)
		}
		if from, to, err := operator.Migrate(ctx, where); err != nil || from != s || to != s {
			t.Errorf("where there was nothing to do: %+v, %+v, %v", from, to, err)
		}
		execute(t, operatortest.Database(t, where), `insert into reeve_schema (version, name, applied_at) values ($1, 'later', 1)`, s.At+1)
		if newer, err := operator.SchemaOf(ctx, where); err != nil || newer.At != s.At+1 {
			t.Errorf("of a newer program: %+v, %v", newer, err)
		}
		if _, _, err := operator.Migrate(ctx, where); !errors.Is(err, operator.ErrNewerSchema) {
			t.Errorf("to migrate what is newer: %v", err)
		}
		if err := op.Ping(ctx); !errors.Is(err, operator.ErrNewerSchema) {
			t.Errorf("a program that is older by now says that it is ready: %v", err)
		}
	})
}

func TestABackupHoldsWhatStoodAndReplacesNothing(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "sqlite", nil)
	recorded := w.Approved(t, spend("A", 100))
	to := filepath.Join(t.TempDir(), "backup's ?x=1 & %20 name.db")
	// Somebody else is in the middle of a write.
	writing, err := operatortest.Database(t, w.Where).Begin()
	mustHave(t, err)
	if _, err := writing.Exec(`update reeve_intents set title = 'torn'`); err != nil {
		t.Fatal(err)
	}
	made, err := operator.Backup(ctx, w.Where, to)
	mustHave(t, err)
	mustHave(t, writing.Rollback())
	info, err := os.Stat(to)
	mustHave(t, err)
	if info.Mode().Perm() != 0o600 || info.Size() != made.Bytes || made.Bytes == 0 || made.Schema < 5 {
		t.Errorf("%v, %+v", info.Mode(), made)
	}
	if _, err := operator.Backup(ctx, w.Where, to); !errors.Is(err, operator.ErrBackupExists) {
		t.Errorf("a second one of the same name: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(to), ".*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	want := operatortest.Fingerprint(t, operatortest.Database(t, w.Where))
	w.Record(t, spend("B", 100))

	restored := t.TempDir()
	for from, name := range map[string]string{to: "reeve.db", filepath.Join(w.Where, operator.AuditKeyName): operator.AuditKeyName} {
		text, err := os.ReadFile(from)
		mustHave(t, err)
		mustHave(t, os.WriteFile(filepath.Join(restored, name), text, 0o600))
	}
	op := operatortest.Open(t, restored, &operator.Options{Clock: w.Clock})
	if got := operatortest.Fingerprint(t, operatortest.Database(t, restored)); got != want {
		t.Error("the restored database is another one")
	}
	mustHave(t, op.Ping(ctx))
	in, err := op.ShowIntent(ctx, mustPerson(t, op, w), recorded.ID)
	if err != nil || in.Status != "approved" || in.Title == "torn" {
		t.Errorf("%+v, %v", in, err)
	}
}

func mustPerson(t *testing.T, op *operator.Operator, w *operatortest.World) operator.Person {
	t.Helper()
	p, err := op.PersonByCredential(context.Background(), w.First.Person.Token, operator.ViaLibrary)
	mustHave(t, err)
	return p
}

func TestABackupThatCannotBeMadeLeavesNothing(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "sqlite", nil)
	dir := t.TempDir()
	for name, where := range map[string]string{"a folder without a database": t.TempDir(), "PostgreSQL": "postgres://me:hunter2@db/x"} {
		_, err := operator.Backup(ctx, where, filepath.Join(dir, "x.db"))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := operator.Backup(cancelled, w.Where, filepath.Join(dir, "x.db")); err == nil {
		t.Error("one that was cut off was made")
	}
	if _, err := operator.Backup(ctx, w.Where, filepath.Join(dir, "none", "x.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("they left %v, %v", left, err)
	}
}

func TestAnExaminationFindsWhatStandsAndChangesNothing(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		key := filepath.Join(t.TempDir(), "audit.key")
		w := operatortest.New(t, store, &operator.Options{AuditKey: key, Clock: operatortest.NewClock(time.Now())})
		w.NewPerson(t, "ana", operator.RoleAdmin)
		w.SetPolicy(t, "version: 1\nextends: default\nrules:\n  - id: many\n    match: {types: [spend]}\n    effect: requires_approval\n    reason: Many.\n    approval: {quorum: 3, from: [owner, admin]}\n")
		w.Record(t, spend("A", 100))
		db := operatortest.Database(t, w.Where)
		before := operatortest.Fingerprint(t, db)
		e, err := operator.Examine(ctx, w.Where, key)
		mustHave(t, err)
		if operatortest.Fingerprint(t, db) != before {
			t.Error("it changed something")
		}
		_, public := w.AuditKey()
		if e.Database != store || e.Version == "" || !e.Current() || e.Key != public || e.KeyFault != nil || e.Skew.Abs() > 5*time.Second {
			t.Errorf("%+v", e)
		}
		if len(e.Accounts) != 1 || e.Accounts[0].People[operator.RoleOwner] != 1 || e.Accounts[0].People[operator.RoleAdmin] != 1 {
			t.Errorf("the people are %+v", e.Accounts)
		}
		if e.Undelivered != 1 || e.Unsealed == 0 || len(e.Credentials) < 3 {
			t.Errorf("%d notices, %d unsealed, %d credentials", e.Undelivered, e.Unsealed, len(e.Credentials))
		}
		if a := e.Accounts[0]; a.PolicyFault != nil || a.Policy == "" || len(a.Unreachable) != 1 || a.Unreachable[0].Rule != "many" {
			t.Errorf("the policy is %+v", a)
		}
		if e, err := operator.Examine(ctx, w.Where, filepath.Join(t.TempDir(), "none")); err != nil || !errors.Is(e.KeyFault, operator.ErrAuditKeyMissing) {
			t.Errorf("a key that is not there: %v, %v", e.KeyFault, err)
		}
	})
}
