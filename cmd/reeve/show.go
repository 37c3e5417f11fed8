package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// margin stands before every line that the agent wrote, so that none of them can
// pass for a line of ours.
const margin = "    │ "

// showIntent prints one intent whole: every field of what would be carried out,
// then what the policy said and who did what.
func showIntent(w io.Writer, now time.Time, in operator.Intent) {
	fmt.Fprintf(w, "Intent %d is %s.\n\n", in.ID, in.Status)
	fmt.Fprintln(w, "What would be carried out:")
	showPayload(w, in)
	fmt.Fprintln(w, "\nWhat the policy says:", in.PolicyDecision)
	for i, reason := range in.PolicyReasons {
		rule := ""
		if i < len(in.PolicyRules) {
			rule = visibleLine(in.PolicyRules[i]) + ": "
		}
		fmt.Fprintf(w, "    %s%s\n", rule, visibleLine(reason))
	}
	fmt.Fprintln(w, "\nAround it:")
	showHistory(w, now, in)
	for _, r := range in.Responses {
		fmt.Fprintf(w, "\n%s answered at %s:\n%s%s\n", visibleLine(r.By), moment(r.At), margin, visibleText(r.Text, margin))
	}
}

// showPayload prints every field of the action. What is empty is left out: absent
// and empty are the same thing.
func showPayload(w io.Writer, in operator.Intent) {
	a := in.Payload
	if a == nil {
		a = &gate.Action{Type: in.ActionType, Title: in.Title}
	}
	field(w, "type", visibleLine(a.Type))
	field(w, "title", visibleLine(a.Title))
	field(w, "recipient", visibleLine(a.Recipient))
	if a.AmountCents != nil {
		field(w, "amount", fmt.Sprintf("%s (%d minor units)", moneyOf(in), int64(*a.AmountCents)))
	}
	field(w, "labels", quoted(a.Labels))
	field(w, "tainted by", quoted(a.TaintedBy))
	if a.Body != "" {
		fmt.Fprintf(w, "  body, %d characters:\n%s%s\n", len([]rune(a.Body)), margin, visibleText(a.Body, margin))
	}
	if len(a.Data) > 0 {
		fmt.Fprintf(w, "  data:\n%s%s\n", margin, visibleText(pretty(a.Data), margin))
	}
}

func showHistory(w io.Writer, now time.Time, in operator.Intent) {
	field(w, "recorded", fmt.Sprintf("by %s at %s", visibleLine(in.RecordedBy), moment(in.CreatedAt)))
	if in.ExpiresAt != nil {
		field(w, "expires", fmt.Sprintf("in %s, at %s", expiresIn(in, now), moment(*in.ExpiresAt)))
	}
	if in.Quorum > 1 {
		field(w, "quorum", fmt.Sprintf("%d different people have to approve", in.Quorum))
	}
	if in.DecidedBy != nil && in.DecidedAt != nil {
		field(w, "decided", fmt.Sprintf("by %s at %s", visibleLine(*in.DecidedBy), moment(*in.DecidedAt)))
	}
	if in.SettledBy != nil && in.SettledAt != nil {
		field(w, "settled", fmt.Sprintf("by %s at %s", visibleLine(*in.SettledBy), moment(*in.SettledAt)))
	}
	if in.Reissues != nil {
		field(w, "reissues", fmt.Sprintf("intent %d", *in.Reissues))
	}
	if in.ReissuedAs != nil {
		field(w, "reissued", fmt.Sprintf("as intent %d", *in.ReissuedAs))
	}
	if in.Supersedes != nil {
		field(w, "supersedes", fmt.Sprintf("intent %d", *in.Supersedes))
	}
	if in.SupersededBy != nil {
		field(w, "superseded", fmt.Sprintf("by intent %d", *in.SupersededBy))
	}
	if in.Outcome != nil {
		fmt.Fprintf(w, "  outcome:\n%s%s\n", margin, visibleText(*in.Outcome, margin))
	}
	field(w, "policy", visibleLine(in.PolicyVersion))
	field(w, "digest", visibleLine(in.Digest))
}

// field prints one line, unless there is nothing to say.
func field(w io.Writer, name, value string) {
	if value != "" {
		fmt.Fprintf(w, "  %-11s %s\n", name, value)
	}
}

// quoted shows where each entry of a list begins and ends.
func quoted(list []string) string {
	out := make([]string, len(list))
	for i, entry := range list {
		out[i] = "“" + visibleLine(entry) + "”"
	}
	return strings.Join(out, ", ")
}

// pretty indents JSON and changes nothing else of it.
func pretty(data jsontext.Value) string {
	v := data.Clone()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(data)
	}
	return string(v)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
