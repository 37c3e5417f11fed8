package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestInitPrintsExactlyWhatAClientNeeds(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		r := p.run(t, "init", "--json", "--zone", "Europe/Madrid", "--currency", "EUR", "--inside", "own.example")
		if r.code != 0 || r.err != "" {
			t.Fatalf("exit %d: %s", r.code, r.err)
		}
		var got map[string]string
		decode(t, []byte(r.out), &got)
		want := []string{"account", "agent_token", "instance_id", "person_token", "project", "project_id", "resource", "url"}
		if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, want) {
			t.Errorf("the keys are %v", keys)
		}
		if got["url"] != "http://127.0.0.1:3401" || got["resource"] != "http://127.0.0.1:3401/mcp" || got["account"] != "default" || got["project"] != "default" {
			t.Errorf("it prints %v", got)
		}
		if !agentToken.MatchString(got["agent_token"]) || !personToken.MatchString(got["person_token"]) || len(got["instance_id"]) != 36 || len(got["project_id"]) != 36 {
			t.Error("the tokens or ids have another form")
		}

		second := p.run(t, "init", "--json")
		second.refused(t, 1, "initialised already")
		if second.out != "" {
			t.Errorf("a second init prints %s", second.out)
		}

		s := p.serve(t)
		if s.agent != "" {
			t.Error("serve made credentials again")
		}
		s.agent, s.person = got["agent_token"], got["person_token"]
		in := s.record(t, renewal)
		if shown := s.personIn(t, p).ok(t, "inbox", "show", number(in.ID)); !strings.Contains(shown, "49.00 EUR") {
			t.Errorf("the account's currency is not EUR:\n%s", shown)
		}
		if mail := s.record(t, `{"type":"send","title":"Note to self","recipient":"me@own.example","body":"x"}`); mail.Status == "denied" {
			t.Errorf("a message to the inside is %+v", mail)
		}
	})
}

func TestInitTellsAPersonHowToConnect(t *testing.T) {
	p := newPlace(t, "sqlite")
	out := p.ok(t, "init", "--listen", ":8080", "--dir", "my data")
	for _, want := range []string{"claude mcp add --transport http reeve http://127.0.0.1:8080/mcp --header \"Authorization: Bearer rv_agent_", "curl -s http://127.0.0.1:8080/mcp", "reeve inbox --dir 'my data'", "rv_human_"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	p.run(t, "init", "--dir", "my data").refused(t, 1, "initialised already")
}

func TestInitRefusesWhatIsNoAccount(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		say  string
	}{
		{"a zone that does not exist", []string{"--zone", "Europe/Atlantis"}, 1, "IANA"},
		{"a currency in small letters", []string{"--currency", "usd"}, 1, "ISO 4217"},
		{"no address", []string{"--listen", "x"}, 2, "--listen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, "sqlite")
			p.run(t, append([]string{"init", "--json"}, c.args...)...).refused(t, c.code, c.say)
			if r := p.run(t, "init", "--json"); r.code != 0 {
				t.Errorf("afterwards init fails: %s", r.err)
			}
		})
	}
}
