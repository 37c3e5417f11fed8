package sqlstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/sqlstore"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func mustHave(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatWasTakenFromAnOpenDatabaseStopsIt(t *testing.T) {
	removed := func(t *testing.T, file string) { mustHave(t, os.Remove(file)) }
	replaced := func(t *testing.T, file string) {
		mustHave(t, os.Rename(file, file+".old"))
		mustHave(t, os.WriteFile(file, nil, 0o600))
	}
	emptied := func(t *testing.T, file string) { mustHave(t, os.Truncate(file, 0)) }
	linked := func(t *testing.T, file string) {
		if err := os.Link(file, filepath.Join(t.TempDir(), sqlstore.FileName)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		name  string
		end   string
		spoil func(*testing.T, string)
		want  error
	}{
		{"database removed", "", removed, core.ErrFilesReplaced},
		{"database replaced", "", replaced, core.ErrFilesReplaced},
		{"database emptied", "", emptied, core.ErrFilesReplaced},
		{"database linked", "", linked, core.ErrSecondName},
		{"log removed", "-wal", removed, core.ErrFilesReplaced},
		{"log replaced", "-wal", replaced, core.ErrFilesReplaced},
		{"log emptied", "-wal", emptied, core.ErrFilesReplaced},
		{"index removed", "-shm", removed, core.ErrFilesReplaced},
		{"index replaced", "-shm", replaced, core.ErrFilesReplaced},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			db := mustOpen(t, dir)
			mustHave(t, add(t.Context(), db, "before"))
			mustHave(t, db.Ping(t.Context()))
			c.spoil(t, filepath.Join(dir, sqlstore.FileName+c.end))
			for range 2 {
				if err := db.Ping(t.Context()); !errors.Is(err, c.want) {
					t.Errorf("asked whether it is ready it says %v", err)
				}
				if err := add(t.Context(), db, "after"); !errors.Is(err, c.want) {
					t.Errorf("asked to keep something it says %v", err)
				}
				if err := db.InView(t.Context(), func(core.Tx) error { return nil }); !errors.Is(err, c.want) {
					t.Errorf("asked for a look it says %v", err)
				}
			}
		})
	}
}

func TestADatabaseWithASecondNameIsNotOpened(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	mustOpen(t, first).Close()
	other := filepath.Join(second, sqlstore.FileName)
	if err := os.Link(filepath.Join(first, sqlstore.FileName), other); err != nil {
		t.Skip(err)
	}
	for _, dir := range []string{first, second} {
		if _, err := open(dir); !errors.Is(err, core.ErrSecondName) || !strings.Contains(err.Error(), "remove that name") {
			t.Errorf("%v", err)
		}
	}
	mustHave(t, os.Remove(other))
	mustOpen(t, first)
}

