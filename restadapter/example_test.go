package restadapter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
	"github.com/reeve-go/reeve/restadapter"
)

// A service of one's own serves the schedule beside its other routes. Here an
// agent records what it wants, and is told that a person decides.
func Example() {
	dir, err := os.MkdirTemp("", "reeve")
	must(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()
	op, err := operator.OpenDir(ctx, dir, nil)
	must(err)
	defer op.Close()
	schedule, err := powers.New(op)
	must(err)
	first, _, err := op.Install(ctx, operator.Initial{
		AgentScopes: schedule.AgentScopes(powers.ToolsetOperator),
		OwnerScopes: schedule.OwnerScopes(),
	})
	must(err)

	handler, err := restadapter.New(schedule, &restadapter.Options{Ready: op.Ping})
	must(err)
	server := httptest.NewServer(handler) // in earnest: restadapter.Server(addr, handler)
	defer server.Close()

	body := bytes.NewBufferString(`{"action":{"type":"spend","title":"Annual plan renewal","amount_cents":4900}}`)
	request, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/intents", body)
	must(err)
	request.Header.Set("Authorization", "Bearer "+first.Agent.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(err)
	defer response.Body.Close()
	var intent struct {
		Status         string   `json:"status"`
		PolicyDecision string   `json:"policy_decision"`
		Affordances    []string `json:"affordances"`
	}
	must(json.NewDecoder(response.Body).Decode(&intent))
	fmt.Println(response.StatusCode, intent.Status, intent.PolicyDecision, intent.Affordances)
	// Output: 201 pending_approval requires_approval [accept edit respond ignore]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
