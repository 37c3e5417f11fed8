package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestAFlagWinsOverTheEnvironment(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.ok(t, "init", "--dir", "a")
	p.ok(t, "init", "--dir", "b")
	p.ok(t, "people", "add", "ana", "--dir", "a")
	inA := func(t *testing.T, p place, args ...string) bool {
		t.Helper()
		return strings.Contains(p.ok(t, append([]string{"people", "list"}, args...)...), "ana")
	}
	if !inA(t, p.with("REEVE_DIR=a")) {
		t.Error("the environment does not name the folder")
	}
	if inA(t, p.with("REEVE_DIR=a"), "--dir", "b") {
		t.Error("the environment wins over --dir")
	}
	if !inA(t, p.with("REEVE_DATABASE_URL=postgres://127.0.0.1:1/none"), "--dir", "a") {
		t.Error("a database URL in the environment wins over --dir")
	}
	if !inA(t, p.with("REEVE_DATABASE_URL="), "--dir", "a") {
		t.Error("an empty database URL counts as one")
	}
	p.with("REEVE_DIR=a").run(t, "people", "list", "--database-url", "postgres://x@127.0.0.1:1/none?sslmode=disable").refused(t, 1, "PostgreSQL")
	p.with("REEVE_DIR=a", "REEVE_DATABASE_URL=postgres://127.0.0.1:1/none").run(t, "people", "list").refused(t, 2, "two databases")
	p.with("REEVE_JSON=maybe").run(t, "people", "list", "--dir", "a").refused(t, 2, "REEVE_JSON")
}

func TestTheDataFolderIsItsOwnersAlone(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.ok(t, "init")
	for _, name := range []string{"reeve-data", filepath.Join("reeve-data", databaseFile)} {
		info, err := os.Stat(filepath.Join(p.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

func TestACommandMakesNoDatabaseByMistake(t *testing.T) {
	p := newPlace(t, "sqlite")
	if err := os.Mkdir(filepath.Join(p.dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"inbox"}, {"people", "list"}, {"token", "list"}, {"work", "--once", "--handler", "a=exec:true"}, {"comment", "x"}} {
		p.run(t, append(args, "--dir", "empty")...).refused(t, 1, "there is no database in empty", "reeve serve")
	}
	if left, err := os.ReadDir(filepath.Join(p.dir, "empty")); err != nil || len(left) != 0 {
		t.Errorf("it made %v (%v)", left, err)
	}
}

// What only looks must not wait for whoever writes, not even to open the database.
func TestACommandThatOnlyLooksDoesNotWaitForABusyWriter(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.ok(t, "init")
	held, err := operatortest.Database(t, filepath.Join(p.dir, defaultDir)).Begin()
	if err != nil {
		t.Fatal(err)
	}
	p.ok(t, "people", "list")
	p.run(t, "init").refused(t, 1, "initialised already")
	if err := held.Rollback(); err != nil {
		t.Fatal(err)
	}
	p.ok(t, "people", "add", "ana")
}

// locked is a fault of the database, as an outage has it beneath.
type locked struct{}

func (locked) Error() string  { return "database is locked (5)" }
func (locked) Advice() string { return "end what writes to reeve.db" }

func TestAnOutageIsToldWithWhatAPersonAtTheMachineCanDo(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	refusal := &operator.Refusal{Reason: operator.ReasonUnavailable, Message: "The store is busy.", Cause: locked{}}
	if code := (console{err: out}).refused(refusal); code != exitRefused {
		t.Errorf("exit %d", code)
	}
	said, err := os.ReadFile(out.Name())
	if err != nil || !strings.Contains(string(said), "reeve: The store is busy.\n") || !strings.Contains(string(said), "       end what writes to reeve.db\n") {
		t.Errorf("%v, it says:\n%s", err, said)
	}
}

func TestADatabaseFileThatIsNoneIsRefusedWithWhatToDo(t *testing.T) {
	p := newPlace(t, "sqlite")
	if err := os.Mkdir(filepath.Join(p.dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := p.file(t, filepath.Join("d", databaseFile), strings.Repeat("no database ", 100))
	for _, args := range [][]string{{"init"}, {"people", "list"}} {
		p.run(t, append(args, "--dir", "d")...).refused(t, 1, file+" is not an SQLite database: move it away")
	}
}

func TestPolicyNeedsNoDatabase(t *testing.T) {
	p := newPlace(t, "sqlite")
	shown := p.ok(t, "policy", "show")
	if strings.Count(shown, "\n  - id: ") != 15 || !strings.Contains(shown, "- id: spending\n") {
		t.Errorf("it shows:\n%s", shown)
	}
	if out := p.ok(t, "policy", "check", p.file(t, "mine.yaml", shown)); !strings.Contains(out, "is valid: 15 rules") {
		t.Errorf("it says %s", out)
	}
	p.run(t, "policy", "check", p.file(t, "bad.yaml", "version: 1\nrules:\n  - id: x\n    what: y\n")).refused(t, 1, "bad.yaml:4:", "rule x", "\n       ")
	p.run(t, "policy", "check", "none.yaml").refused(t, 1, "none.yaml cannot be read: no such file")
	p.run(t, "policy", "check").refused(t, 2, "<file>")
	if left, err := os.ReadDir(p.dir); err != nil || len(left) != 2 {
		t.Errorf("it made %v (%v)", left, err)
	}
}

func TestTheVersionIsTheReleases(t *testing.T) {
	if out := newPlace(t, "sqlite").ok(t, "version"); !strings.HasPrefix(out, "reeve 9.8.7 (go1.") {
		t.Errorf("it says %s", out)
	}
	if versionText() == "" {
		t.Error("without a release it says nothing")
	}
}

func TestHelpNamesEveryFlagsVariable(t *testing.T) {
	p := newPlace(t, "sqlite")
	for _, args := range [][]string{{"serve"}, {"init"}, {"inbox", "list"}, {"inbox", "approve"}, {"work"}, {"token", "create"}, {"comment"}} {
		help := p.ok(t, append(args, "--help")...)
		for _, line := range strings.Split(help, "\n") {
			flag, ok := strings.CutPrefix(strings.TrimSpace(line), "--")
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(strings.Fields(flag)[0], "=")
			name, _, _ = strings.Cut(name, "[")
			want := "$REEVE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			if !strings.Contains(strings.Join(strings.Fields(help), ""), want) {
				t.Errorf("reeve %s --help does not name %s", strings.Join(args, " "), want)
			}
		}
	}
	if out := p.ok(t); !strings.Contains(out, "serve") || !strings.Contains(out, "Commands:") {
		t.Errorf("without a word it says:\n%s", out)
	}
}
