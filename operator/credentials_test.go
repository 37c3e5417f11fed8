package operator_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestATokenHasItsShapeAndOnlyItsHashIsKept(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		tokens := map[string]bool{}
		for _, kind := range []operator.Kind{operator.KindHuman, operator.KindAgent, operator.KindWorker, operator.KindChannel} {
			in := operator.NewCredential{Kind: kind, Name: "c", Scopes: operator.Scopes()}
			if kind == operator.KindHuman {
				in.Person = "owner"
			}
			m := w.Mint(t, in)
			if !regexp.MustCompile(`^rv_` + string(kind) + `_[A-Za-z0-9_-]{43}$`).MatchString(m.Token) {
				t.Errorf("a %s token of another shape", kind)
			}
			if _, err := w.Authenticate(ctx, m.Token, operator.ViaREST); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			tokens[m.Token] = true
		}
		rotated, err := w.RotateCredential(ctx, "", "agent:c")
		mustHave(t, err)
		tokens[rotated.Token], tokens[w.First.Agent.Token], tokens[w.First.Person.Token] = true, true, true
		if len(tokens) != 7 {
			t.Fatalf("%d different tokens of 7", len(tokens))
		}
		everything := dump(t, store, w)
		for token := range tokens {
			secret := token[len(token)-43:]
			if strings.Contains(everything, secret) {
				t.Error("a token stands in the database")
			}
			sum := sha256.Sum256([]byte(token))
			if !strings.Contains(everything, hex.EncodeToString(sum[:])) {
				t.Error("the hash of a token is missing: this test would see nothing")
			}
		}
	})
}

// dump is every cell of every table.
func dump(t *testing.T, store string, w *operatortest.World) string {
	t.Helper()
	db := operatortest.Database(t, w.Where)
	query := `select name from sqlite_schema where type = 'table'`
	if store == "postgres" {
		query = `select table_name from information_schema.tables where table_schema = current_schema()`
	}
	var out strings.Builder
	for _, table := range operatortest.Rows(t, db, query) {
		out.WriteString(strings.Join(operatortest.Rows(t, db, `select * from `+table), "\n"))
	}
	return out.String()
}

func TestWhatIsNotATokenOfOursIsAnsweredLikeAnUnknownOne(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		good := w.First.Agent.Token
		last := "A"
		if strings.HasSuffix(good, "A") {
			last = "B"
		}
		_, want := w.Authenticate(ctx, "rv_agent_"+strings.Repeat("x", 43), operator.ViaLibrary)
		mustBe(t, want, operator.ErrUnauthenticated)
		for _, token := range []string{"", "Bearer", good + " ", " " + good, good[:len(good)-1], good + "x", good[:len(good)-1] + last,
			strings.ToUpper(good), "rv_human_" + good[len(good)-43:], "rv_owner_" + good[len(good)-43:], "rv__" + good[len(good)-43:],
			good[:20] + "\x00" + good[21:], good[:20] + "é" + good[22:], strings.Repeat(good, 1000), "rv_agent_" + strings.Repeat("%", 43)} {
			_, err := w.Authenticate(ctx, token, operator.ViaLibrary)
			if !errors.Is(err, operator.ErrUnauthenticated) || err.Error() != want.Error() {
				t.Errorf("a token of %d bytes: %v", len(token), err)
			}
		}
	})
}

func TestAPrincipalIsWhatItsCredentialSays(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "phone", Person: "owner", Interactive: true,
			Scopes: []operator.Scope{operator.ScopeStateRead, operator.ScopeIntentsDecide, operator.ScopeStateRead}})
		p := w.Principal(t, m.Token)
		if p.ID() != "human:owner" || p.Kind() != operator.KindHuman || p.Role() != operator.RoleOwner || !p.Interactive() ||
			p.Account() != "default" || p.Project() != "default" || p.ProjectUID() != w.First.ProjectID || p.InstanceID() != m.InstanceID ||
			len(p.Scopes()) != 2 || len(p.Missing(operator.Scopes())) != len(operator.Scopes())-2 {
			t.Errorf("%+v", p)
		}
		if w.Agent.Role() != "" || w.Agent.Interactive() || w.Agent.ID() != "agent:agent" {
			t.Errorf("%+v", w.Agent)
		}
		scopes := p.Scopes()
		scopes[0] = operator.ScopeWorkClaim
		if len(p.Missing([]operator.Scope{operator.ScopeWorkClaim})) != 1 {
			t.Error("a copy of the scopes reaches into the principal")
		}
	})
}

func TestACredentialExpiresToTheMicrosecond(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "brief", Life: time.Hour})
		w.Clock.Advance(time.Hour - time.Microsecond)
		if _, err := w.Authenticate(ctx, m.Token, operator.ViaLibrary); err != nil {
			t.Errorf("a microsecond before: %v", err)
		}
		w.Clock.Advance(time.Microsecond)
		_, err := w.Authenticate(ctx, m.Token, operator.ViaLibrary)
		mustBe(t, err, operator.ErrCredentialExpired)
	})
}

