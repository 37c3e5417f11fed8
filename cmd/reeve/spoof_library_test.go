package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// proof is how a program comes by whom it acts as.
type proof func(context.Context) (operator.Principal, operator.Person, error)

// impostor is somebody that a program made by hand, kept too long, or had vouched for.
type impostor struct {
	name    string
	prove   proof
	deeds   []string // the acts where nothing is said
	refused operator.Reason
}

var (
	acts  = []string{toApprove, toSetKit, toGrant, toComment}
	tools = []string{toUpdate, toRecord}
)

func TestNobodyThatAProgramMakesUpChangesARow(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		s := newStage(t, store)
		all := slices.Concat(handmade(s), keptTooLong(s), vouchedFor(s))
		before, tries := s.ledger(), 0
		for _, im := range all {
			if im.deeds == nil {
				im.deeds = acts
			}
			for _, deed := range im.deeds {
				tries++
				got := libraryAnswer(t.Context(), s, &attempt{deed: deed, args: s.arguments(deed)}, im.prove)
				s.refusedFor(t, im.name+": "+deed, got, im.refused)
				after := s.ledger()
				if came, went := after.since(before); len(came)+len(went) > 0 {
					t.Errorf("%s: %s: something changed: %v came, %v went", im.name, deed, came, went)
				}
				before = after
			}
		}
		t.Logf("%d impostors, %d tries", len(all), tries)
		if len(all) < 30 || tries < 100 {
			t.Errorf("only %d impostors in %d tries", len(all), tries)
		}
		s.stillWaits(t)
		person, err := s.Vouch(t.Context(), s.who["channel"].token, "U1")
		s.must(err)
		if in, err := s.Approve(t.Context(), person, s.input(toApprove).(operator.ActInput)); err != nil || in.DecidedBy == nil || *in.DecidedBy != "human:owner" {
			t.Errorf("and yet the owner, who is linked, is %+v, %v", in, err)
		}
	})
}

// given is a proof that is made before it is used.
func given(p operator.Principal, person operator.Person, err error) proof {
	return func(context.Context) (operator.Principal, operator.Person, error) { return p, person, err }
}

// handmade are those that no credential made.
func handmade(s *stage) []impostor {
	s.t.Helper()
	var principal operator.Principal
	var person operator.Person
	// Nothing of either can be written into, and whether that is an error is no matter.
	for _, text := range []string{`{"ID":"human:owner","Kind":"human","AccountID":1,"PersonID":1,"f":{"ID":"human:owner","Kind":"human","AccountID":1,"PersonID":1}}`,
		`{"handle":"owner","personID":1,"accountID":1,"projectID":1,"credentialID":1,"scopes":["intents:decide"]}`} {
		for _, into := range []any{&principal, &person} {
			_ = json.Unmarshal([]byte(text), into)
		}
	}
	owner := s.Principal(s.t, s.who["owner"].token)
	dressed := operator.Principal{}.WithVia(operator.ViaTerminal).WithPowers(owner.Powers())
	of := func(p operator.Principal) proof {
		return func(context.Context) (operator.Principal, operator.Person, error) {
			person, err := s.PersonOf(p)
			return p, person, err
		}
	}
	return []impostor{
		{"nobody at all", given(operator.Principal{}, operator.Person{}, nil), deeds, unauthenticated},
		{"a person and a principal that were read from JSON", given(principal, person, nil), deeds, unauthenticated},
		{"nobody with a way in and the owner's powers", given(dressed, operator.Person{}, nil), deeds, unauthenticated},
		{"an agent beside a Person that nobody proved", given(s.Agent, operator.Person{}, nil), acts, unauthenticated},
		{"the person behind nobody", of(dressed), acts, kindNotAllowed},
		{"the person behind an agent", of(s.Agent.WithVia(operator.ViaTerminal)), acts, kindNotAllowed},
		{"the person behind an agent of the owner's name", of(s.Principal(s.t, s.who["namesake"].token).WithPowers(owner.Powers())), acts, kindNotAllowed},
		{"the person behind a channel", of(s.Principal(s.t, s.who["channel"].token)), acts, kindNotAllowed},
		{"the person behind a worker that holds the database", of(s.Worker), acts, kindNotAllowed},
	}
}

