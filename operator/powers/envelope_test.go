package powers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// refuse is what an adapter does to refuse something itself.
func (w *world) refuse(c powers.Caller, action string, err error) reply {
	w.t.Helper()
	return read(w.t, w.Schedule.Refuse(w.t.Context(), c, action, err))
}

func TestEveryReasonIsAnEnvelope(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		agent, blind := w.full(operator.KindAgent), w.as(operator.KindAgent)
		for _, info := range core.Reasons() {
			for name, c := range map[string]powers.Caller{"nobody": {Face: powers.FaceMCP}, "an agent": agent, "an agent without scopes": blind} {
				n := w.lines()
				r := w.refuse(c, "test_action", core.Refuse(info.Reason, "Because of %s.", info.Reason).With("n", 1))
				want := line{account: fmt.Sprint(c.Principal.AccountID()), principal: c.Principal.ID(), kind: string(c.Principal.Kind()), via: string(c.Face),
					action: "test_action", verdict: string(info.Verdict), reason: string(info.Reason), layer: string(info.Layer), requestID: c.RequestID}
				if got := w.since(n); len(got) != 1 || got[0] != want {
					t.Errorf("%s for %s: the record says %+v", info.Reason, name, got)
				}
				if r.env.Reason != string(info.Reason) || r.env.Layer != string(info.Layer) || r.env.Verdict != string(info.Verdict) ||
					r.Status != info.Status || r.env.Error.Code != info.Code || r.env.Error.Details["n"] != float64(1) {
					t.Errorf("%s for %s: %s", info.Reason, name, r.JSON)
				}
				w.namesWhatWorks(t, r, c)
			}
		}
	})
}

// namesWhatWorks holds every tool that an envelope names to what this caller sees.
func (w *world) namesWhatWorks(t *testing.T, r reply, c powers.Caller) {
	t.Helper()
	works := func(name string) bool {
		return slices.ContainsFunc(w.Visible(c.Principal, c.Face), func(tool *powers.Tool) bool { return c.ToolPrefix+tool.Name == name })
	}
	for _, s := range r.env.Recovery {
		if s.Kind == "re_read" && s.Tool == "" || s.Tool != "" && !works(s.Tool) {
			t.Errorf("%s: it sends %s to %q", r.env.Reason, c.Principal.ID(), s.Tool)
		}
		if slices.Contains([]string{"request_scope", "escalate_to_human"}, s.Kind) && s.HumanAction == "" {
			t.Errorf("%s: what should a person do?", r.env.Reason)
		}
	}
	for _, a := range r.env.Alternatives {
		if !works(a.Tool) || a.Why == "" {
			t.Errorf("%s: the alternative %+v is none", r.env.Reason, a)
		}
	}
}

func TestEveryReasonIsOneSnakeCaseWordInOneLayer(t *testing.T) {
	seen := map[core.Reason]bool{}
	for _, info := range core.Reasons() {
		if !word.MatchString(string(info.Reason)) || seen[info.Reason] {
			t.Errorf("%q is no word, or stands twice", info.Reason)
		}
		seen[info.Reason] = true
		if info.Layer == core.LayerCredential && info.Status != 401 && info.Status != 403 && info.Status != 429 || info.Layer == core.LayerStore && info.Status != 503 {
			t.Errorf("%s: status %d in layer %s", info.Reason, info.Status, info.Layer)
		}
	}
}

func TestARaceMayBeRetriedAndIsNoError(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	r := w.refuse(w.full(operator.KindAgent), "test_action", core.Refuse(core.ReasonVersionRace, "Another write came first.").With("version", 7))
	if !r.env.Retry || r.env.OK || !r.env.Retryable || r.IsError || r.Status != 503 || r.env.Verdict != "unavailable" || r.env.Error.Details["version"] != float64(7) {
		t.Errorf("isError %v, status %d: %s", r.IsError, r.Status, r.JSON)
	}
	if !slices.Equal(keys(t, r.JSON), raceKeys) {
		t.Errorf("its keys are %v", keys(t, r.JSON))
	}
}

func TestAReasonThatNobodyListedIsAFaultOfOurs(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	r := w.refuse(w.full(operator.KindAgent), "test_action", core.Refuse("made_up", "It was made up."))
	if r.env.Reason != "internal_error" || r.Status != 503 || !r.IsError {
		t.Errorf("%s", r.JSON)
	}
}

