package powers_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

func TestProbe(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	s, err := powers.New(w.Operator)
	if err != nil {
		t.Fatal(err)
	}
	c := powers.Caller{Principal: w.Agent, Face: powers.FaceMCP, RequestID: "r1"}
	a := s.Call(context.Background(), c, "operator_record_action_intent", []byte(`{"actor":[1,{"x":2}],"action":{"type":"spend","title":"Annual plan renewal","amount_cents":4900}}`))
	t.Logf("%d %s", a.Status, a.JSON)
	for _, raw := range []string{`{"id":1,"status":"approved"}`, `{"id":1,"status":"approved"}`, `{"id":1,"status":"approved"}`, `{"id":"1","status":"cancelled"}`} {
		a = s.Call(context.Background(), c, "operator_update_action_intent", []byte(raw))
		t.Logf("%d %s", a.Status, a.JSON)
	}
	for _, tool := range s.Tools() {
		var m map[string]any
		if err := json.Unmarshal(tool.InputSchema, &m); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %s", tool.Name, tool.InputSchema)
	}
}
