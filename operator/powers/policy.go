package powers

import (
	"context"

	"github.com/reeve-go/reeve/operator"
)

// policyActs is what people do about the account's policy. Loading one reads through
// what was recorded before it writes, which is more than one transaction.
func policyActs() []Act {
	show := func(op *operator.Operator, ctx context.Context, p operator.Person, _ nothing) (operator.PolicyInfo, error) {
		return op.ShowPolicy(ctx, p)
	}
	return []Act{
		byPerson(ActSpec{Name: "show_policy", Title: "Show the policy", What: "Shows the policy that holds, who loaded it, and what they accepted.",
			Method: "GET", Path: "/v1/policy", Scopes: []operator.Scope{operator.ScopeStateRead}}, show),
		byPerson(ActSpec{Name: "set_policy", Title: "Set the policy", What: "Loads a policy for the account, from the next judgement on. What it loosens has to be accepted by id: the rule or the cap, and each denial on record that it would not make. For an owner.",
			Method: "PUT", Path: "/v1/policy", Scopes: []operator.Scope{operator.ScopePolicyWrite}, Steps: true}, (*operator.Operator).ChangePolicy),
		byPerson(ActSpec{Name: "explain_policy", Title: "Explain the policy", What: "Says what would become of an action, and what part every rule has in that. Nothing is recorded.",
			Method: "POST", Path: "/v1/policy/explain", Scopes: []operator.Scope{operator.ScopeStateRead}}, (*operator.Operator).ExplainPolicy),
	}
}