// keptTooLong were proved, and hold no longer, or never held here.
func keptTooLong(s *stage) []impostor {
	s.t.Helper()
	ctx := s.t.Context()
	kept := func(handle string, life time.Duration) operator.Person {
		s.person(handle, operator.RoleOwner, life)
		p, err := s.PersonByCredential(ctx, s.who[handle].token, operator.ViaTerminal)
		s.must(err)
		return p
	}
	was := map[string]operator.Person{"kept-revoked": kept("kept-revoked", 0), "kept-removed": kept("kept-removed", 0), "kept-expired": kept("kept-expired", time.Second),
		"kept-again": kept("kept-again", 0)}
	s.mint("passing", operator.NewCredential{Kind: operator.KindChannel, Name: "passing"})
	s.must(s.LinkPerson(ctx, "", "owner", "passing", "U1"))
	vouched, err := s.Vouch(ctx, s.who["passing"].token, "U1")
	s.must(err)
	s.must(s.RevokeCredential(ctx, "", s.minted["passing"].ID))
	s.must(s.RevokeCredential(ctx, "", s.minted["kept-revoked"].ID))
	s.must(s.RemovePerson(ctx, "", "kept-removed"))
	s.must(s.RemovePerson(ctx, "", "kept-again"))
	s.must(s.AddPerson(ctx, operator.NewPerson{Handle: "kept-again", Name: "Somebody else", Role: operator.RoleOwner}))
	s.clock.Advance(time.Second)
	// Another database counts its accounts, people and credentials from one as well.
	other := operatortest.New(s.t, "sqlite", &operator.Options{Clock: s.clock})
	return []impostor{
		{"a person whose credential was revoked since", given(operator.Principal{}, was["kept-revoked"], nil), nil, credentialRevoked},
		{"a person who was removed since", given(operator.Principal{}, was["kept-removed"], nil), nil, credentialRevoked},
		{"a person whose credential ended since", given(operator.Principal{}, was["kept-expired"], nil), nil, credentialExpired},
		{"a person whose handle somebody else was given since", given(operator.Principal{}, was["kept-again"], nil), nil, credentialRevoked},
		{"a person whose channel was taken back since", given(operator.Principal{}, vouched, nil), []string{toApprove, toComment}, credentialRevoked},
		{"the owner of another database", given(operator.Principal{}, other.Owner, nil), nil, credentialRevoked},
	}
}

// vouchedFor are those for whom a channel gives its word.
func vouchedFor(s *stage) []impostor {
	by := func(who, external string) proof {
		return func(ctx context.Context) (operator.Principal, operator.Person, error) {
			person, err := s.Vouch(ctx, s.who[who].token, external)
			return operator.Principal{}, person, err
		}
	}
	forged := func(ctx context.Context) (operator.Principal, operator.Person, error) {
		person, err := s.Vouch(ctx, "rv_channel_"+secretOf(s.who["owner"].token), "U1")
		return operator.Principal{}, person, err
	}
	out := []impostor{
		{"an account elsewhere of another service's", by("channel", "owner@home.example"), nil, notFound},
		{"an account elsewhere of somebody who is off the list", by("channel", "U9"), nil, notFound},
		{"an account elsewhere, by another account's channel of that name", by("a channel of another account", "U1"), nil, notFound},
		{"a person's handle for an account elsewhere", by("channel", "owner"), nil, notFound},
		{"a person's id for an account elsewhere", by("channel", "human:owner"), nil, notFound},
		{"an agent that vouches for the owner", by("thief", "U1"), nil, kindNotAllowed},
		{"a worker that vouches for the owner", by("worker", "U1"), nil, kindNotAllowed},
		{"a member who vouches for the owner", by("ana", "U1"), nil, kindNotAllowed},
		{"a person's secret behind a channel's prefix", forged, nil, unauthenticated},
		{"the owner, who is vouched for, in what a channel never does", by("channel", "U1"), []string{toSetKit, toGrant}, "missing_scope"},
	}
	for name, external := range map[string]string{"nobody's": "U2", "none": "", "in another case": "u1", "with a space behind": "U1 ", "with a zero-width space": "U1\u200b",
		"in full-width letters": "\uff351", "with an accent": "U\u03011", "as a pattern": "U%", "as SQL": "U1' or '1'='1", "with NUL": "U1\x00", "in bad UTF-8": "U1\xff"} {
		out = append(out, impostor{"an account elsewhere, " + name, by("channel", external), []string{toApprove, toComment}, notFound})
	}
	return out
}

