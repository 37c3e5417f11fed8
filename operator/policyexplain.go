package operator

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Explained is what would become of an action: the words of an explanation. They are
// neither a rule's effects nor the verdicts of a refusal, which are other types.
type Explained string

// What an explanation says.
const (
	ExplainedAllow Explained = "allow" // it would be carried out
	ExplainedDeny  Explained = "deny"  // it would be refused for good
	ExplainedPark  Explained = "park"  // it would wait for a person
)

// explained is the explanation's word for an effect. What is no effect denies.
func explained(e gate.Effect) Explained {
	switch e {
	case gate.Allow:
		return ExplainedAllow
	case gate.RequiresApproval:
		return ExplainedPark
	}
	return ExplainedDeny
}

// ExplainInput is an action that somebody wonders about.
type ExplainInput struct {
	Action    gate.Action `json:"action" validate:"required" doc:"The action, as it would be recorded."`
	Policy    string      `json:"policy,omitzero" doc:"Another policy file, whole, to judge by; the account's own when left out."`
	Principal string      `json:"principal,omitzero" validate:"max=80" doc:"Who would ask, as agent:main; whoever calls when left out."`
	At        *time.Time  `json:"at,omitempty" doc:"When it would be; now when left out."`

	File string `json:"-"` // the name of Policy, for messages
}

// PolicyExplanation is a verdict with the part that every rule had in it.
type PolicyExplanation struct {
	Verdict  Explained          `json:"verdict" doc:"allow: it would be carried out. park: it would wait for a person. deny: it would be refused."`
	Version  string             `json:"policy_version" doc:"The policy that it was judged by."`
	Texts    []string           `json:"policy_reasons" doc:"The sentence of every rule that matched."`
	Approval *ExplainedApproval `json:"approval" doc:"What approving it would take; null unless it would wait."`
	Rules    []ExplainedRule    `json:"rules" doc:"Every rule in the order of the policy, standing approvals last."`
	Caps     []ExplainedBudget  `json:"caps" doc:"Every cap of the policy."`
}

// ExplainedApproval is what approving takes.
type ExplainedApproval struct {
	Quorum  int      `json:"quorum" doc:"How many different people."`
	From    []string `json:"from" doc:"Of which roles; empty: any."`
	Seconds int64    `json:"expires_in_seconds" doc:"How long it would wait."`
}

// ExplainedRule is the part of one rule.
type ExplainedRule struct {
	Rule      string               `json:"rule" doc:"Its id."`
	Effect    string               `json:"effect" doc:"What it says by itself: allow, requires_approval or deny."`
	Part      string               `json:"part" doc:"decides, stands_in, stood_in_for, outranked, budget_used_up, nothing_to_answer or no_match."`
	Why       string               `json:"why" doc:"The sentence of the rule."`
	Standing  bool                 `json:"standing" doc:"Whether it is a person's standing approval, and no rule of the policy."`
	By        []string             `json:"by" doc:"Who took its place, or outranks it."`
	InsteadOf []string             `json:"instead_of" doc:"The matching rules that it takes the place of."`
	Failed    []ExplainedCondition `json:"failed" doc:"The conditions that do not hold."`
	Undecided []ExplainedCondition `json:"undecided" doc:"The conditions that a missing fact leaves open."`
	Budget    *ExplainedBudget     `json:"budget" doc:"How its budget stands; null where it has none, or its conditions do not hold."`
	Line      int                  `json:"line" doc:"Where it stands in its file; 0 where that is not known."`
}

// ExplainedCondition is one condition that did not hold.
type ExplainedCondition struct {
	Condition string `json:"condition" doc:"The key of the match."`
	Asks      string `json:"asks" doc:"What the rule asks for."`
	Has       string `json:"has" doc:"What the action, or the facts, have."`
	Missing   string `json:"missing" doc:"Why it could not be decided; else empty."`
}

// ExplainedBudget is how one budget or cap stands.
type ExplainedBudget struct {
	Currency string `json:"currency" doc:"ISO 4217 code."`
	Max      int64  `json:"max" doc:"Minor units."`
	Window   string `json:"window" doc:"day, week, month or year; empty: a single act."`
	Each     string `json:"each" doc:"principal: each has its own; empty: the account's."`
	State    string `json:"state" doc:"within, passed, uncounted, no_money, other_currency or not_covered."`
	Passed   bool   `json:"passed" doc:"Whether it counts as passed."`
	Used     *int64 `json:"used" doc:"Minor units that are spent or reserved in the window; null where nobody knows, or for a single act."`
}

