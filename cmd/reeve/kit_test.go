package main

import (
	"strings"
	"testing"
)

func TestTheKitIsShownAndSetBesideARunningServer(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	if r := p.run(t, "kit", "show"); r.code != 0 || !strings.Contains(r.out, "Kit Default") || !strings.Contains(r.out, "brain        off") || !strings.Contains(r.out, "board        on") {
		t.Fatalf("%+v", r)
	}
	s.record(t, `{"type":"spend","title":"Before","amount_cents":5}`)
	if r := p.run(t, "kit", "set", "intents=off", "brain=on", "operator_state=off", "--toolkit", "slack=off", "--name", "Narrow"); r.code != 0 ||
		!strings.Contains(r.out, "Kit Narrow") || !strings.Contains(r.out, "tool operator_state  off") || !strings.Contains(r.out, "toolkit slack        off") {
		t.Fatalf("%+v", r)
	}
	code, body := s.send(t, "POST", "/v1/intents", s.agent, `{"action":{"type":"spend","title":"After","amount_cents":5}}`)
	if code != 403 || !strings.Contains(string(body), "primitive_disabled_by_kit") {
		t.Errorf("%d %s", code, body)
	}
	if r := p.run(t, "kit", "set", "intents=on"); r.code != 0 || !strings.Contains(r.out, "brain                on") {
		t.Errorf("what was not named did not stay: %+v", r)
	}
	s.record(t, `{"type":"spend","title":"After","amount_cents":5}`)
}

func TestAKitCommandThatMakesNoSenseIsRefused(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.serve(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "say what to change"},
		{[]string{"brain"}, 2, "NAME=on or NAME=off"},
		{[]string{"brain=maybe"}, 2, "NAME=on or NAME=off"},
		{[]string{"brain=on", "brain=off"}, 2, "named twice"},
		{[]string{"telepathy=on"}, 1, "operator_state"},
		{[]string{"--toolkit", "Not One=on"}, 1, "toolkits"},
	} {
		if r := p.run(t, append([]string{"kit", "set"}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.says) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}

func TestAToolsetThatThereIsNotStopsTheServer(t *testing.T) {
	p := newPlace(t, "sqlite")
	if r := p.run(t, "serve", "--toolsets", "pipeline"); r.code != 2 || !strings.Contains(r.err, "operator") {
		t.Errorf("%+v", r)
	}
}
