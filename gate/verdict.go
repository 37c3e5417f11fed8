package gate

import "slices"

// Verdict is the judgement of an action: what holds, and every reason for it.
type Verdict struct {
	// Effect is what holds. The zero Verdict denies.
	Effect Effect `json:"effect"`
	// Reasons holds every matching rule in rule order, standing approvals last.
	Reasons []Reason `json:"reasons"`
	// Approval is what approving takes, where Effect is [RequiresApproval].
	Approval Approval `json:"approval,omitzero"`
	// Budgets are the windows that the amount must be reserved in.
	Budgets []Budget `json:"budgets,omitzero"`
	// Passed are the caps and budgets that the amount would pass, where that is
	// what denies it. A currency that no cap names passes none, and is denied too.
	Passed []Budget `json:"passed,omitzero"`
	// Exhausted names allow rules that would match, had they not used up their
	// budget. They are no reasons, and explain to a person why they are asked.
	Exhausted []string `json:"exhausted,omitzero"`
	// Notify names who is told, without repeats.
	Notify []string `json:"notify,omitzero"`
	// PolicyVersion is [Policy.Version] of the policy that judged.
	PolicyVersion string `json:"policy_version"`
}

// Reason is one matching rule.
type Reason struct {
	// Rule is the id of the rule, or one of the words of the gate itself:
	// "no-policy", "no-rule", "budget", "approvers".
	Rule string `json:"rule"`
	// Effect is what this rule says by itself.
	Effect Effect `json:"effect"`
	// Text is the sentence of the rule.
	Text string `json:"text"`
	// StoodInFor lists the matching rules that this allow took the place of.
	StoodInFor []string `json:"stood_in_for,omitzero"`
	// Pos is where the rule stands in its file.
	Pos Pos `json:"-"`
}

// Reasons that no rule of a policy gives.
const (
	ReasonNoPolicy  = "no-policy" // there is no policy to judge by
	ReasonNoRule    = "no-rule"   // no rule matches
	ReasonBudget    = "budget"    // a budget is passed and no rule of the policy says so
	ReasonApprovers = "approvers" // the rules ask for people that cannot exist together
)

// Matched reports whether the rule with this id is among the reasons.
func (v Verdict) Matched(rule string) bool {
	return slices.ContainsFunc(v.Reasons, func(r Reason) bool { return r.Rule == rule })
}

// Texts returns the sentences of the reasons, in order.
func (v Verdict) Texts() []string {
	out := make([]string, len(v.Reasons))
	for i, r := range v.Reasons {
		out[i] = r.Text
	}
	return out
}
