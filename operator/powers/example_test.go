package powers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// An agent records an intent through the one tool of class gate, and is refused
// when it asks for a word that no tool takes.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "reeve-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	op, err := operator.OpenDir(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer op.Close()
	schedule, err := powers.New(op)
	if err != nil {
		log.Fatal(err)
	}
	first, _, err := op.Install(ctx, operator.Initial{AgentScopes: schedule.AgentScopes(powers.ToolsetOperator)})
	if err != nil {
		log.Fatal(err)
	}

	caller, refused := schedule.Authenticate(ctx, powers.Presented{
		Authorization: []string{"Bearer " + first.Agent.Token}, Face: powers.FaceLibrary, RequestID: "r1", Action: "example"})
	if refused != nil {
		log.Fatalf("%s", refused.JSON)
	}
	var record, move *powers.Tool
	for _, tool := range schedule.Visible(caller.Principal, caller.Face) {
		switch {
		case tool.Class == powers.Gate:
			record = tool
		case tool.Primitive == powers.Intents:
			move = tool
		}
	}

	answer := schedule.Call(ctx, caller, record.Name, []byte(`{"action": {"type": "spend", "title": "Annual plan renewal", "amount_cents": 4900}}`))
	var intent operator.Intent
	if err := json.Unmarshal(answer.JSON, &intent); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.OK, intent.Status, intent.Affordances)

	answer = schedule.Call(ctx, caller, move.Name, fmt.Appendf(nil, `{"id": %d, "status": "approved"}`, intent.ID))
	fmt.Println(answer.OK, answer.Status, answer.Reason)
	// Output:
	// true pending_approval [accept edit respond ignore]
	// false 400 invalid_status
}
