package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
	"github.com/reeve-go/reeve/restadapter"
)

// The acts that a spoof tries, beside the tools that the script names.
const (
	toApprove = "approve_intent"
	toSetKit  = "set_kit"
	toGrant   = "grant_spending"
	toComment = "comment"
)

// deeds are what a spoof tries: to approve what waits, to change the kit, to press
// Start, to say something as a person, to withdraw somebody else's, to record.
var deeds = []string{toApprove, toSetKit, toGrant, toComment, toUpdate, toRecord}

// somebody is a holder of a credential.
type somebody struct {
	token     string
	principal string // as the record has it
	kind      operator.Kind
}

// stage is an installed Operator behind every face, with somebody to be taken for,
// and what they have not decided yet.
type stage struct {
	*operatortest.World
	t        *testing.T
	clock    *operatortest.Clock
	schedule *powers.Schedule
	url      string
	cli      place
	db       *sql.DB
	columns  map[string]string // of each table, those that nothing refused may change
	who      map[string]somebody
	minted   map[string]operator.Minted
	waiting  operator.Intent // the victim's, which nobody decided
	titles   int
}

func newStage(t *testing.T, store string) *stage {
	t.Helper()
	// The command line reads the machine's clock, so that everybody does.
	clock := operatortest.NewClock(time.Now().Add(-time.Hour))
	s := &stage{t: t, clock: clock, who: map[string]somebody{}, minted: map[string]operator.Minted{}}
	s.World = operatortest.New(t, store, &operator.Options{Clock: clock})
	s.db = operatortest.Database(t, s.Where)
	var err error
	if s.schedule, err = powers.New(s.Operator); err != nil {
		t.Fatal(err)
	}
	s.serve()
	s.cli = place{dir: t.TempDir(), env: []string{"REEVE_DIR=" + s.Where}}
	if store == "postgres" {
		s.cli.env = []string{"REEVE_DATABASE_URL=" + s.Where}
	}
	s.people()
	s.elsewhere()
	clock.Set(time.Now())
	s.waiting = s.Record(t, operator.RecordIntentInput{Action: s.action()})
	s.look()
	return s
}

