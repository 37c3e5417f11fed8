package operator

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Loosening is one way in which a policy is milder than the one that holds, or one
// denial on record that it would not make. An owner accepts it by its id.
type Loosening struct {
	ID     string `json:"id" doc:"What it is accepted by."`
	Rule   string `json:"rule" doc:"The rule that it concerns; empty for a cap or a denial."`
	Kind   string `json:"kind" doc:"What sort of loosening it is; denial: an intent that was denied would not be."`
	Intent int64  `json:"intent_id,omitzero" doc:"The intent, of a denial."`
	What   string `json:"what" doc:"What becomes milder, in one sentence."`
}

// keptLoosenings is a list as it is stored: of a denial, its number says everything.
func keptLoosenings(all []Loosening) string {
	type kept struct {
		ID     string `json:"id,omitzero"`
		Rule   string `json:"rule,omitzero"`
		Kind   string `json:"kind,omitzero"`
		Intent int64  `json:"intent_id,omitzero"`
		What   string `json:"what,omitzero"`
	}
	out := make([]kept, len(all))
	for i, l := range all {
		if out[i] = kept(l); l.Intent != 0 {
			out[i] = kept{Intent: l.Intent}
		}
	}
	return listJSON(out)
}

// storedLoosenings reads a list that keptLoosenings wrote.
func storedLoosenings(list string) []Loosening {
	out := []Loosening{}
	_ = json.Unmarshal([]byte(list), &out) // what we wrote ourselves is well-formed
	for i := range out {
		if out[i].Intent != 0 {
			out[i] = undoneDenial(out[i].Intent)
		}
	}
	return out
}

// compareAccepted says which loosenings were not accepted, and which ids that were
// accepted loosen nothing.
func compareAccepted(loosens []Loosening, accept map[string]bool) (missing, unknown []string) {
	missing = []string{}
	known := make(map[string]bool, len(loosens))
	for _, l := range loosens {
		known[l.ID] = true
		if !accept[l.ID] {
			missing = append(missing, l.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(accept)) {
		if !known[id] {
			unknown = append(unknown, gate.Redact(id))
		}
	}
	return missing, unknown
}

// LoosensError lies beneath ErrPolicyLoosens, and holds everything. The refusal's
// Details have the same, as far as shownLoosenings goes.
type LoosensError struct {
	Loosens []Loosening `json:"loosens"` // all of them, those of rules and caps first
	Missing []string    `json:"missing"` // the ids that were not accepted
	Unknown []string    `json:"unknown"` // accepted ids that loosen nothing
	Base    string      `json:"base"`    // the version of the policy that it was compared with
}

func (e *LoosensError) Error() string {
	return counted(len(e.Loosens), "loosening", "loosenings") + ", " + counted(len(e.Missing), "is", "are") + " not accepted"
}

// shownLoosenings bounds how many loosenings one answer lists; there may be a denial
// for each of a million intents. total says how many there are.
const shownLoosenings = 10_000

func (p proposal) refusal(missing, unknown []string) error {
	e := &LoosensError{Loosens: p.loosens, Missing: missing, Unknown: append([]string{}, unknown...), Base: p.seen.current.policy.Version()}
	said := "It loosens the policy, so an owner has to accept each loosening by its id; " + counted(len(missing), "is", "are") + " not accepted."
	if len(unknown) > 0 {
		said = "What was accepted is not what it loosens: " + strings.Join(shortened(unknown), ", ") + "."
	}
	return core.Refuse(core.ReasonPolicyLoosens, "%s", said).Because(e).With("loosens", e.Loosens[:min(len(e.Loosens), shownLoosenings)]).
		With("missing", missing[:min(len(missing), shownLoosenings)]).With("unknown", shortened(e.Unknown)).
		With("total", len(e.Loosens)).With("base", e.Base)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return itoa(int64(n)) + " " + many
}

// shownIDs bounds how many ids a sentence or a line of the record spells out.
const shownIDs = 50

func shortened(ids []string) []string {
	if len(ids) <= shownIDs {
		return ids
	}
	return append(slices.Clone(ids[:shownIDs]), "…")
}

// acceptedWords is what the record says of what was accepted. A long list is told by
// its digest; the whole stands in the policy's row.
func acceptedWords(accepted []Loosening) string {
	if len(accepted) == 0 {
		return ""
	}
	ids := make([]string, len(accepted))
	for i, l := range accepted {
		ids[i] = l.ID
	}
	if len(ids) <= shownIDs {
		return "; accepted: " + strings.Join(ids, ", ")
	}
	return "; accepted " + itoa(int64(len(ids))) + " loosenings, whose ids, one a line, have the SHA-256 " + core.SHA256Hex([]byte(strings.Join(ids, "\n")))
}

// reachableQuorums refuses a rule that asks for more people than the account has of
// its roles. What the present policy asks for already is no reason to refuse another:
// who has left must not keep anybody from tightening.
func reachableQuorums(ctx context.Context, tx core.Tx, account int64, current, next *gate.Policy) error {
	people, err := peopleByRole(ctx, tx, account)
	if err != nil {
		return err
	}
	for _, f := range UnreachableQuorums(next, people) {
		have, found := current.Rule(f.Rule)
		want, _ := next.Rule(f.Rule)
		if found && have.Approval.Quorum >= want.Approval.Quorum && slices.Equal(have.Approval.From, want.Approval.From) {
			continue
		}
		return core.Refuse(core.ReasonQuorum, "%s", f.Error()).With("field", "policy").
			With("faults", []PolicyFault{{f.Line, f.Column, f.Rule, f.Message}}).Because(f)
	}
	return nil
}

// UnreachableQuorums finds the rules of a policy that ask for more people than there
// are: people says how many of each role.
func UnreachableQuorums(p *gate.Policy, people map[Role]int) gate.PolicyErrors {
	var out gate.PolicyErrors
	for _, r := range p.Rules() {
		have, from := 0, r.Approval.From
		if len(from) == 0 {
			from = roleNames()
		}
		for _, role := range from {
			have += people[Role(role)]
		}
		if r.Effect != gate.RequiresApproval || r.Approval.Quorum <= max(1, have) {
			continue
		}
		out = append(out, &gate.PolicyError{File: r.Pos.File, Line: r.Pos.Line, Column: r.Pos.Column, Rule: r.ID,
			Message: "it asks for " + itoa(int64(r.Approval.Quorum)) + " people of the roles " + strings.Join(from, ", ") + ", and the account has " +
				itoa(int64(have)) + ": add people, or ask for fewer"})
	}
	return out
}

func roleNames() []string {
	var out []string
	for _, r := range core.Roles() {
		out = append(out, string(r))
	}
	return out
}

func peopleByRole(ctx context.Context, tx core.Tx, account int64) (map[Role]int, error) {
	var rows []struct {
		Role string `db:"role"`
		N    int    `db:"n"`
	}
	err := tx.Select(ctx, &rows, `select role, count(*) as n from reeve_people where account_id = $1 and removed_at is null group by role`, account)
	out := map[Role]int{}
	for _, r := range rows {
		out[Role(r.Role)] = r.N
	}
	return out, err
}
