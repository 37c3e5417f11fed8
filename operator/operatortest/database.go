package operatortest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
)

// databaseFile is the name of the embedded database within its folder.
const databaseFile = "reeve.db"

// Database opens a plain handle on the database that where names, beside the
// Operator: what an embedding service holds, and what a test looks at the rows
// with. It is closed when the test ends.
func Database(t testing.TB, where string) *sql.DB {
	t.Helper()
	driver, source := "postgres", where
	if !strings.Contains(where, "://") {
		file := (&url.URL{Path: filepath.Join(where, databaseFile)}).EscapedPath()
		driver = "sqlite"
		source = "file:" + file + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Fingerprint is a digest of every row of every table that reeve keeps. Two
// equal ones say that nothing was written in between.
func Fingerprint(t testing.TB, db *sql.DB) string {
	t.Helper()
	sum := sha256.New()
	for _, table := range tables(t, db) {
		fmt.Fprintf(sum, "%s\n", table)
		for _, row := range Rows(t, db, `select * from `+table+` order by 1`) {
			fmt.Fprintf(sum, "%s\n", row)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func tables(t testing.TB, db *sql.DB) []string {
	t.Helper()
	var one string
	query := `select table_name from information_schema.tables where table_schema = current_schema() and table_name like 'reeve%' order by 1`
	if err := db.QueryRow(`select version()`).Scan(&one); err != nil { // SQLite has no such function
		query = `select name from sqlite_schema where type = 'table' and name like 'reeve%' order by 1`
	}
	return Rows(t, db, query)
}

// Rows answers a query as lines of text, the columns of each parted by a bar.
func Rows(t testing.TB, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for rows.Next() {
		cells, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		words := make([]string, len(cells))
		for i, c := range cells {
			words[i] = c.String
		}
		out = append(out, strings.Join(words, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Again opens the same database once more, as another process would, on the same clock.
func (w *World) Again(t testing.TB, opts *operator.Options) *operator.Operator {
	t.Helper()
	o := operator.Options{}
	if opts != nil {
		o = *opts
	}
	if o.Clock == nil {
		o.Clock = w.Clock
	}
	return Open(t, w.Where, &o)
}

// Record has the first agent record an action.
func (w *World) Record(t testing.TB, in operator.RecordIntentInput) operator.Intent {
	t.Helper()
	out, err := w.RecordIntent(context.Background(), w.Agent, in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Approved has the first agent record an action and the first person approve it.
func (w *World) Approved(t testing.TB, in operator.RecordIntentInput) operator.Intent {
	t.Helper()
	recorded := w.Record(t, in)
	out, err := w.Approve(context.Background(), w.Owner, operator.ActInput{ID: recorded.ID, Digest: recorded.Digest})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Elsewhere is an agent, a person and a worker of a given account and project,
// which are made where they do not exist yet.
type Elsewhere struct {
	Agent  operator.Principal
	Worker operator.Principal
	Person operator.Person
}

// Elsewhere makes callers in another project, or in another account.
func (w *World) Elsewhere(t testing.TB, account, project string) Elsewhere {
	t.Helper()
	ctx := context.Background()
	if account != operator.DefaultSlug {
		if err := w.AddAccount(ctx, account, "UTC", "USD"); err != nil {
			t.Fatal(err)
		}
	}
	if project != operator.DefaultSlug {
		if _, err := w.AddProject(ctx, account, project); err != nil {
			t.Fatal(err)
		}
	}
	name := account + "-" + project
	if err := w.AddPerson(ctx, operator.NewPerson{Account: account, Handle: name, Name: name, Role: operator.RoleOwner}); err != nil {
		t.Fatal(err)
	}
	mint := func(kind operator.Kind, person string) operator.Principal {
		return w.Principal(t, w.Mint(t, operator.NewCredential{Kind: kind, Name: name, Account: account, Project: project,
			Person: person, Scopes: operator.Scopes()}).Token)
	}
	person, err := w.PersonOf(mint(operator.KindHuman, name))
	if err != nil {
		t.Fatal(err)
	}
	return Elsewhere{Agent: mint(operator.KindAgent, ""), Worker: mint(operator.KindWorker, ""), Person: person}
}