func (s *stage) serve() {
	s.t.Helper()
	mcp, err := mcpadapter.New(s.schedule, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	rest, err := restadapter.New(s.schedule, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	server := httptest.NewServer(faces(mcp, rest))
	s.t.Cleanup(server.Close)
	s.url = server.URL
}

// mint makes a credential with every scope there is.
func (s *stage) mint(who string, in operator.NewCredential) {
	s.t.Helper()
	in.Scopes = operator.Scopes()
	s.keep(who, in.Kind, s.Mint(s.t, in))
}

func (s *stage) keep(who string, kind operator.Kind, m operator.Minted) {
	s.minted[who], s.who[who] = m, somebody{m.Token, m.Principal, kind}
}

// person puts somebody on the list, with a credential that lives for so long.
func (s *stage) person(handle string, role operator.Role, life time.Duration) {
	s.t.Helper()
	s.must(s.AddPerson(s.t.Context(), operator.NewPerson{Handle: handle, Name: handle, Role: role}))
	s.mint(handle, operator.NewCredential{Kind: operator.KindHuman, Name: handle, Person: handle, Interactive: true, Life: life})
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// people are those of this account, and those who were.
func (s *stage) people() {
	s.t.Helper()
	ctx := s.t.Context()
	s.keep("owner", operator.KindHuman, s.First.Person)
	s.keep("victim", operator.KindAgent, s.First.Agent)
	s.mint("thief", operator.NewCredential{Kind: operator.KindAgent, Name: "thief"})
	s.mint("namesake", operator.NewCredential{Kind: operator.KindAgent, Name: "owner"})
	s.mint("worker", operator.NewCredential{Kind: operator.KindWorker, Name: "owner"})
	s.mint("channel", operator.NewCredential{Kind: operator.KindChannel, Name: "chat"})
	s.person("ana", operator.RoleMember, 0)
	s.person("expired", operator.RoleOwner, time.Minute)
	s.person("revoked", operator.RoleOwner, 0)
	s.must(s.RevokeCredential(ctx, "", s.minted["revoked"].ID))
	s.person("rotated", operator.RoleOwner, 0)
	_, err := s.RotateCredential(ctx, "", s.minted["rotated"].ID)
	s.must(err)
	s.person("removed", operator.RoleOwner, 0)
	s.must(s.RemovePerson(ctx, "", "removed"))
	// Removed by hand, so that the credential itself was never taken back.
	s.person("gone", operator.RoleOwner, 0)
	s.must(s.LinkPerson(ctx, "", "gone", "chat", "U9"))
	_, err = s.db.Exec(`update reeve_people set removed_at = created_at where handle = 'gone'`)
	s.must(err)
	s.must(s.LinkPerson(ctx, "", "owner", "chat", "U1"))
	s.must(s.LinkPerson(ctx, "", "owner", "mail", "owner@home.example"))
}

// elsewhere are an owner and an agent of another account, and of another project.
func (s *stage) elsewhere() {
	s.t.Helper()
	ctx := s.t.Context()
	s.must(s.AddAccount(ctx, "other", "UTC", "USD"))
	s.must(s.AddPerson(ctx, operator.NewPerson{Account: "other", Handle: "owner", Name: "Owner", Role: operator.RoleOwner}))
	_, err := s.AddProject(ctx, "", "second")
	s.must(err)
	for where, in := range map[string]operator.NewCredential{"another account": {Account: "other"}, "another project": {Project: "second"}} {
		in.Name = strings.ReplaceAll(where, " ", "-")
		in.Kind = operator.KindAgent
		s.mint("an agent of "+where, in)
		in.Kind, in.Person = operator.KindHuman, "owner"
		s.mint("an owner of "+where, in)
	}
	s.mint("a channel of another account", operator.NewCredential{Kind: operator.KindChannel, Name: "chat", Account: "other"})
}

// action is one that was never recorded before.
func (s *stage) action() gate.Action {
	s.titles++
	amount := gate.Cents(4900)
	return gate.Action{Type: "spend", Title: fmt.Sprintf("Renewal %d", s.titles), AmountCents: &amount}
}

// input is what a deed is called with.
func (s *stage) input(deed string) any {
	switch deed {
	case toApprove:
		return operator.ActInput{ID: s.waiting.ID, Digest: s.waiting.Digest}
	case toSetKit:
		return operator.KitInput{Primitives: map[string]bool{"intents": false}}
	case toGrant:
		return operator.GrantInput{Principal: s.who["thief"].principal, Until: s.Now().Add(24 * time.Hour), Reason: "So that it may spend"}
	case toComment:
		return operator.CommentInput{Text: "I said so."}
	case toUpdate:
		return operator.UpdateIntentInput{ID: s.waiting.ID, Status: string(gate.StatusCancelled)}
	case toRecord:
		return operator.RecordIntentInput{Action: s.action()}
	}
	s.t.Fatalf("nobody knows how to %s", deed)
	return nil
}

// arguments is a deed's input as a face carries it.
func (s *stage) arguments(deed string) map[string]any {
	s.t.Helper()
	raw, err := json.Marshal(s.input(deed))
	s.must(err)
	out := map[string]any{}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	s.must(d.Decode(&out))
	return out
}

// What a refusal may change: that a credential was used, where a row of the record
// stands under its seal, and the seals. Rows of the record that tell of a refusal
// are looked at by themselves.
var mayChange = map[string][]string{"reeve_credentials": {"last_used_at"}, "reeve_audit": {"seq"}}

var seals = []string{"reeve_logs", "reeve_checkpoints"}

// look finds the tables and their columns.
func (s *stage) look() {
	s.t.Helper()
	s.columns = map[string]string{}
	query := `select name from sqlite_schema where type = 'table' and name like 'reeve%'`
	if s.Database() == "postgres" {
		query = `select table_name from information_schema.tables where table_schema = current_schema() and table_name like 'reeve%'`
	}
	for _, table := range operatortest.Rows(s.t, s.db, query) {
		rows, err := s.db.QueryContext(context.Background(), `select * from `+table+` where 1 = 0`)
		s.must(err)
		columns, err := rows.Columns()
		s.must(err)
		rows.Close()
		if !slices.Contains(seals, table) {
			s.columns[table] = strings.Join(slices.DeleteFunc(columns, func(c string) bool { return slices.Contains(mayChange[table], c) }), ", ")
		}
	}
	if len(s.columns) < 15 {
		s.t.Fatalf("only %d tables were found: the test is blind", len(s.columns))
	}
}

// ledger is every row of every table, but what a refusal may write.
type ledger map[string][]string

func (s *stage) ledger() ledger {
	s.t.Helper()
	out := ledger{}
	for table, columns := range s.columns {
		query := `select ` + columns + ` from ` + table
		if table == "reeve_audit" {
			query += ` where verdict = 'done'`
		}
		out[table] = operatortest.Rows(s.t, s.db, query)
		slices.Sort(out[table])
	}
	return out
}

// since lists the rows that came, and those that went, by table.
func (l ledger) since(before ledger) (came, went map[string][]string) {
	came, went = map[string][]string{}, map[string][]string{}
	for table, rows := range l {
		if more := without(rows, before[table]); len(more) > 0 {
			came[table] = more
		}
		if fewer := without(before[table], rows); len(fewer) > 0 {
			went[table] = fewer
		}
	}
	return came, went
}

// without is what of sorted rows is not among others, which are sorted too.
func without(rows, others []string) []string {
	var out []string
	for _, r := range rows {
		if _, there := slices.BinarySearch(others, r); !there {
			out = append(out, r)
		}
	}
	return out
}

// newest is the number of the record's last row.
func (s *stage) newest() (id int64) {
	s.t.Helper()
	s.must(s.db.QueryRow(`select coalesce(max(id), 0) from reeve_audit`).Scan(&id))
	return id
}

// refusals are the refusals that are on record behind a row: who was refused, and why.
func (s *stage) refusals(after int64) []string {
	s.t.Helper()
	return operatortest.Rows(s.t, s.db, `select principal, reason from reeve_audit where verdict <> 'done' and id > $1 order by id`, after)
}