func TestAnEnvelopeIsWholeWhateverIsInTheRefusal(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c := w.full(operator.KindAgent)
	for name, err := range map[string]error{
		"a detail that has no JSON":          core.Refuse(core.ReasonNotFound, "No.").With("f", make(chan int)),
		"a detail that is a function":        core.Refuse(core.ReasonNotFound, "No.").With("f", func() {}),
		"a detail that is not UTF-8":         core.Refuse(core.ReasonNotFound, "No.").With("f", "\xff"),
		"a detail that is null":              core.Refuse(core.ReasonNotFound, "No.").With("f", nil),
		"a message that is not UTF-8":        core.Refuse(core.ReasonNotFound, "No \xff."),
		"a message that steers a terminal":   core.Refuse(core.ReasonNotFound, "No \x1b[2J\u202e\u0000."),
		"a message of a megabyte":            core.Refuse(core.ReasonNotFound, "%s", strings.Repeat("é", 1<<19)),
		"no message":                         &core.Refusal{Reason: core.ReasonNotFound},
		"a refusal within an error":          fmt.Errorf("deep inside: %w", core.Refuse(core.ReasonNotFound, "No.")),
		"an outage that wraps a secret":      errors.New("dial postgres://u:hunter2@db/x"),
		"a refusal caused by a secret":       core.Refuse(core.ReasonNotFound, "No.").Because(errors.New("postgres://u:hunter2@db/x")),
		"a step of the refusal's own":        &core.Refusal{Reason: core.ReasonNotFound, Message: "No.", Recovery: []core.Step{{Kind: core.StepReRead, Change: "Look.", Tool: w.looking().Name}}},
		"a step that is not UTF-8":           &core.Refusal{Reason: core.ReasonNotFound, Message: "No.", Recovery: []core.Step{{Kind: core.StepEscalateToHuman, Change: "Tell \xff."}}},
		"faults whose place is a megabyte":   core.Refuse(core.ReasonNotFound, "No.").With("faults", []operator.Fault{{Field: strings.Repeat("x", 1<<20), Message: strings.Repeat("y", 1<<20)}}),
		"faults whose words steer terminals": core.Refuse(core.ReasonNotFound, "No.").With("faults", []operator.Fault{{Field: "a\u202e", Message: "b\x1b"}}),
	} {
		r := w.refuse(c, "test_action", err)
		if got := string(r.JSON); len(got) > 4000 || strings.Contains(got, "hunter2") || strings.ContainsAny(got, "\x1b\u202e\ufeff") || strings.Contains(got, "\\u001b") {
			t.Errorf("%s: %.4000s", name, got)
		}
	}
}

func TestAPrefixStandsBeforeEveryToolThatAnEnvelopeNames(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c := w.full(operator.KindAgent)
	c.ToolPrefix = "acme_"
	for _, tool := range w.Tools() {
		n := w.lines()
		r := w.call(c, tool, garbage)
		if r.env.Action != "acme_"+tool.Name || w.since(n)[0].action != tool.Name {
			t.Errorf("it is called %q there, and %q in the record", r.env.Action, w.since(n)[0].action)
		}
	}
	r := w.call(c, w.moving(), `{"id":99,"status":"cancelled"}`)
	r.wants(t, "not_found")
	if r.env.Recovery[0].Tool != "acme_"+w.looking().Name {
		t.Errorf("%s", r.JSON)
	}
	w.namesWhatWorks(t, r, c)
}

// What is of another project is exactly as absent as what never was.
func TestAnotherProjectsIntentIsAsAbsentAsOneThatNeverWas(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		if _, err := w.AddProject(t.Context(), "", "other"); err != nil {
			t.Fatal(err)
		}
		theirs := w.intent(w.full(operator.KindAgent))
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "elsewhere", Project: "other", Scopes: operator.Scopes()})
		c, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + m.Token}, Face: powers.FaceMCP})
		if refused != nil {
			t.Fatalf("%s", refused.JSON)
		}
		for _, try := range []struct {
			tool *powers.Tool
			raw  string
		}{
			{w.moving(), `{"id":%d,"status":"cancelled"}`},
			{w.looking(), `{"intent_id":%d}`},
			{w.looking(), `{"intent_id":%d,"wait_seconds":60}`},
			{w.row("PATCH", "/v1/decisions/{id}"), `{"id":%d,"status":"parked"}`},
		} {
			never := w.call(c, try.tool, fmt.Sprintf(try.raw, 1<<40))
			there := w.call(c, try.tool, fmt.Sprintf(try.raw, theirs.ID))
			never.wants(t, "not_found")
			if string(there.JSON) != string(never.JSON) || there.Status != never.Status {
				t.Errorf("%s: they differ:\n%s\n%s", try.tool.Name, there.JSON, never.JSON)
			}
		}
	})
}

// Evidence is asked for, and is no error: whoever has it calls again.
func TestAskingForEvidenceIsNoError(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for n := 1; n <= 4; n++ {
		r := w.refuse(w.full(operator.KindAgent), "test_action", core.Refuse(core.ReasonEvidenceRequired, "Quote the person."))
		if r.env.Verdict != "attest" || r.IsError || r.Status != 428 || r.env.Retryable || r.env.Repeat != 1 || r.env.Recovery[0].Kind != "provide_evidence" {
			t.Errorf("%s", r.JSON)
		}
	}
}