func TestARevokedCredentialIsDeadInTheOtherProcessAtOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		for _, id := range []func(operator.Minted) string{
			func(m operator.Minted) string { return m.ID }, func(m operator.Minted) string { return m.Principal },
		} {
			m := w.Mint(t, operator.NewCredential{Kind: operator.KindWorker, Name: "short-lived"})
			if _, err := other.Authenticate(ctx, m.Token, operator.ViaLibrary); err != nil {
				t.Fatal(err)
			}
			mustHave(t, w.RevokeCredential(ctx, "", id(m)))
			_, err := other.Authenticate(ctx, m.Token, operator.ViaLibrary)
			mustBe(t, err, operator.ErrCredentialRevoked)
			mustHave(t, w.RevokeCredential(ctx, "", m.ID)) // again: nothing changes
			mustBe(t, w.RevokeCredential(ctx, "", m.Principal), operator.ErrNotFound)
			_, err = w.RotateCredential(ctx, "", m.ID)
			mustBe(t, err, operator.ErrCredentialRevoked)
		}
	})
}

func TestRotatingLeavesExactlyOneThatLives(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "spinner", Scopes: []operator.Scope{operator.ScopeStateRead}, Life: 48 * time.Hour})
		w.Clock.Advance(24 * time.Hour)
		type answer struct {
			m   operator.Minted
			err error
		}
		answers := together(8, func(i int) answer {
			op := w.Operator
			if i%2 == 1 {
				op = other
			}
			got, err := op.RotateCredential(ctx, "", m.ID)
			return answer{got, err}
		})
		live := 0
		for _, a := range answers {
			if a.err != nil {
				mustBe(t, a.err, operator.ErrCredentialRevoked)
				continue
			}
			live++
			p := w.Principal(t, a.m.Token)
			if p.ID() != "agent:spinner" || len(p.Scopes()) != 1 || a.m.InstanceID == m.InstanceID || !a.m.ExpiresAt.Equal(w.Clock.Now().Add(48*time.Hour)) {
				t.Errorf("%+v", a.m)
			}
		}
		_, err := w.Authenticate(ctx, m.Token, operator.ViaLibrary)
		mustBe(t, err, operator.ErrCredentialRevoked)
		db := operatortest.Database(t, w.Where)
		if n := count(t, db, `select count(*) from reeve_credentials where name = 'spinner' and revoked_at is null`); live != 1 || n != 1 {
			t.Errorf("%d rotations went through, %d live", live, n)
		}
	})
}

func TestANameIsTakenWhileItsCredentialLives(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		in := operator.NewCredential{Kind: operator.KindAgent, Name: "bot"}
		m := w.Mint(t, in)
		_, err := w.CreateCredential(ctx, in)
		mustBe(t, err, operator.ErrTaken)
		w.Mint(t, operator.NewCredential{Kind: operator.KindWorker, Name: "bot"}) // another kind
		mustHave(t, w.RevokeCredential(ctx, "", m.ID))
		w.Mint(t, in)
	})
}