// What is made with the database in hand has its own root of trust; all the same no
// name may be given that reads like another, and no credential that is two kinds.
func TestNoIdentityIsMadeThatReadsLikeAnother(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		s := newStage(t, store)
		ctx := t.Context()
		person := func(handle string) func() error {
			return func() error {
				return s.AddPerson(ctx, operator.NewPerson{Handle: handle, Name: "Owner", Role: operator.RoleOwner})
			}
		}
		credential := func(in operator.NewCredential) func() error {
			return func() error { _, err := s.CreateCredential(ctx, in); return err }
		}
		link := func(service, external string) func() error {
			return func() error { return s.LinkPerson(ctx, "", "ana", service, external) }
		}
		before := s.ledger()
		for name, c := range map[string]struct {
			make    func() error
			refused operator.Reason
		}{
			"a person of the owner's handle":                    {person("owner"), "name_taken"},
			"a person of a Cyrillic handle":                     {person("own\u0435r"), "invalid_value"},
			"a person of a handle with a zero-width space":      {person("owner\u200b"), "invalid_value"},
			"a person of a handle in capitals":                  {person("Owner"), "invalid_value"},
			"a person of a full-width handle":                   {person("\uff4fwner"), "invalid_value"},
			"a person of a handle with a space":                 {person("owner "), "invalid_value"},
			"a person of a handle that is an id":                {person("human:owner"), "invalid_value"},
			"a person of no handle":                             {person(""), "invalid_value"},
			"an agent of the victim's name":                     {credential(operator.NewCredential{Kind: operator.KindAgent, Name: strings.TrimPrefix(s.who["victim"].principal, "agent:")}), "name_taken"},
			"an agent of a Cyrillic name":                       {credential(operator.NewCredential{Kind: operator.KindAgent, Name: "thi\u0435f"}), "invalid_value"},
			"an agent of a name that is a person's id":          {credential(operator.NewCredential{Kind: operator.KindAgent, Name: "human:owner"}), "invalid_value"},
			"an agent that belongs to the owner":                {credential(operator.NewCredential{Kind: operator.KindAgent, Name: "mine", Person: "owner"}), "invalid_value"},
			"an agent behind which a person is present":         {credential(operator.NewCredential{Kind: operator.KindAgent, Name: "mine", Interactive: true}), "invalid_value"},
			"a credential of no kind":                           {credential(operator.NewCredential{Name: "mine", Person: "owner"}), "invalid_value"},
			"a credential of the kind of an owner":              {credential(operator.NewCredential{Kind: "owner", Name: "mine"}), "invalid_value"},
			"a person's credential of nobody's":                 {credential(operator.NewCredential{Kind: operator.KindHuman, Name: "mine"}), "missing_field"},
			"a person's credential of somebody off the list":    {credential(operator.NewCredential{Kind: operator.KindHuman, Name: "mine", Person: "gone"}), notFound},
			"a person's credential in an account of others":     {credential(operator.NewCredential{Kind: operator.KindHuman, Name: "mine", Person: "ana", Account: "other"}), notFound},
			"a channel that is called like a way in":            {credential(operator.NewCredential{Kind: operator.KindChannel, Name: string(operator.ViaTerminal)}), "invalid_value"},
			"a worker that is called like one of no credential": {credential(operator.NewCredential{Kind: operator.KindWorker, Name: "local-test"}), "invalid_value"},
			"an account elsewhere that is the owner's":          {link("chat", "U1"), "name_taken"},
			"an account elsewhere with a zero-width space":      {link("chat", "U1\u200b"), "bad_text"},
			"an account of a service of a Cyrillic name":        {link("ch\u0430t", "U1"), "invalid_value"},
		} {
			var r *operator.Refusal
			if err := c.make(); !errors.As(err, &r) || r.Reason != c.refused {
				t.Errorf("%s: %v, want %s", name, err, c.refused)
			}
			after := s.ledger()
			if came, went := after.since(before); len(came)+len(went) > 0 {
				t.Errorf("%s: something changed: %v came, %v went", name, came, went)
			}
			before = after
		}
	})
}

// The schedule takes a Caller of a program's making, and so also nobody.
func TestACallerOfAProgramsMakingIsNobody(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		s := newStage(t, store)
		before := s.ledger()
		for _, face := range []powers.Face{powers.FaceMCP, powers.FaceREST, powers.FaceLibrary, powers.Face(operator.ViaTerminal), "human:owner", ""} {
			for _, im := range handmade(s)[:3] {
				for _, deed := range slices.Concat(acts, tools) {
					p, _, _ := im.prove(t.Context())
					c := powers.Caller{Principal: p, Face: face, RequestID: "human:owner", Address: "human:owner"}
					raw, err := json.Marshal(s.arguments(deed))
					s.must(err)
					var a powers.Answer
					if _, _, act := s.route(deed); act != nil {
						a = s.schedule.CallAct(t.Context(), c, act, raw)
					} else {
						a = s.schedule.Call(t.Context(), c, deed, raw)
					}
					s.refusedFor(t, im.name+": "+deed, returned{ok: a.OK, raw: a.JSON, status: a.Status}, unauthenticated)
				}
			}
		}
		if came, went := s.ledger().since(before); len(came)+len(went) > 0 {
			t.Errorf("something changed: %v came, %v went", came, went)
		}
	})
}
