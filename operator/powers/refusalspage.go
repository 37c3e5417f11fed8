package powers

import (
	"bytes"
	"fmt"

	"github.com/reeve-go/reeve/operator/internal/core"
)

const refusalsIntro = `# Refusals

` + generated + `
Whatever is refused, over MCP and over REST alike, is answered with one envelope. It has ` + "`ok: false`" + `, which no success has;
` + "`reason`" + ` is one of the words below, ` + "`message`" + ` one plain sentence, ` + "`error.details`" + ` what a program can act on, and ` + "`recovery`" + `
the steps that would change the outcome. Over REST it has the HTTP status of its reason, and is a problem of RFC 9457
where ` + "`Accept: application/problem+json`" + ` prefers one. A refusal is a row of the record; of what is
refused for coming too fast, one row a minute says how much it was.

` + "`repeat`" + ` counts identical refusals within 24 hours. From the third on, or the tenth for one reason with any arguments, the
one step that is offered is ` + "`escalate_to_human`" + `; outages are never counted.
`

// meanings says what the words of the envelope ask of a caller. A test holds it to
// the lists.
var meanings = map[string]string{
	string(core.VerdictDeny):        "a decision; the same call again cannot help",
	string(core.VerdictPark):        "a person must act; the call is kept, and their decision carries it out",
	string(core.VerdictAttest):      "evidence is required before this may go on",
	string(core.VerdictUnavailable): "an outage; the same call may succeed later",

	string(core.LayerCredential): "Who calls, and from where",
	string(core.LayerCompany):    "The account's kit",
	string(core.LayerScope):      "Kind, scope, role",
	string(core.LayerContext):    "The write context",
	string(core.LayerInput):      "The form of the call",
	string(core.LayerSpend):      "The locks on spending",
	string(core.LayerPolicy):     "The policy, and people's judgement",
	string(core.LayerState):      "How things stand",
	string(core.LayerStore):      "The store, and faults of reeve's own",

	string(core.StepRequestCapability): "have an owner turn it on in the account's kit",
	string(core.StepRequestToolkit):    "have an owner turn the toolkit on",
	string(core.StepRequestScope):      "have a person give a credential with the scope",
	string(core.StepRequestStart):      "have a person press Start: a spending grant that covers this",
	string(core.StepWaitForApproval):   "poll the approval that is named, until it lapses",
	string(core.StepWaitForDelivery):   "it is held, and is delivered when the far side is back",
	string(core.StepRetryAfter):        "wait so many seconds, and send the same call again",
	string(core.StepProvideEvidence):   "give the evidence that is asked for",
	string(core.StepReRead):            "look at it again with the tool that is named",
	string(core.StepCorrectArguments):  "correct what is named, and call again",
	string(core.StepEscalateToHuman):   "tell the person you work for, and stop",
}

func (t tables) refusalsPage() []byte {
	var b bytes.Buffer
	b.WriteString(refusalsIntro)
	writeWords(&b, "verdict", core.Verdicts())
	writeWords(&b, "recovery", core.StepKinds())
	for _, layer := range core.Layers() {
		t.writeLayer(&b, layer)
	}
	return b.Bytes()
}

func writeWords[W ~string](b *bytes.Buffer, head string, words []W) {
	fmt.Fprintf(b, "\n| %s | means |\n|---|---|\n", head)
	for _, w := range words {
		fmt.Fprintf(b, "| `%s` | %s |\n", w, meanings[string(w)])
	}
}

// writeLayer lists the reasons of one layer. One that has none is left out.
func (t tables) writeLayer(b *bytes.Buffer, layer core.Layer) {
	head := fmt.Sprintf("\n## %s: `%s`\n\n| reason | verdict | HTTP | `error.code` | what would change it | recovery |\n|---|---|---|---|---|---|\n", meanings[string(layer)], layer)
	for _, r := range t.reasons {
		if r.Layer == layer {
			fmt.Fprintf(b, "%s| `%s` | %s | %d | %s | %s | `%s` |\n", head, r.Reason, r.Verdict, r.Status, r.Code, r.Hint, r.Step)
			head = ""
		}
	}
}
