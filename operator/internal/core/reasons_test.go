package core_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// declared reads the constants of a type out of a file, so that one which was
// forgotten in a table is found.
func declared(t *testing.T, file, prefix string) []string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			word, _ := strconv.Unquote(lit.Value)
			out = append(out, word)
		}
		return true
	})
	if len(out) == 0 {
		t.Fatalf("no %s in %s: this test sees nothing", prefix, file)
	}
	return out
}

func TestEveryReasonStandsOnceInTheTableWithAllOfItsMeaning(t *testing.T) {
	layers := map[string]bool{}
	for _, l := range declared(t, "refusal.go", "Layer") {
		layers[l] = true
	}
	steps := map[string]bool{}
	for _, s := range declared(t, "refusal.go", "Step") {
		steps[s] = true
	}
	seen := map[core.Reason]int{}
	for _, r := range core.Reasons() {
		seen[r.Reason]++
		if !layers[string(r.Layer)] || !steps[string(r.Step)] || r.Code == "" || len(r.Hint) < 10 || !strings.HasSuffix(r.Hint, ".") {
			t.Errorf("%s: %+v", r.Reason, r)
		}
		if !regexp.MustCompile(`^[a-z][a-z_]*$`).MatchString(string(r.Reason)) {
			t.Errorf("%q is no snake_case word", r.Reason)
		}
		if strings.Contains(r.Hint, "reeve ") {
			t.Errorf("%s: the hint reads as a command: %s", r.Reason, r.Hint)
		}
		switch r.Verdict {
		case core.VerdictDeny:
			if r.Status < 400 || r.Status > 429 {
				t.Errorf("%s is a decision, and answers %d", r.Reason, r.Status)
			}
		case core.VerdictUnavailable:
			if r.Status != 503 || r.Step != core.StepRetryAfter {
				t.Errorf("%s is an outage, and answers %d with %s", r.Reason, r.Status, r.Step)
			}
		case core.VerdictPark:
			if r.Status != 202 || r.Step != core.StepWaitForApproval {
				t.Errorf("%s waits for a person, and answers %d with %s", r.Reason, r.Status, r.Step)
			}
		case core.VerdictAttest:
			if r.Status != 428 || r.Step != core.StepProvideEvidence {
				t.Errorf("%s wants evidence, and answers %d with %s", r.Reason, r.Status, r.Step)
			}
		default:
			t.Errorf("%s has the verdict %q", r.Reason, r.Verdict)
		}
	}
	all := declared(t, "reasons.go", "Reason")
	for _, word := range all {
		if seen[core.Reason(word)] != 1 {
			t.Errorf("%s stands %d times in the table", word, seen[core.Reason(word)])
		}
	}
	if len(all) != len(core.Reasons()) {
		t.Errorf("%d reasons, %d rows", len(all), len(core.Reasons()))
	}
}

func TestAForgottenReasonCanNeverReadAsPermission(t *testing.T) {
	for _, r := range []core.Reason{"", "ok", "done", "Not_found"} {
		info := r.Info()
		if info.Verdict != core.VerdictUnavailable || info.Status != 503 {
			t.Errorf("%q: %+v", r, info)
		}
	}
}

func TestARefusalIsTakenApartByItsReason(t *testing.T) {
	beneath := errors.New("the driver's words")
	r := core.Refuse(core.ReasonNotFound, "No intent %d.", 7).With("intent_id", int64(7)).Because(beneath)
	wrapped := fmt.Errorf("while looking: %w", r)
	if !errors.Is(wrapped, &core.Refusal{Reason: core.ReasonNotFound}) || errors.Is(wrapped, &core.Refusal{Reason: core.ReasonLapsed}) {
		t.Error("errors.Is does not go by the reason")
	}
	var got *core.Refusal
	if !errors.As(wrapped, &got) || got.Details["intent_id"] != int64(7) || !errors.Is(wrapped, beneath) {
		t.Errorf("%+v", got)
	}
	if strings.Contains(r.Error(), "driver") || r.Error() != "not_found: No intent 7." {
		t.Errorf("%q", r.Error())
	}
	if (&core.Refusal{Reason: core.ReasonLapsed}).Error() != "window_lapsed" {
		t.Error("a bare reason")
	}
}

func TestAnOutageSaysNothingOfWhatLayBeneath(t *testing.T) {
	beneath := errors.New("dial tcp 10.0.0.7: refused")
	out := core.Outage(beneath)
	if out.Reason != core.ReasonUnavailable || strings.Contains(out.Error(), "10.0.0.7") || !errors.Is(out, beneath) {
		t.Errorf("%v", out)
	}
	refusal := core.Refuse(core.ReasonNotFound, "x")
	if core.Outage(fmt.Errorf("w: %w", refusal)) != refusal {
		t.Error("a refusal became an outage")
	}
}

// The table of the contract: what a layer answers over HTTP.
func TestEveryReasonsStatusIsOneOfItsLayers(t *testing.T) {
	byLayer := map[core.Layer][]int{
		core.LayerCredential: {401, 403, 429}, // 403: a foreign page, whoever sends it
		core.LayerCompany:    {403},
		core.LayerScope:      {403, 404}, // 404: a tool that there is not
		core.LayerInput:      {400, 405, 408, 413, 415},
		core.LayerSpend:      {403},
		core.LayerPolicy:     {202, 403, 409, 428}, // 403: it says no; 409: not now; 428: evidence first
		core.LayerState:      {404, 409},
		core.LayerStore:      {503},
	}
	for _, r := range core.Reasons() {
		if !slices.Contains(byLayer[r.Layer], r.Status) {
			t.Errorf("%s is of layer %s and answers %d, which is none of %v", r.Reason, r.Layer, r.Status, byLayer[r.Layer])
		}
		switch r.Verdict {
		case core.VerdictUnavailable:
			if r.Status != 503 {
				t.Errorf("%s: an outage answers 503, not %d", r.Reason, r.Status)
			}
		case core.VerdictDeny:
			if r.Status < 400 || r.Status > 499 {
				t.Errorf("%s: a decision against somebody answers %d", r.Reason, r.Status)
			}
		}
	}
}
