package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Policy is a compiled policy. It never changes, and any number of goroutines
// may use it at once. The zero Policy denies everything.
type Policy struct {
	rules   []Rule
	caps    []Cap
	byType  map[string][]int // rules that name the type, and those that name none
	untyped []int            // rules that name no type
	known   map[string]bool  // types of the default policy
	digest  string
	version string
}

// LoadPolicy parses and compiles a policy file in one step. The error is
// [PolicyErrors], with everything that is wrong.
func LoadPolicy(file string, src []byte) (*Policy, error) {
	source, err := ParsePolicy(file, src)
	if err != nil {
		return nil, err
	}
	return source.Compile()
}

// Compile checks the rules by themselves and against each other, and makes them
// a [Policy]. The error is [PolicyErrors], with everything that is wrong.
//
// The rules of an extended policy come first, then those of the file.
func (s *Source) Compile() (*Policy, error) {
	var base *Policy
	switch s.Extends {
	case "":
	case "default":
		base = DefaultPolicy()
	default:
		return nil, PolicyErrors{{File: s.File, Message: fmt.Sprintf("extends: %q is not a policy; write default", s.Extends)}}
	}
	return s.compile(base, DefaultPolicy().known)
}

// compile takes the vocabulary as an argument, since the default policy is the
// one that has to bring its own (nil).
func (s *Source) compile(base *Policy, known map[string]bool) (*Policy, error) {
	p := &Policy{known: known}
	if base != nil {
		p.rules, p.caps = slices.Clone(base.rules), slices.Clone(base.caps)
	}
	for _, r := range s.Rules {
		p.rules = append(p.rules, r.clone())
	}
	p.caps = append(p.caps, s.Caps...)
	v := validator{file: s.File}
	v.policy(s, p)
	if len(v.errs) > 0 {
		return nil, v.errs
	}
	p.index()
	if p.known == nil {
		p.known = p.types()
	}
	if err := p.sign(); err != nil {
		return nil, err
	}
	return p, nil
}

// clone keeps a policy from sharing memory with the source it was made from.
func (r Rule) clone() Rule {
	r.Match.Types = slices.Clone(r.Match.Types)
	r.Match.Recipients = slices.Clone(r.Match.Recipients)
	r.Match.Labels = slices.Clone(r.Match.Labels)
	r.Match.Principals = slices.Clone(r.Match.Principals)
	r.Match.Tainted = clonePointer(r.Match.Tainted)
	r.Match.Outward = clonePointer(r.Match.Outward)
	r.Match.Outside = clonePointer(r.Match.Outside)
	r.Match.Hours = clonePointer(r.Match.Hours)
	r.Match.Amount = clonePointer(r.Match.Amount)
	if amount := r.Match.Amount; amount != nil {
		amount.Min, amount.Max = clonePointer(amount.Min), clonePointer(amount.Max)
	}
	r.InsteadOf = slices.Clone(r.InsteadOf)
	r.Approval.From = slices.Clone(r.Approval.From)
	r.Budget = clonePointer(r.Budget)
	r.Notify = slices.Clone(r.Notify)
	return r
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// index lists, for every type that some rule names, the rules to look at.
func (p *Policy) index() {
	p.byType = make(map[string][]int)
	for i := range p.rules {
		types := p.rules[i].Match.Types
		if len(types) == 0 {
			p.untyped = append(p.untyped, i)
		}
		for _, t := range types {
			p.byType[t] = append(p.byType[t], i)
		}
	}
	for t, list := range p.byType {
		merged := append(slices.Clone(list), p.untyped...)
		slices.Sort(merged)
		p.byType[t] = merged
	}
}

func (p *Policy) types() map[string]bool {
	known := make(map[string]bool, len(p.byType))
	for t := range p.byType {
		known[t] = true
	}
	return known
}

// sign computes digest and version over what the rules mean, so that comments
// and layout of the file do not count.
func (p *Policy) sign() error {
	raw, err := json.Marshal(map[string]any{"version": formatVersion, "caps": p.caps, "rules": p.rules})
	if err != nil {
		return fmt.Errorf("gate: digest of the policy: %w", err)
	}
	value := jsontext.Value(raw)
	if err := value.Canonicalize(); err != nil {
		return fmt.Errorf("gate: digest of the policy: %w", err)
	}
	sum := sha256.Sum256(value)
	p.digest = hex.EncodeToString(sum[:])
	p.version = strconv.Itoa(formatVersion) + "-" + p.digest[:12]
	return nil
}

// Digest is SHA-256 over the canonical JSON (RFC 8785) of every rule and cap,
// extended ones included: 64 lower-case hex digits. It is empty for a zero Policy.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// Version is short enough for a record: the version of the file format, a dash,
// and the first 12 digits of the digest. It is empty for a zero Policy.
func (p *Policy) Version() string {
	if p == nil {
		return ""
	}
	return p.version
}

// Rules returns a copy of the rules in the order that they are judged in.
func (p *Policy) Rules() []Rule {
	if p.empty() {
		return nil
	}
	out := make([]Rule, len(p.rules))
	for i, r := range p.rules {
		out[i] = r.clone()
	}
	return out
}

// Rule returns a copy of the rule with an id, and whether there is one.
func (p *Policy) Rule(id string) (Rule, bool) {
	if p != nil {
		for _, r := range p.rules {
			if r.ID == id {
				return r.clone(), true
			}
		}
	}
	return Rule{}, false
}

// Caps returns a copy of the caps.
func (p *Policy) Caps() []Cap {
	if p == nil {
		return nil
	}
	return slices.Clone(p.caps)
}

// Budgets lists every window that the facts must say the commitment of: those
// of the rules, and the caps that have a window.
func (p *Policy) Budgets() []Budget {
	if p == nil {
		return nil
	}
	var out []Budget
	for _, c := range p.caps {
		if c.Window != PerAct {
			out = append(out, c.budget())
		}
	}
	for _, r := range p.rules {
		if r.Budget != nil {
			b := *r.Budget
			b.Rule = r.ID
			out = append(out, b)
		}
	}
	return out
}

// PolicyError is one fault of a policy file.
type PolicyError struct {
	File    string // as given to ParsePolicy
	Line    int    // from 1; 0 where the place is not known
	Column  int    // from 1; 0 where the place is not known
	Rule    string // id of the rule, where the fault is inside one that has an id
	Message string // one sentence: what is wrong, and what to write
}

// Error returns "file:line:column: rule id: message".
func (e *PolicyError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Rule != "" {
		fmt.Fprintf(&b, ": rule %s", e.Rule)
	}
	b.WriteString(": " + e.Message)
	return b.String()
}

// PolicyErrors holds every fault that was found, in the order of the file.
type PolicyErrors []*PolicyError

// Error puts one fault on a line.
func (es PolicyErrors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a [*PolicyError].
func (es PolicyErrors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}
