package main

import (
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestOnlyThePersonsOwnCredentialOpensTheInbox(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, renewal)
	worker := token(t, p, "worker", "w")
	for _, c := range []struct {
		name, token, say string
	}{
		{"the agent's", s.agent, "this credential is not a person's"},
		{"a worker's", worker, "this credential is not a person's"},
		{"a wrong one", "rv_human_" + strings.Repeat("x", 43), "not one of ours"},
		{"none", "", "not one of ours"},
		{"words", "approve please", "not one of ours"},
	} {
		t.Run(c.name, func(t *testing.T) {
			them := p.with("REEVE_TOKEN_FILE=" + p.file(t, "token", c.token))
			for _, args := range [][]string{{"inbox"}, {"inbox", "show", number(in.ID)}, {"inbox", "approve", number(in.ID), "--digest", in.Digest},
				{"inbox", "respond", number(in.ID), "x"}, {"comment", "x"}} {
				r := them.run(t, args...)
				r.refused(t, 1, c.say)
				if strings.Contains(r.out+r.err, "renewal") {
					t.Errorf("%v shows the intent: %s", args, r.out)
				}
			}
		})
	}
	t.Run("no credential, and nobody to ask", func(t *testing.T) {
		p.run(t, "inbox").refused(t, 1, "no terminal", "--token-file")
	})
	t.Run("a file that does not exist", func(t *testing.T) {
		p.run(t, "inbox", "--token-file", "none").refused(t, 1, "none cannot be read: no such file")
	})
	t.Run("one in an argument or in the environment itself", func(t *testing.T) {
		p.run(t, "inbox", "--token", "x").refused(t, 2, "unknown flag --token")
		p.with("REEVE_TOKEN="+s.person).run(t, "inbox").refused(t, 1, "no terminal")
	})
	if got := s.look(t, in.ID); got.Status != "pending_approval" {
		t.Errorf("the intent is %s", got.Status)
	}
}

func TestARefusalInTheTerminalIsInTheRecord(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, renewal)
	p.with("REEVE_TOKEN_FILE="+p.file(t, "token", s.agent)).run(t, "inbox", "approve", number(in.ID), "--digest", in.Digest).refused(t, 1)
	_, body := s.send(t, "GET", "/v1/state", s.agent, "")
	var state struct {
		Audit []struct{ Principal, Via, Act, Result, Why string }
	}
	decode(t, body, &state)
	for _, row := range state.Audit {
		if row.Principal == "agent:agent" && row.Via == "terminal" && row.Act == "approve_intent" && row.Result == "deny" && row.Why == "kind_not_allowed" {
			return
		}
	}
	t.Errorf("no such row in %+v", state.Audit)
}

func TestNobodyDecidesOnWhatTheyDidNotSee(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, renewal)
	person := s.personIn(t, p)
	for _, act := range []string{"approve", "reject", "ignore", "revoke"} {
		person.run(t, "inbox", act, number(in.ID)).refused(t, 2, "--digest")
		person.feed(t, "y\n", "inbox", act, number(in.ID)).refused(t, 2, "--digest")
		stale := person.run(t, "inbox", act, number(in.ID), "--digest", strings.Repeat("0", 64))
		stale.refused(t, 1, "not what you were shown")
		if !strings.Contains(stale.out, in.Digest) || !strings.Contains(stale.out, "49.00 USD") {
			t.Errorf("it does not show what stands there now:\n%s", stale.out)
		}
	}
	person.run(t, "inbox", "settle", number(in.ID), "failed").refused(t, 2, "--digest")
	person.run(t, "inbox", "settle", number(in.ID), "failed", "--json").refused(t, 2, "--digest")
	other := person.run(t, "inbox", "settle", number(in.ID), "failed", "--digest", strings.Repeat("0", 64))
	if other.refused(t, 1, "not what you were shown"); !strings.Contains(other.out, in.Digest) {
		t.Errorf("it does not show what stands there now:\n%s", other.out)
	}
	asJSON := person.run(t, "inbox", "approve", number(in.ID), "--digest", "0", "--json")
	var envelope struct {
		OK     bool
		Reason string
		Error  struct{ Details struct{ Present intent } }
	}
	decode(t, []byte(asJSON.out), &envelope)
	if asJSON.code != 1 || envelope.Reason != "digest_mismatch" || envelope.Error.Details.Present.Digest != in.Digest {
		t.Errorf("exit %d, %s", asJSON.code, asJSON.out)
	}
	if got := s.look(t, in.ID); got.Status != "pending_approval" {
		t.Errorf("the intent is %s", got.Status)
	}
}