// ExplainPolicy says what would become of an action, and what part every rule has in
// that. Nothing is recorded. Any person of the account may ask.
func (op *Operator) ExplainPolicy(ctx context.Context, p Person, in ExplainInput) (PolicyExplanation, error) {
	if in.Principal == "" {
		in.Principal = p.ID()
	}
	var out PolicyExplanation
	err := op.inView(ctx, func(tx core.Tx) error {
		if _, err := p.live(ctx, tx, ""); err != nil {
			return err
		}
		ws, err := settings(ctx, tx, p.projectID)
		if err != nil {
			return err
		}
		out, err = op.explain(ctx, tx, ws, in)
		return err
	})
	return out, err
}

// ExplainAction is ExplainPolicy for whoever administers the database. account and
// project are names; "" is default.
func (op *Operator) ExplainAction(ctx context.Context, account, project string, in ExplainInput) (PolicyExplanation, error) {
	var out PolicyExplanation
	err := op.inView(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, project)
		if err != nil {
			return err
		}
		out, err = op.explain(ctx, tx, ws, in)
		return err
	})
	return out, err
}

func (op *Operator) explain(ctx context.Context, tx core.Tx, ws workspace, in ExplainInput) (PolicyExplanation, error) {
	a, err := wellFormedAction(in.Action, ws.Currency)
	if err != nil {
		return PolicyExplanation{}, err
	}
	if err := checkWords("principal", in.Principal, 80); err != nil {
		return PolicyExplanation{}, err
	}
	policy, err := op.policyTried(ctx, tx, ws, in)
	if err != nil {
		return PolicyExplanation{}, err
	}
	now := tx.Now()
	if in.At != nil {
		now = in.At.UTC()
	}
	f, bounds, err := factsOf(ctx, tx, ws, policy, in.Principal, a, now)
	if err != nil {
		return PolicyExplanation{}, err
	}
	rows, err := peek(ctx, tx, ws.AccountID, bounds)
	if err != nil {
		return PolicyExplanation{}, err
	}
	f.Committed = committed(bounds, rows, nil)
	e := policy.Explain(a, f)
	return Explanation(e), lacksAmount(a, e.Verdict)
}

func (op *Operator) policyTried(ctx context.Context, tx core.Tx, ws workspace, in ExplainInput) (*gate.Policy, error) {
	if in.Policy == "" {
		return op.policies.at(ctx, tx, ws.AccountID)
	}
	return compile(in.File, []byte(in.Policy))
}

// peek is count without holding anything, and makes no rows.
func peek(ctx context.Context, tx core.Tx, account int64, bounds []bound) ([]budgetRow, error) {
	rows := make([]budgetRow, len(bounds))
	for i, b := range bounds {
		err := tx.Get(ctx, &rows[i], `select id, rule, span, starts, currency, holder, used from reeve_budgets
			where account_id = $1 and rule = $2 and span = $3 and starts = $4 and currency = $5 and holder = $6`,
			account, b.Rule, string(b.Window), b.starts, b.Currency, b.holder)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
	}
	return rows, nil
}

// Explanation is the gate's explanation in the words of this package.
func Explanation(e gate.Explanation) PolicyExplanation {
	out := PolicyExplanation{Verdict: explained(e.Verdict.Effect), Version: e.Verdict.PolicyVersion, Texts: e.Verdict.Texts(),
		Rules: make([]ExplainedRule, len(e.Rules)), Caps: make([]ExplainedBudget, len(e.Caps))}
	if a := e.Verdict.Approval; out.Verdict == ExplainedPark {
		out.Approval = &ExplainedApproval{a.Quorum, append([]string{}, a.From...), int64(a.Expires / time.Second)}
	}
	for i, r := range e.Rules {
		out.Rules[i] = ExplainedRule{Rule: r.Rule, Effect: r.Effect.String(), Part: string(r.Part), Why: r.Reason, Standing: r.Standing, By: slices.Clone(r.By),
			InsteadOf: slices.Clone(r.InsteadOf), Failed: conditions(r.Failed), Undecided: conditions(r.Undecided), Line: r.Pos.Line}
		if r.Budget != nil {
			b := explainedBudget(*r.Budget)
			out.Rules[i].Budget = &b
		}
	}
	for i, c := range e.Caps {
		out.Caps[i] = explainedBudget(c)
	}
	return out
}

func conditions(all []gate.ConditionPart) []ExplainedCondition {
	out := make([]ExplainedCondition, len(all))
	for i, c := range all {
		out[i] = ExplainedCondition(c)
	}
	return out
}

func explainedBudget(b gate.BudgetPart) ExplainedBudget {
	out := ExplainedBudget{Currency: b.Currency, Max: int64(b.Max), Window: string(b.Window), Each: string(b.Each), State: string(b.State), Passed: b.Passed}
	if b.Used != nil {
		used := int64(*b.Used)
		out.Used = &used
	}
	return out
}
