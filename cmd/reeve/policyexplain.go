package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

type policyExplainCmd struct {
	database  `embed:""`
	Policy    string    `placeholder:"FILE" help:"A policy file to judge by, in place of the policy that holds."`
	Principal string    `default:"agent:agent" placeholder:"NAME" help:"Who would ask; ${default} when left out."`
	At        time.Time `placeholder:"TIME" help:"When it would be, as 2026-03-03T22:30:00Z; now when left out."`
	Project   string    `placeholder:"NAME" help:"The project, for its standing approvals; default when left out."`
	All       bool      `help:"Every rule, also those that have nothing to do with it."`
	JSON      bool      `name:"json" help:"Print one JSON object and nothing else."`
	File      string    `arg:"" optional:"" placeholder:"ACTION.json" help:"The action as JSON; - or nothing reads it from the input."`
}

func (*policyExplainCmd) Help() string {
	return `    echo '{"type":"spend","title":"Ink","recipient":"shop@vendor.example","amount_cents":1500}' | reeve policy explain
    reeve policy explain --policy policy.yaml --all action.json

Nothing is recorded. Where there is a database, the account's zone, its own addresses, what is left of its budgets and its standing approvals have their part.`
}

func (e *policyExplainCmd) Run(k *kong.Context, c console) error {
	action, err := e.action(c)
	if err != nil {
		return err
	}
	in := operator.ExplainInput{Action: action, Principal: e.Principal, File: e.Policy}
	if !e.At.IsZero() {
		in.At = &e.At
	}
	policy := gate.DefaultPolicy()
	if e.Policy != "" {
		text, read, err := readPolicy(e.Policy)
		if err != nil {
			return err
		}
		in.Policy, policy = string(text), read
	}
	var out operator.PolicyExplanation
	known := false
	if err := e.ifThere(k, func(ctx context.Context, op *operator.Operator) error {
		out, err = op.ExplainAction(ctx, "", e.Project, in)
		known = err == nil
		return initialisedOrNot(err)
	}); err != nil {
		return err
	}
	if !known {
		if out, err = alone(policy, in); err != nil {
			return err
		}
	}
	if e.JSON {
		return printJSON(c.out, out)
	}
	if !known {
		fmt.Fprintln(c.out, "There is no database here, so it is judged as on a first day: the zone is UTC, an amount is in USD, nobody is inside,\nnothing is spent of any budget, and there are no standing approvals.")
	}
	return explanation(c.out, out, e.All)
}

// action reads the action: as it is, or within {"action": …} as it is recorded.
func (e *policyExplainCmd) action(c console) (gate.Action, error) {
	var action gate.Action
	name, from := "the input", io.Reader(c.in)
	if e.File != "" && e.File != "-" {
		f, err := os.Open(e.File)
		if err != nil {
			return action, fmt.Errorf("%s cannot be read: %w", e.File, cause(err))
		}
		defer f.Close()
		name, from = e.File, f
	}
	text, err := io.ReadAll(io.LimitReader(from, longestFile+1))
	if err != nil {
		return action, fmt.Errorf("%s cannot be read: %w", name, cause(err))
	}
	if len(text) > longestFile {
		return action, fmt.Errorf("%s is longer than an action can be", name)
	}
	var wrapped struct {
		Action *gate.Action `json:"action"`
	}
	if json.Unmarshal(text, &wrapped, json.RejectUnknownMembers(true)) == nil && wrapped.Action != nil {
		return *wrapped.Action, nil
	}
	if err := json.Unmarshal(text, &action, json.RejectUnknownMembers(true)); err != nil {
		return action, fmt.Errorf("%s is not an action as JSON: %w", name, err)
	}
	return action, nil
}

// longestFile bounds what is read as an action, in bytes.
const longestFile = 1 << 20

// alone judges without a database.
func alone(policy *gate.Policy, in operator.ExplainInput) (operator.PolicyExplanation, error) {
	if err := in.Action.Check(); err != nil {
		return operator.PolicyExplanation{}, err
	}
	a, err := in.Action.Restated("USD")
	if err != nil {
		return operator.PolicyExplanation{}, err
	}
	f := gate.Facts{Now: time.Now(), Zone: time.UTC, Currency: "USD", Principal: in.Principal}
	if in.At != nil {
		f.Now = *in.At
	}
	for _, b := range policy.Budgets() {
		f.Committed = append(f.Committed, gate.Commitment{Rule: b.Rule, Window: b.Window, Currency: b.Currency, Each: b.Each})
	}
	return operator.Explanation(policy.Explain(a, f)), nil
}