func TestWhatSQLiteItselfMakesSmallerIsNoAlarm(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	plain := operatortest.Database(t, dir) // a person with a tool of their own
	run := func(statement string) {
		t.Helper()
		if _, err := plain.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for range 3 {
		run(`create table filler as with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) select i, randomblob(500) as b from n`)
		mustHave(t, add(t.Context(), db, "x"))
		run(`pragma wal_checkpoint(truncate)`)
		mustHave(t, db.Ping(t.Context()))
		run(`drop table filler`)
		run(`vacuum`)
		mustHave(t, db.Ping(t.Context()))
		run(`pragma wal_checkpoint(truncate)`)
		run(`delete from reeve_accounts`)
		mustHave(t, add(t.Context(), db, "x"))
		mustHave(t, db.Ping(t.Context()))
		run(`delete from reeve_accounts`)
	}
}

func TestWhatIsNoDatabaseIsRefusedInWords(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"text":   func(file string) error { return os.WriteFile(file, []byte(strings.Repeat("no database ", 100)), 0o600) },
		"zeros":  func(file string) error { return os.WriteFile(file, make([]byte, 8192), 0o600) },
		"folder": func(file string) error { return os.Mkdir(file, 0o700) },
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, sqlstore.FileName)
		mustHave(t, make(file))
		db, err := open(dir)
		if db != nil || !errors.Is(err, core.ErrNotADatabase) || !strings.Contains(err.Error(), file+" is not an SQLite database: move it away") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFullDiskIsToldFromOtherOutages(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	pages := get(t, db, `select page_count from pragma_page_count`)
	if _, err := db.Write.Exec(fmt.Sprintf(`pragma max_page_count = %d`, pages)); err != nil {
		t.Fatal(err)
	}
	err := add(t.Context(), db, strings.Repeat("long", 10_000))
	if !errors.Is(err, core.ErrDiskFull) || !strings.Contains(err.Error(), db.File) {
		t.Errorf("%v", err)
	}
}

// Locks are dropped when any handle on the file is closed, so those who open a
// database first, at once and in one process, must not close one under the others.
func TestManyWhoOpenItFirstInOneProcessKeepTheirLocks(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				db, err := open(dir)
				if err != nil {
					t.Error(err)
					return
				}
				defer db.Close()
				if err := add(t.Context(), db, fmt.Sprint("a", i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		db := mustOpen(t, dir)
		if n := get(t, db, `select count(*) from reeve_accounts`); n != 6 {
			t.Errorf("%d rows of 6", n)
		}
	}
}

const childVariable = "REEVE_TEST_STORE_CHILD"

// TestChild is the other process of the next test: it writes what it is told to,
// and says of each whether it was kept; it answers a question with its row.
func TestChild(t *testing.T) {
	dir := os.Getenv(childVariable)
	if dir == "" {
		t.Skip("it runs as the child of another test")
	}
	db := mustOpen(t, dir)
	fmt.Println("said: open")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if question, ok := strings.CutPrefix(in.Text(), "?"); ok {
			fmt.Println("said:", operatortest.Rows(t, db.Read.DB, question)[0])
			continue
		}
		fmt.Println("said:", add(t.Context(), db, in.Text()) == nil)
	}
}

// other is a process that has the database of a folder open; ask tells it what to
// write, or asks it, and gives its answer.
func other(t *testing.T, dir string) (ask func(string) string, end func()) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childVariable+"="+dir)
	in, err := child.StdinPipe()
	mustHave(t, err)
	out, err := child.StdoutPipe()
	mustHave(t, err)
	mustHave(t, child.Start())
	said := bufio.NewScanner(out)
	answer := func() string {
		for said.Scan() {
			if word, ok := strings.CutPrefix(said.Text(), "said: "); ok {
				return word
			}
		}
		child.Wait()
		t.Fatal("the other process ended")
		return ""
	}
	if got := answer(); got != "open" {
		t.Fatalf("the other process says %s", got)
	}
	return func(text string) string {
			fmt.Fprintln(in, text)
			return answer()
		}, func() {
			in.Close()
			mustHave(t, child.Wait())
		}
}

func TestTwoProcessesNeverAcknowledgeMoreThanIsKept(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
	}{
		{"nothing is taken", func(*testing.T, string) {}},
		{"the index is taken", func(t *testing.T, dir string) { mustHave(t, os.Remove(filepath.Join(dir, sqlstore.FileName+"-shm"))) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			db := mustOpen(t, dir)
			mustHave(t, add(t.Context(), db, "first"))
			c.spoil(t, dir)
			ask, end := other(t, dir)
			kept := int64(1)
			for i := range 20 {
				if add(t.Context(), db, fmt.Sprint("mine", i)) == nil {
					kept++
				}
				if ask(fmt.Sprint("theirs", i)) == "true" {
					kept++
				}
			}
			end()
			db.Close() // and what it leaves or takes away is nobody else's
			ask, end = other(t, dir)
			defer end()
			if got := ask(`?pragma integrity_check`); got != "ok" {
				t.Errorf("the database is damaged: %s", got)
			}
			if got := ask(`?select count(*) from reeve_accounts`); got != fmt.Sprint(kept) || kept < 21 {
				t.Errorf("%d were acknowledged, %s are there", kept, got)
			}
		})
	}
}

// All connections of a process share one index, so a second one would be as blind.
func TestABrokenDatabaseIsNotOpenedAgainInTheSameProcess(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	index := filepath.Join(dir, sqlstore.FileName+"-shm")
	mustHave(t, os.Rename(index, index+".old"))
	mustHave(t, os.WriteFile(index, make([]byte, 32768), 0o600))
	for _, when := range []string{"open", "closed"} {
		if again, err := open(dir); again != nil || !errors.Is(err, core.ErrFilesReplaced) {
			t.Errorf("while the first one is %s: %v", when, err)
		}
		if err := db.Close(); !errors.Is(err, core.ErrFilesReplaced) {
			t.Errorf("it was closed: %v", err)
		}
	}
}

func TestWhatWasPutBackIsStillNotTrusted(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	index := filepath.Join(dir, sqlstore.FileName+"-shm")
	mustHave(t, os.Rename(index, index+".old"))
	if err := db.Ping(t.Context()); !errors.Is(err, core.ErrFilesReplaced) {
		t.Error(err)
	}
	mustHave(t, os.Rename(index+".old", index))
	if err := add(t.Context(), db, "a"); !errors.Is(err, core.ErrFilesReplaced) {
		t.Error(err)
	}
}