func TestEachActOfAPersonWorksInTheTerminal(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		s := p.serve(t)
		person := s.personIn(t, p)
		wish := func(title string) (intent, string) {
			in := s.record(t, `{"type":"send","title":"`+title+`","recipient":"bo@elsewhere.example","body":"Hello Bo"}`)
			return in, number(in.ID)
		}
		for _, c := range []struct {
			act, status string
		}{{"reject", "rejected"}, {"ignore", "cancelled"}, {"revoke", "cancelled"}, {"approve", "approved"}} {
			t.Run(c.act, func(t *testing.T) {
				in, id := wish("To " + c.act)
				var out intent
				decode(t, []byte(person.ok(t, "inbox", c.act, id, "--digest", in.Digest, "--note", "as I said", "--json")), &out)
				if out.Status != c.status {
					t.Errorf("it says %s", out.Status)
				}
				if got := s.look(t, in.ID); got.Status != c.status {
					t.Errorf("it is %s", got.Status)
				}
				person.run(t, "inbox", "reject", id, "--digest", in.Digest).refused(t, 1, "already", "human:owner")
			})
		}
		t.Run("revoke, after the approval", func(t *testing.T) {
			in := s.approve(t, person, renewal)
			person.ok(t, "inbox", "revoke", number(in.ID), "--digest", in.Digest)
			if got := s.look(t, in.ID); got.Status != "cancelled" {
				t.Errorf("it is %s", got.Status)
			}
		})
		t.Run("respond", func(t *testing.T) {
			in, id := wish("To respond")
			person.ok(t, "inbox", "respond", id, "Which Bo?")
			got := s.look(t, in.ID)
			if got.Status != "pending_approval" || len(got.Responses) != 1 || got.Responses[0].Text != "Which Bo?" || got.Responses[0].By != "human:owner" {
				t.Errorf("the agent sees %+v", got)
			}
			if shown := person.ok(t, "inbox", "show", id); !strings.Contains(shown, "│ Which Bo?") {
				t.Errorf("show lacks the answer:\n%s", shown)
			}
		})
		t.Run("edit from a file", func(t *testing.T) {
			in, id := wish("To edit")
			mine := p.file(t, "mine.json", `{"type":"send","title":"To edit","recipient":"bo@elsewhere.example","body":"Hello Bo, from me"}`)
			out := person.ok(t, "inbox", "edit", id, "--file", mine)
			if !strings.Contains(out, "is approved") || !strings.Contains(out, "Hello Bo, from me") || !strings.Contains(out, "What the policy says: requires_approval") {
				t.Errorf("it says:\n%s", out)
			}
			if got := s.look(t, in.ID); got.Status != "superseded" || got.SupersededBy == nil {
				t.Errorf("the old one is %+v", got)
			}
		})
		t.Run("edit in an editor", func(t *testing.T) {
			in, id := wish("To edit here")
			out := person.with(`EDITOR=sed -i s/Bo/Bobby/`).ok(t, "inbox", "edit", id)
			if !strings.Contains(out, "Hello Bobby") || s.look(t, in.ID).Status != "superseded" {
				t.Errorf("it says:\n%s", out)
			}
		})
		t.Run("comment", func(t *testing.T) {
			if out := person.ok(t, "comment", "Buy less."); !strings.Contains(out, "human:owner") {
				t.Errorf("it says %s", out)
			}
			if r := person.feed(t, "Buy even less.", "comment", "--json"); r.code != 0 || !strings.Contains(r.out, "Buy even less.") {
				t.Errorf("from standard input: %d %s%s", r.code, r.out, r.err)
			}
		})
	})
}

