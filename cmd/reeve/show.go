package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// showIntent prints one intent whole: every field of what would be carried out,
// then what the policy said and who did what.
func showIntent(w io.Writer, now time.Time, in operator.Intent) { newPage(w).intent(now, in) }

func (p *page) intent(now time.Time, in operator.Intent) {
	p.say("Intent %d is %s.", in.ID, in.Status)
	p.say("")
	p.say("What would be carried out:")
	p.payload(in)
	p.say("")
	p.say("What the policy says: %s", in.PolicyDecision)
	for i, reason := range in.PolicyReasons {
		if i < len(in.PolicyRules) {
			reason = in.PolicyRules[i] + ": " + reason
		}
		p.behind(margin, margin, p.broken([]string{reason}, prose()))
	}
	p.say("")
	p.say("Around it:")
	p.history(now, in)
	for _, r := range in.Responses {
		p.say("")
		p.say("An answer:")
		p.fieldf("by", "%s", r.By)
		p.fieldf("at", "%s", moment(r.At))
		p.text("text", r.Text, prose())
	}
}

// payload prints every field of the action. What is empty is left out: absent
// and empty are the same thing.
func (p *page) payload(in operator.Intent) {
	a := actionOf(in)
	p.field("type", a.Type, exactly())
	p.field("title", a.Title, prose().watched())
	p.field("recipient", a.Recipient, exactly().watched())
	if a.AmountCents != nil {
		p.fieldf("amount", "%s", amountOf(in))
	}
	p.list("labels", a.Labels)
	p.list("tainted by", a.TaintedBy)
	if a.Body != "" {
		p.text("body, "+counted(utf8.RuneCountInString(a.Body), "character"), a.Body, prose().watched())
	}
	if len(a.Data) > 0 {
		p.data("data", a.Data)
	}
}

// actionOf is what the digest stands for: the payload, wherever one was asked for.
func actionOf(in operator.Intent) gate.Action {
	if in.Payload != nil {
		return *in.Payload
	}
	a := gate.Action{Type: in.ActionType, Title: in.Title}
	if in.Recipient != nil {
		a.Recipient = *in.Recipient
	}
	return a
}

func (p *page) history(now time.Time, in operator.Intent) {
	p.fieldf("recorded", "by %s at %s", in.RecordedBy, moment(in.CreatedAt))
	if in.ExpiresAt != nil {
		p.fieldf("expires", "in %s, at %s", expiresIn(in, now), moment(*in.ExpiresAt))
	}
	if in.Quorum > 1 {
		p.fieldf("quorum", "%d different people have to approve", in.Quorum)
	}
	if in.DecidedBy != nil && in.DecidedAt != nil {
		p.fieldf("decided", "by %s at %s", *in.DecidedBy, moment(*in.DecidedAt))
	}
	if in.SettledBy != nil && in.SettledAt != nil {
		p.fieldf("settled", "by %s at %s", *in.SettledBy, moment(*in.SettledAt))
	}
	p.relatives(in)
	if in.Outcome != nil {
		p.text("outcome", *in.Outcome, prose())
	}
	p.field("policy", in.PolicyVersion, exactly())
	p.field("digest", in.Digest, exactly())
}

// relatives names the intents that came before and after this one.
func (p *page) relatives(in operator.Intent) {
	for _, other := range []struct {
		name, words string
		id          *int64
	}{{"reissues", "", in.Reissues}, {"reissued", "as ", in.ReissuedAs}, {"supersedes", "", in.Supersedes}, {"superseded", "by ", in.SupersededBy}} {
		if other.id != nil {
			p.fieldf(other.name, "%sintent %d", other.words, *other.id)
		}
	}
}

// deciding repeats what a decision is about, to stand right above the question
// whatever of the display has scrolled away. The recipient may take several rows;
// what stands below it does not.
func (p *page) deciding(in operator.Intent) {
	if p.rows >= p.height {
		p.say("The display above has %s, this screen has %d: scroll back to read it all.", counted(p.rows, "row"), p.height)
		p.say("")
	}
	a := actionOf(in)
	p.say("In short, intent %d:", in.ID)
	p.field("type", a.Type, exactly())
	p.field("recipient", orDash(&a.Recipient), exactly().watched())
	p.fieldf("amount", "%s", amountOf(in))
	p.field("digest", in.Digest, exactly())
}

// list shows where each entry begins and ends.
func (p *page) list(name string, entries []string) {
	var value []cluster
	for i, entry := range entries {
		if i > 0 {
			value = append(value, cluster{",", 1}, cluster{" ", 1})
		}
		// In an entry a quotation mark of ours would end it, so it is escaped.
		entry = strings.NewReplacer(`\`, `\\`, `”`, `\”`).Replace(entry)
		value = append(value, cluster{"“", 1})
		value = append(value, visible(entry, exactly().watched())...)
		value = append(value, cluster{"”", 1})
	}
	if len(value) > 0 {
		p.clusters(name, value)
	}
}

// amountOf is the amount as people write it and as it is stored, or a dash.
func amountOf(in operator.Intent) string {
	if in.AmountCents == nil {
		return "-"
	}
	return fmt.Sprintf("%s (%d minor units)", moneyOf(in), *in.AmountCents)
}

// field prints one line of ours, unless there is nothing to say.
func field(w io.Writer, name, value string) {
	if value != "" {
		fmt.Fprintf(w, "  %-11s %s\n", name, value)
	}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
