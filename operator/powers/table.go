package powers

import (
	"reflect"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// callers are the kinds that work: everybody but a channel, which calls no tool.
var callers = []operator.Kind{operator.KindAgent, operator.KindHuman, operator.KindWorker}

// stateTool is what shows how things stand.
const stateTool = "operator_state"

// describedTypes describes the types that read themselves from JSON.
var describedTypes = map[reflect.Type]map[string]any{
	reflect.TypeFor[gate.Cents](): {"type": "integer", "minimum": 1, "maximum": int64(gate.MaxCents)},
}

// product is every group of rows that the product serves.
func product() []Group { return []Group{operatorTools(), approvalTools()} }

// operatorTools is the operator's own toolset, in declaration order.
func operatorTools() Group {
	return Group{Toolset: ToolsetOperator, Tools: []Tool{
		define(Spec{
			Name: stateTool, Class: Read, Primitive: Board, Rereads: true, Idempotent: true,
			Kinds: callers, Scopes: []operator.Scope{operator.ScopeStateRead},
			Routes: []Route{
				{Method: "GET", Path: "/v1/state"},
				{Method: "GET", Path: "/v1/intents", part: partly(intentsOf)},
				{Method: "GET", Path: "/v1/intents/{id}", Rename: map[string]string{"id": "intent_id", "wait": "wait_seconds"}, part: partly(intentOf)},
			},
			Title: "Look at the state",
			What: "Shows what stands in this project, newest first: tasks, decisions, the record, intents and runs. " +
				"Use it to see what became of an intent: give intent_id, and wait_seconds to wait for a person's decision. " +
				"Do not call it in a tight loop; wait instead. Changes nothing.",
		}, (*operator.Operator).State),

		define(Spec{
			Name: "operator_update_decision", Class: Write, Primitive: Board, Idempotent: true,
			Instead: []Instead{{stateTool, "It shows the decisions as they are now."}},
			Kinds:   callers, Scopes: []operator.Scope{operator.ScopeDecisionsWrite},
			Routes: []Route{{Method: "PATCH", Path: "/v1/decisions/{id}"}},
			Title:  "Move a decision of the board",
			What: "Sets a decision of the board to pending, rejected or parked. " +
				"Use it to tidy questions that wait for a choice. It cannot approve, and it leaves a decision alone that records " +
				"what a person decided about an intent. Answers the decision as it is now.",
		}, (*operator.Operator).UpdateDecision),

		define(Spec{
			Name: "operator_record_action_intent", Class: Gate, Primitive: Intents, Idempotent: true,
			Instead: []Instead{{stateTool, "It shows what was recorded before, and what became of it."}},
			Kinds:   callers, Scopes: []operator.Scope{operator.ScopeIntentsWrite},
			Routes: []Route{{Method: "POST", Path: "/v1/intents"}},
			Title:  "Record an action intent",
			What: "Records something that you want done, and does not do it. " +
				"Use it for whatever reaches outside: spending, sending, publishing, deleting, deploying. A policy judges it at once; where the answer says pending_approval a person decides elsewhere, " +
				"and you can wait with the state tool. The same action again today answers the same row with created false, so " +
				"calling twice is safe; what was rejected or failed stays so today, and only a person can give it another chance. Not for notes or research that stay inside. Answers the intent and the policy's reasons.",
		}, (*operator.Operator).RecordIntent),

		define(Spec{
			Name: "operator_update_action_intent", Class: Write, Primitive: Intents, Idempotent: true, Destructive: true,
			Instead: []Instead{{stateTool, "It shows where the intent stands now."}},
			Kinds:   callers, Scopes: []operator.Scope{operator.ScopeIntentsWrite},
			Routes: []Route{{Method: "PATCH", Path: "/v1/intents/{id}"}},
			Title:  "Withdraw or report an intent",
			What: "Moves an intent along. Use it to withdraw one that you recorded and nobody has claimed yet, with cancelled; or to report " +
				"one whose lease you hold, with succeeded or failed and its fencing_token. It never approves, in any spelling, and nothing leaves a " +
				"final status. Answers the intent as it is now.",
		}, (*operator.Operator).UpdateIntent),
	}}
}

// intentOf answers the bare intent where one was asked for by its own address.
// Without the id in the arguments the state is a list, and no row of a list may
// pass for the one that was asked for.
func intentOf(s operator.State) (operator.Intent, error) {
	if len(s.Intents) != 1 || s.Intents[0].Payload == nil {
		return operator.Intent{}, core.Refuse(core.ReasonMissingField, "This address shows one intent: give intent_id.").With("field", "intent_id")
	}
	return s.Intents[0], nil
}

// IntentPage is a list of intents by itself.
type IntentPage struct {
	Intents    []operator.Intent `json:"intents"`
	NextCursor *string           `json:"next_cursor"`
}

func intentsOf(s operator.State) (IntentPage, error) {
	if !s.MoreIntents() {
		s.NextCursor = nil // what goes on are the other lists
	}
	return IntentPage{s.Intents, s.NextCursor}, nil
}