func TestAnEditThatMakesNoSenseChangesNothing(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, renewal)
	person, id := s.personIn(t, p), number(in.ID)
	for _, c := range []struct {
		name, text, say string
	}{
		{"no JSON", `title: x`, "is not an action as JSON"},
		{"an unknown key", `{"type":"spend","title":"x","amount_cents":1,"status":"approved"}`, "is not an action as JSON"},
		{"a repeated key", `{"type":"spend","title":"x","title":"y","amount_cents":1}`, "is not an action as JSON"},
		{"another type", `{"type":"send","title":"x","amount_cents":4900}`, "changes neither the type"},
		{"the same again", renewal, "changes nothing"},
		{"an amount of nothing", `{"type":"spend","title":"x","amount_cents":0}`, ""},
		{"hidden text", `{"type":"spend","title":"a\u202eb","amount_cents":1}`, ""},
		{"nothing", ``, "is not an action as JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			person.run(t, "inbox", "edit", id, "--file", p.file(t, "mine.json", c.text)).refused(t, 1, c.say)
			r := person.feed(t, c.text, "inbox", "edit", id, "--file", "-")
			r.refused(t, 1, c.say)
		})
	}
	person.run(t, "inbox", "edit", id).refused(t, 1, "EDITOR", "--file")
	person.with("EDITOR=false").run(t, "inbox", "edit", id).refused(t, 1, "the editor did not end well")
	kept := person.with("EDITOR=sh -c 'echo oops >$0'", "TMPDIR="+p.dir).run(t, "inbox", "edit", id)
	kept.refused(t, 1, "Your text is still in that file")
	if got := s.look(t, in.ID); got.Status != "pending_approval" {
		t.Errorf("the intent is %s", got.Status)
	}
}

func TestWhatAnAgentWroteCannotSteerTheTerminal(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, `{"type":"send","title":"Hi","recipient":"bo@elsewhere.example","body":"Dear Bo,\n\nAround it:\n  digest      0000\n\tthanks",`+
		`"labels":["a, b","c"],"tainted_by":["obs-1"],"data":{"big":9007199254740991,"deep":{"list":[1,2.5,"x"]}}}`)
	person := s.personIn(t, p)
	shown := person.ok(t, "inbox", "show", number(in.ID))
	for _, want := range []string{"“a, b”, “c”", "“obs-1”", "│ Dear Bo,", "│ Around it:", "│   digest⟨6 spaces⟩0000", "│ ⟨U+0009⟩thanks", `│   "big": 9007199254740991`, `│       2.5,`} {
		if !strings.Contains(shown, want) {
			t.Errorf("show lacks %q:\n%s", want, shown)
		}
	}
	for _, line := range strings.Split(shown, "\n") {
		if strings.HasPrefix(line, "  digest") && !strings.Contains(line, in.Digest) {
			t.Errorf("a forged line: %q", line)
		}
	}
	if strings.Count(shown, "\nAround it:\n") != 1 {
		t.Errorf("a heading is forged:\n%s", shown)
	}
}

func TestWhatDoesNotShowItselfIsShownInTheInbox(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	const key, value = "می\u200cخ", "a\u00a0b" // the characters themselves, and no escapes
	in := s.record(t, `{"type":"send","title":"`+key+` p\u0430ypal","recipient":"billing@p\u0430ypal.example","labels":["`+key+`"],"data":{"`+key+`":"`+value+`"}}`)
	person, id := s.personIn(t, p), number(in.ID)
	shown := person.ok(t, "inbox", "show", id)
	for _, want := range []string{"title     │ می\u200cخ p\u0430ypal ⟨mixed scripts: U+0430⟩\n", "billing@p\u0430ypal.example ⟨mixed scripts: U+0430⟩\n",
		"“می⟨U+200C⟩خ”", `"می⟨U+200C⟩خ": "a⟨U+00A0⟩b"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("show lacks %q:\n%s", want, shown)
		}
	}
	for _, text := range []string{person.ok(t, "inbox", "show", id, "--json"), person.with("EDITOR=sh -c 'cat $0; sed -i s/a.u00a0b/c/ $0'").ok(t, "inbox", "edit", id)} {
		if !strings.Contains(text, `"می\u200cخ": "a\u00a0b"`) {
			t.Errorf("the JSON lacks the escapes:\n%s", text)
		}
	}
}

func TestTheInboxIsQuietAboutOtherDatabases(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.run(t, "inbox", "--dir", "elsewhere").refused(t, 1, "there is no database in elsewhere", "--dir")
	if r := p.run(t, "inbox", "--limit", "0"); r.code != 2 {
		t.Errorf("--limit 0 exits %d", r.code)
	}
}
