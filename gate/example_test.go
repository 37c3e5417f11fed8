package gate_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/reeve-go/reeve/gate"
)

// An agent wants to renew a plan. The default policy leaves that with a person.
func Example() {
	price := gate.Cents(4900)
	action := gate.Action{Type: "spend", Title: "Annual plan renewal", AmountCents: &price}
	if err := action.Check(); err != nil {
		fmt.Println(err)
		return
	}
	verdict := gate.DefaultPolicy().Evaluate(action, gate.Facts{Now: time.Now(), Zone: time.UTC, Currency: "USD"})
	fmt.Println(verdict.Effect)
	for _, reason := range verdict.Reasons {
		fmt.Printf("%s: %s\n", reason.Rule, reason.Text)
	}
	// Output:
	// requires_approval
	// spending: Spending money, or promising to, needs a person.
}

// A policy of one's own extends the default one. An allow stands in for the
// rules that it names, and for no other.
func ExampleLoadPolicy() {
	policy, err := gate.LoadPolicy("policy.yaml", []byte(`
version: 1
extends: default
rules:
  - id: coffee
    match: {types: [spend], recipients: ["domain:coffee.example"], amount: {currency: EUR, max: 1000}}
    effect: allow
    instead_of: [spending]
    reason: Coffee up to ten euros is settled.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, amount := range []string{"4.50 EUR", "45.00 EUR"} {
		action := gate.Action{Type: "spend", Title: "Coffee", Recipient: "shop@coffee.example", Amount: amount}
		fmt.Println(amount, policy.Decide(action, gate.Facts{}))
	}
	// Output:
	// 4.50 EUR allow
	// 45.00 EUR requires_approval
}

// A fault in a policy is reported with its place, and can be taken apart.
func ExamplePolicyError() {
	_, err := gate.LoadPolicy("policy.yaml", []byte("version: 1\nrules:\n  - {id: a, match: {type: spend}, effect: deny, reason: No.}\n"))
	if fault, ok := errors.AsType[*gate.PolicyError](err); ok {
		fmt.Println(fault.File, fault.Line, fault.Rule)
	}
	// Output: policy.yaml 3 a
}

func ExampleKey() {
	price := gate.Cents(4900)
	fmt.Println(gate.Key(gate.Action{Type: "spend", Title: "Annual plan renewal", AmountCents: &price}))
	// Output: eda5f4d3e25d47e92b81a5a7d27064d1
}

func ExampleDigest() {
	digest, err := gate.Digest("default", "default", gate.Action{Type: "note", Title: "Buy milk"})
	fmt.Println(digest, err)
	// Output: 050d34b24ec3f4bacc5b47d18ffa9e24defc8117b9cfc3e65fd10b2b25fe419b <nil>
}

// An amount may be stated twice. The two statements must agree exactly.
func ExampleAction_Restated() {
	cents := gate.Cents(4900)
	action := gate.Action{Type: "spend", Title: "Seats", AmountCents: &cents, Amount: "490.00 USD"}
	_, err := action.Restated("USD")
	fmt.Println(err)
	fmt.Println(errors.Is(err, &gate.FieldError{Code: gate.CodeAmountMismatch}))
	// Output:
	// amount: amount states 49000 minor units of USD and amount_cents states 4900; make them agree (amount_mismatch)
	// true
}

func ExampleAction_Check() {
	err := gate.Action{Type: "Send", Title: "Hello\x00"}.Check()
	if all, ok := errors.AsType[gate.FieldErrors](err); ok {
		for _, fault := range all {
			fmt.Println(fault.Field, fault.Code)
		}
	}
	// Output:
	// type invalid_type
	// title text_unhygienic
}

func ExampleRedact() {
	fmt.Println(gate.Redact("the key is AKIAIOSFODNN7EXAMPLE, keep it"))
	// Output: the key is [redacted:aws], keep it
}

func ExampleCanMove() {
	fmt.Println(gate.CanMove(gate.StatusPendingApproval, gate.StatusApproved, gate.ByPerson))
	fmt.Println(gate.CanMove(gate.StatusPendingApproval, gate.StatusApproved, gate.ByRecorder))
	// Output:
	// true
	// false
}

// Explain says of every rule what part it had, and of what did not match, why.
func ExamplePolicy_Explain() {
	price := gate.Cents(4900)
	action := gate.Action{Type: "spend", Title: "Annual plan renewal", AmountCents: &price, Currency: "USD"}
	explanation := gate.DefaultPolicy().Explain(action, gate.Facts{Now: time.Now(), Zone: time.UTC, Currency: "USD"})
	fmt.Println(explanation.Verdict.Effect)
	for _, rule := range explanation.Rules[:3] {
		fmt.Println(rule.Rule, rule.Part)
		for _, c := range rule.Failed[:min(1, len(rule.Failed))] {
			fmt.Println("  ", c.Condition, "has", c.Has)
		}
	}
	// Output:
	// requires_approval
	// spending decides
	// messages no_match
	//    types has spend
	// publishing no_match
	//    types has spend
}

// What a new policy lets through that the old one did not, has to be answered for.
func ExampleLoosenings() {
	policy := func(most string) *gate.Policy {
		p, err := gate.LoadPolicy("policy.yaml", []byte(`
version: 1
extends: default
rules:
  - id: coffee
    match: {types: [spend], recipients: ["domain:coffee.example"], amount: {currency: EUR, max: `+most+`}}
    effect: allow
    instead_of: [spending]
    reason: Coffee is settled.
`))
		if err != nil {
			panic(err)
		}
		return p
	}
	for _, l := range gate.Loosenings(policy("1000"), policy("1500")) {
		fmt.Println(l.ID, l.Kind)
		fmt.Println(l.What)
	}
	fmt.Println(len(gate.Loosenings(policy("1000"), policy("500"))))
	// Output:
	// coffee match_widened
	// Rule coffee: it allows more (amount at most 15.00 EUR, was at most 10.00 EUR).
	// 0
}

// A policy can be valid and still not say what its author meant.
func ExamplePolicy_Warnings() {
	policy, err := gate.LoadPolicy("policy.yaml", []byte(`
version: 1
extends: default
rules:
  - id: coffee
    match: {types: [spend], recipients: ["domain:coffee.example"], amount: {currency: EUR, max: 10}}
    effect: allow
    reason: Coffee up to 10 euros is settled.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, warning := range policy.Warnings() {
		fmt.Println(warning.Line, warning.Rule, warning.Code)
		fmt.Println(" ", warning.Message)
	}
	// Output:
	// 5 coffee never_decides
	//   the allow never decides, since rule spending asks a person whenever it matches; write instead_of: [spending] if it is meant to take its place
	// 5 coffee minor_units
	//   amount: max is 0.10 EUR; amounts are in minor units, so write 1000 for 10.00 EUR
}

// A policy can be written out whole, with the rules that it extends.
func ExamplePolicy_YAML() {
	policy, err := gate.LoadPolicy("policy.json", []byte(`{"version": 1, "rules": [
		{"id": "all", "match": {}, "effect": "requires_approval", "reason": "A person decides, always."}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(policy.YAML()))
	// Output:
	// version: 1
	// rules:
	//   - id: all
	//     match: {}
	//     effect: requires_approval
	//     reason: A person decides, always.
}