func TestACredentialThatMakesNoSenseIsRefused(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		for name, in := range map[string]operator.NewCredential{
			"no kind":                     {Name: "x"},
			"a kind of another spelling":  {Kind: "Agent", Name: "x"},
			"no name":                     {Kind: operator.KindAgent},
			"a name with a colon":         {Kind: operator.KindAgent, Name: "a:b"},
			"a person's without a person": {Kind: operator.KindHuman, Name: "x"},
			"an interactive agent":        {Kind: operator.KindAgent, Name: "x", Interactive: true},
			"an agent with a person":      {Kind: operator.KindAgent, Name: "x", Person: "owner"},
			"a scope of everything":       {Kind: operator.KindAgent, Name: "x", Scopes: []operator.Scope{"*"}},
			"a scope that is a prefix":    {Kind: operator.KindAgent, Name: "x", Scopes: []operator.Scope{"intents"}},
			"two scopes in one":           {Kind: operator.KindAgent, Name: "x", Scopes: []operator.Scope{"state:read work:claim"}},
			"a life below nothing":        {Kind: operator.KindAgent, Name: "x", Life: -1},
			"a life of a nanosecond":      {Kind: operator.KindAgent, Name: "x", Life: 1},
			"a life without end":          {Kind: operator.KindAgent, Name: "x", Life: operator.MaxLife + 1},
		} {
			_, err := w.CreateCredential(ctx, in)
			if r := mustBe(t, err, err); r.Info().Layer != "input" {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestRemovingAPersonEndsEverythingTheyHold(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		_, first := w.NewPerson(t, "ana", operator.RoleAdmin)
		second := w.Mint(t, operator.NewCredential{Kind: operator.KindHuman, Name: "ana-phone", Person: "ana"})
		slack := w.Mint(t, operator.NewCredential{Kind: operator.KindChannel, Name: "slack"})
		mustHave(t, w.LinkPerson(ctx, "", "ana", "slack", "U1"))
		mustBe(t, w.AddPerson(ctx, operator.NewPerson{Handle: "ana", Name: "Another", Role: operator.RoleOwner}), operator.ErrTaken)
		mustHave(t, w.RemovePerson(ctx, "", "ana"))
		for _, m := range []operator.Minted{first, second} {
			_, err := other.Authenticate(ctx, m.Token, operator.ViaLibrary)
			mustBe(t, err, operator.ErrCredentialRevoked)
		}
		_, err := other.Vouch(ctx, slack.Token, "U1")
		mustBe(t, err, operator.ErrNotFound)
		mustBe(t, w.RemovePerson(ctx, "", "ana"), operator.ErrNotFound)
		// Back again, with nothing of what there was.
		mustHave(t, w.AddPerson(ctx, operator.NewPerson{Handle: "ana", Name: "Ana", Role: operator.RoleMember}))
		_, err = other.Authenticate(ctx, first.Token, operator.ViaLibrary)
		mustBe(t, err, operator.ErrCredentialRevoked)
		_, err = other.Vouch(ctx, slack.Token, "U1")
		mustBe(t, err, operator.ErrNotFound)
		people, err := w.People(ctx, "")
		if err != nil || len(people) != 2 || people[1].Role != operator.RoleMember || people[1].RemovedAt != nil {
			t.Errorf("%+v, %v", people, err)
		}
	})
}

// An account elsewhere is named by whoever writes to the channel. What no link can
// hold is nobody's, and no outage that the channel would try again.
func TestAnAccountElsewhereThatCouldNotBeLinkedIsNobodys(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		chat := w.Mint(t, operator.NewCredential{Kind: operator.KindChannel, Name: "chat"})
		for _, id := range []string{"", "U1\x00", "U1\xff", "\xed\xa0\x80", "U1\u202e", strings.Repeat("U", 201), strings.Repeat("U", 1<<20)} {
			_, err := w.Vouch(context.Background(), chat.Token, id)
			mustBe(t, err, operator.ErrNotFound)
		}
	})
}

// Every database counts its accounts, people and credentials from one, so that their
// numbers are alike.
func TestAPersonOfAnotherDatabaseIsNobodyHere(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, there := operatortest.New(t, store, nil), operatortest.New(t, "sqlite", nil)
		channel := operator.NewCredential{Kind: operator.KindChannel, Name: "chat"}
		w.Mint(t, channel)
		mustHave(t, there.LinkPerson(ctx, "", "owner", "chat", "U1"))
		vouched, err := there.Vouch(ctx, there.Mint(t, channel).Token, "U1")
		mustHave(t, err)
		in := w.Record(t, renewal())
		before := operatortest.Fingerprint(t, operatortest.Database(t, w.Where))
		for name, p := range map[string]operator.Person{"by a credential": there.Owner, "by a channel": vouched} {
			_, err := w.Approve(ctx, p, act(in))
			mustBe(t, err, operator.ErrCredentialRevoked)
			if _, err := w.ShowIntent(ctx, p, in.ID); err == nil {
				t.Errorf("proved %s: it was shown", name)
			}
		}
		if operatortest.Fingerprint(t, operatortest.Database(t, w.Where)) != before {
			t.Error("something was written")
		}
		_, err = w.Again(t, nil).Approve(ctx, w.Owner, act(in)) // the same database by another process
		mustHave(t, err)
	})
}

func TestTheLastUseIsNotedAboutOnceAMinute(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		used := func() int64 {
			w.Principal(t, w.First.Agent.Token)
			return count(t, db, `select last_used_at from reeve_credentials where kind = 'agent'`)
		}
		first := used()
		w.Clock.Advance(time.Minute - time.Microsecond)
		if again := used(); again != first {
			t.Error("written again within the minute")
		}
		w.Clock.Advance(time.Microsecond)
		if later := used(); later != w.Clock.Now().UnixMicro() {
			t.Errorf("%d", later)
		}
	})
}

func TestAnInstallHappensOnceAlsoWhenTwoProcessesStartAtOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		where := operatortest.Where(t, store)
		type answer struct {
			made bool
			err  error
		}
		answers := together(4, func(int) answer {
			op, err := operator.Open(ctx, where, nil)
			if err != nil {
				return answer{err: err}
			}
			defer op.Close()
			_, made, err := op.Install(ctx, operator.Initial{})
			return answer{made, err}
		})
		made := 0
		for _, a := range answers {
			mustHave(t, a.err)
			if a.made {
				made++
			}
		}
		db := operatortest.Database(t, where)
		if n := count(t, db, `select count(*) from reeve_credentials`); made != 1 || n != 2 {
			t.Errorf("%d installs, %d credentials", made, n)
		}
	})
}
