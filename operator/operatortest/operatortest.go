// Package operatortest is what users of the operator package test with: a real
// Operator on a real database, a clock that the test moves, and principals with
// real credentials.
package operatortest

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
)

// Clock is a clock that stands still until the test moves it.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that stands at t.
func NewClock(t time.Time) *Clock { return &Clock{now: t} }

// Now is where the clock stands.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to t, forwards or back.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) { c.Set(c.Now().Add(d)) }

// Start is where a new clock stands: a Tuesday, in the middle of the day.
var Start = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// World is an installed Operator with somebody to call it.
type World struct {
	*operator.Operator
	Clock  *Clock
	First  operator.Installed
	Owner  operator.Person    // the first person
	Agent  operator.Principal // the first agent
	Worker operator.Principal
	Where  string // what operator.Open was given, for a second process
}

// EachStore runs f once per kind of database, as subtests.
func EachStore(t *testing.T, f func(t *testing.T, store string)) {
	t.Helper()
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) { f(t, store) })
	}
}

// EachLevel is EachStore with every isolation level that a PostgreSQL database may
// have for its default: for what guards against races.
func EachLevel(t *testing.T, f func(t *testing.T, store string)) {
	t.Helper()
	EachStore(t, f)
	for _, level := range []string{"repeatable read", "serializable"} {
		store := "postgres, " + level
		t.Run(store, func(t *testing.T) { f(t, store) })
	}
}

// New installs an Operator on a fresh database of the given kind, "sqlite" or
// "postgres" or one of EachLevel's, and takes both away when the test ends.
func New(t testing.TB, store string, opts *operator.Options) *World {
	t.Helper()
	w := &World{Clock: NewClock(Start)}
	o := operator.Options{}
	if opts != nil {
		o = *opts
	}
	if o.Clock == nil {
		o.Clock = w.Clock
	}
	w.Where = Where(t, store)
	w.Operator = Open(t, w.Where, &o)
	ctx := context.Background()
	first, made, err := w.Install(ctx, operator.Initial{AgentScopes: operator.Scopes(), OwnerScopes: operator.Scopes()})
	if err != nil || !made {
		t.Fatalf("install: made %v, %v", made, err)
	}
	w.First = first
	w.Agent = w.Principal(t, first.Agent.Token)
	w.Owner, err = w.PersonByCredential(ctx, first.Person.Token, operator.ViaLibrary)
	if err != nil {
		t.Fatal(err)
	}
	w.Worker, err = w.LocalWorker(ctx, "", "", "test")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Open opens an Operator that is closed when the test ends.
//
// Unless told otherwise it waits for its turn to write for as long as a test may
// take: how busy the machine is must not decide what a test sees.
func Open(t testing.TB, where string, opts *operator.Options) *operator.Operator {
	t.Helper()
	o := operator.Options{}
	if opts != nil {
		o = *opts
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Minute
	}
	op, err := operator.Open(context.Background(), where, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	return op
}

// Principal resolves a token.
func (w *World) Principal(t testing.TB, token string) operator.Principal {
	t.Helper()
	p, err := w.Authenticate(context.Background(), token, operator.ViaLibrary)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Mint makes a credential.
func (w *World) Mint(t testing.TB, in operator.NewCredential) operator.Minted {
	t.Helper()
	m, err := w.CreateCredential(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// NewPerson puts a person on the list and gives them an interactive credential.
func (w *World) NewPerson(t testing.TB, handle string, role operator.Role) (operator.Person, operator.Minted) {
	t.Helper()
	ctx := context.Background()
	if err := w.AddPerson(ctx, operator.NewPerson{Handle: handle, Name: handle, Role: role}); err != nil {
		t.Fatal(err)
	}
	m := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: handle, Person: handle, Scopes: operator.Scopes(), Interactive: true})
	p, err := w.PersonByCredential(ctx, m.Token, operator.ViaLibrary)
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

// Where gives an empty database of a kind: a folder, or a postgres:// URL.
func Where(t testing.TB, store string) string {
	t.Helper()
	if store == "sqlite" {
		return t.TempDir()
	}
	where := postgresDatabase(t)
	if _, level, ok := strings.Cut(store, ", "); ok {
		where += "&default_transaction_isolation=" + url.QueryEscape(level)
	}
	return where
}

// SetPolicy loads a policy as the owner, who accepts whatever it loosens.
func (w *World) SetPolicy(t testing.TB, text string) operator.PolicyInfo {
	t.Helper()
	ctx := context.Background()
	in := operator.PolicyInput{Policy: text}
	out, err := w.ChangePolicy(ctx, w.Owner, in)
	var loosens *operator.LoosensError
	if errors.As(err, &loosens) {
		in.Accept = loosens.Missing
		out, err = w.ChangePolicy(ctx, w.Owner, in)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