// explanation says the verdict, and then each rule's part in a line.
func explanation(w io.Writer, e operator.PolicyExplanation, all bool) error {
	fmt.Fprintln(w, verdictLine(e))
	width := 0
	shown := slices.DeleteFunc(slices.Clone(e.Rules), func(r operator.ExplainedRule) bool { return !all && !matters(r) })
	for _, r := range shown {
		width = max(width, len(r.Rule))
	}
	for _, r := range shown {
		fmt.Fprintf(w, "  %-*s  %s\n", width, r.Rule, visibleLine(partLine(r)))
	}
	for _, cap := range e.Caps {
		if all || cap.Passed || cap.State == string(gate.BudgetWithin) {
			fmt.Fprintf(w, "  %s\n", visibleLine("cap "+budgetLine(cap)))
		}
	}
	if left := len(e.Rules) - len(shown); left > 0 {
		fmt.Fprintf(w, "  %d more rules have nothing to do with it; --all shows them.\n", left)
	}
	_, err := fmt.Fprintf(w, "Judged by policy %s.\n", e.Version)
	return err
}

// verdictLine says what would become of it.
func verdictLine(e operator.PolicyExplanation) string {
	switch e.Verdict {
	case operator.ExplainedAllow:
		return "ALLOW: it would be carried out without asking anybody."
	case operator.ExplainedPark:
		who := "a person"
		if a := e.Approval; a != nil && a.Quorum > 1 {
			who = fmt.Sprintf("%d people", a.Quorum)
		}
		if a := e.Approval; a != nil && len(a.From) > 0 {
			who += " (" + strings.Join(a.From, " or ") + ")"
		}
		return "PARK: it would wait for " + who + "."
	}
	return "DENY: it would be refused."
}

// matters says that a rule has a part in the verdict, or would have had one but for a
// single condition other than its types.
func matters(r operator.ExplainedRule) bool {
	if r.Part != string(gate.PartNoMatch) {
		return true
	}
	near := append(slices.Clone(r.Failed), r.Undecided...)
	return len(near) == 1 && (near[0].Condition == "amount" || near[0].Condition == "recipients" || near[0].Condition == "hours" || near[0].Condition == "until" ||
		near[0].Condition == "principals" || near[0].Condition == "labels" || near[0].Missing != "")
}

func partLine(r operator.ExplainedRule) string {
	said := partWords[r.Part]
	if said == "" {
		said = r.Part
	}
	said = r.Effect + ", " + said
	if len(r.By) > 0 {
		said += " " + strings.Join(r.By, ", ")
	}
	if len(r.InsteadOf) > 0 {
		said += " in place of " + strings.Join(r.InsteadOf, ", ")
	}
	for _, c := range slices.Concat(r.Failed, r.Undecided) {
		said += "; " + c.Condition + ": it asks for " + c.Asks + ", and there is " + c.Has
		if c.Missing != "" {
			said += " (" + c.Missing + ")"
		}
	}
	if r.Budget != nil {
		said += "; budget " + budgetLine(*r.Budget)
	}
	if r.Part == string(gate.PartNoMatch) {
		return said
	}
	return said + ". " + r.Why
}

// partWords say a rule's part in words.
var partWords = map[string]string{
	string(gate.PartDecides):         "decides",
	string(gate.PartStandsIn):        "decides",
	string(gate.PartStoodInFor):      "answered by",
	string(gate.PartOutranked):       "outranked by",
	string(gate.PartBudgetUsedUp):    "silent: its budget has no room",
	string(gate.PartNothingToAnswer): "silent: nothing asks that it answers",
	string(gate.PartNoMatch):         "does not match",
}

func budgetLine(b operator.ExplainedBudget) string {
	said := sum(b.Max, b.Currency)
	if b.Window == "" {
		said += " for one act"
	} else {
		said += " a " + b.Window
	}
	if b.Each != "" {
		said += " for each " + b.Each
	}
	if b.Used != nil {
		said += ", " + sum(max(0, b.Max-*b.Used), b.Currency) + " left"
	}
	return said + ": " + strings.ReplaceAll(b.State, "_", " ")
}
