package gate

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// fields hands every key of a mapping to its reader. A key that no reader waits
// for is a fault, since a misspelt condition would be a condition less.
func (d *decoder) fields(n *yaml.Node, what string, readers map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s must be a mapping of keys to values", what)
		return
	}
	seen := make(map[string]bool, len(readers))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, known := readers[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !known:
			keys := slices.Sorted(maps.Keys(readers))
			d.fail(key, "unknown key %q in %s; %sit may hold %s", key.Value, what, didYouMean(key.Value, keys), strings.Join(keys, ", "))
		case seen[key.Value]:
			d.fail(key, "the key %s stands twice in %s", key.Value, what)
		default:
			seen[key.Value] = true
			read(value)
		}
	}
}

func (d *decoder) source(root *yaml.Node) *Source {
	s := &Source{File: d.file}
	var version *yaml.Node
	d.fields(root, "a policy", map[string]func(*yaml.Node){
		"version": func(n *yaml.Node) { version, s.Version = n, d.integer(n, "version") },
		"extends": func(n *yaml.Node) { s.Extends = d.extends(n) },
		"caps":    func(n *yaml.Node) { s.Caps = d.caps(n) },
		"rules":   func(n *yaml.Node) { s.Rules = d.rules(n) },
	})
	switch {
	case version == nil:
		d.fail(root, "the policy states no version; write version: %d", formatVersion)
	case s.Version != formatVersion:
		d.fail(version, "version must be %d", formatVersion)
	}
	return s
}

func (d *decoder) extends(n *yaml.Node) string {
	name := d.text(n, "extends")
	if name != "default" {
		d.fail(n, "extends: %q is not a policy; write default, or leave the key out", name)
	}
	return name
}

func (d *decoder) caps(n *yaml.Node) (caps []Cap) {
	for _, item := range d.items(n, "caps") {
		c := Cap{Pos: d.pos(item)}
		d.fields(item, "a cap", map[string]func(*yaml.Node){
			"currency": func(n *yaml.Node) { c.Currency = d.text(n, "currency") },
			"max":      func(n *yaml.Node) { c.Max = d.cents(n, "max") },
			"window":   func(n *yaml.Node) { c.Window = d.window(n) },
			"each":     func(n *yaml.Node) { c.Each = d.each(n) },
		})
		caps = append(caps, c)
	}
	return caps
}

func (d *decoder) rules(n *yaml.Node) (rules []Rule) {
	for _, item := range d.items(n, "rules") {
		d.rule = ruleID(item)
		rules = append(rules, d.readRule(item))
		d.rule = ""
	}
	return rules
}

// ruleID looks the id up first, so that every fault of the rule can name it. A
// text that is no id would only make the message harder to read.
func ruleID(n *yaml.Node) string {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if id := n.Content[i+1].Value; n.Content[i].Value == "id" && isRuleID(id) {
			return id
		}
	}
	return ""
}

func (d *decoder) readRule(n *yaml.Node) Rule {
	r := Rule{Pos: d.pos(n)}
	hasMatch := false
	d.fields(n, "a rule", map[string]func(*yaml.Node){
		"id":         func(n *yaml.Node) { r.ID = d.text(n, "id") },
		"match":      func(n *yaml.Node) { hasMatch = true; r.Match = d.match(n) },
		"effect":     func(n *yaml.Node) { r.Effect = d.effect(n) },
		"instead_of": func(n *yaml.Node) { r.InsteadOf = d.texts(n, "instead_of") },
		"reason":     func(n *yaml.Node) { r.Reason = d.text(n, "reason") },
		"approval":   func(n *yaml.Node) { r.Approval = d.approval(n) },
		"budget":     func(n *yaml.Node) { r.Budget = d.budget(n) },
		"notify":     func(n *yaml.Node) { r.Notify = d.texts(n, "notify") },
		"until":      func(n *yaml.Node) { r.Until = d.instant(n, "until") },
	})
	if n.Kind == yaml.MappingNode && !hasMatch {
		d.fail(n, "the rule has no match; write match: {} if it is about every action")
	}
	return r
}

func (d *decoder) match(n *yaml.Node) (m Match) {
	d.fields(n, "a match", map[string]func(*yaml.Node){
		"types":          func(n *yaml.Node) { m.Types = d.texts(n, "types") },
		"recipients":     func(n *yaml.Node) { m.Recipients = d.texts(n, "recipients") },
		"amount":         func(n *yaml.Node) { m.Amount = d.amount(n) },
		"labels":         func(n *yaml.Node) { m.Labels = d.texts(n, "labels") },
		"tainted":        func(n *yaml.Node) { m.Tainted = d.boolean(n, "tainted") },
		"principals":     func(n *yaml.Node) { m.Principals = d.texts(n, "principals") },
		"hours":          func(n *yaml.Node) { m.Hours = d.hours(n) },
		"outward":        func(n *yaml.Node) { m.Outward = d.boolean(n, "outward") },
		"outside":        func(n *yaml.Node) { m.Outside = d.boolean(n, "outside") },
		"secrets":        func(n *yaml.Node) { m.Secrets = d.isTrue(n, "secrets") },
		"amount_invalid": func(n *yaml.Node) { m.AmountInvalid = d.isTrue(n, "amount_invalid") },
		"over_budget":    func(n *yaml.Node) { m.OverBudget = d.isTrue(n, "over_budget") },
		"unknown":        func(n *yaml.Node) { m.Unknown = d.isTrue(n, "unknown") },
	})
	return m
}

func (d *decoder) amount(n *yaml.Node) *AmountRange {
	r := &AmountRange{}
	d.fields(n, "amount", map[string]func(*yaml.Node){
		"currency": func(n *yaml.Node) { r.Currency = d.text(n, "currency") },
		"min":      func(n *yaml.Node) { c := d.cents(n, "min"); r.Min = &c },
		"max":      func(n *yaml.Node) { c := d.cents(n, "max"); r.Max = &c },
	})
	return r
}

func (d *decoder) hours(n *yaml.Node) *Hours {
	h := &Hours{From: -1, To: -1}
	d.fields(n, "hours", map[string]func(*yaml.Node){
		"from": func(n *yaml.Node) { h.From = d.clock(n, "from") },
		"to":   func(n *yaml.Node) { h.To = d.clock(n, "to") },
	})
	return h
}

func (d *decoder) approval(n *yaml.Node) (a Approval) {
	d.fields(n, "approval", map[string]func(*yaml.Node){
		"quorum": func(n *yaml.Node) {
			if a.Quorum = d.integer(n, "quorum"); a.Quorum < 1 {
				d.fail(n, "quorum must be at least 1")
			}
		},
		"from":    func(n *yaml.Node) { a.From = d.texts(n, "from") },
		"expires": func(n *yaml.Node) { a.Expires = d.duration(n, "expires") },
	})
	return a
}

func (d *decoder) budget(n *yaml.Node) *Budget {
	b := &Budget{}
	d.fields(n, "budget", map[string]func(*yaml.Node){
		"window":   func(n *yaml.Node) { b.Window = d.window(n) },
		"each":     func(n *yaml.Node) { b.Each = d.each(n) },
		"currency": func(n *yaml.Node) { b.Currency = d.text(n, "currency") },
		"max":      func(n *yaml.Node) { b.Max = d.cents(n, "max") },
	})
	return b
}

// items returns the entries of a list, at least one.
func (d *decoder) items(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, "%s must be a list", what)
		return nil
	}
	if len(n.Content) == 0 {
		d.fail(n, "%s is an empty list; leave the key out, or give it an entry", what)
	}
	return n.Content
}

func (d *decoder) texts(n *yaml.Node, what string) (out []string) {
	for _, item := range d.items(n, what) {
		text := d.text(item, what)
		if slices.Contains(out, text) {
			d.fail(item, "%s names %q twice", what, text)
		}
		out = append(out, text)
	}
	return out
}

func (d *decoder) scalar(n *yaml.Node, tag, what, want string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != tag {
		d.fail(n, "%s must be %s", what, want)
		return "", false
	}
	return n.Value, true
}

func (d *decoder) text(n *yaml.Node, what string) string {
	s, ok := d.scalar(n, "!!str", what, "a text; quote it where YAML reads it as something else")
	if ok && s == "" {
		d.fail(n, "%s must not be empty", what)
	}
	return s
}

// boolean takes true and false only: yes, on and their like mean different
// things to different readers of YAML.
func (d *decoder) boolean(n *yaml.Node, what string) *bool {
	s, ok := d.scalar(n, "!!bool", what, "true or false")
	if ok && s != "true" && s != "false" {
		d.fail(n, "%s must be true or false", what)
	}
	b := s == "true"
	return &b
}

// isTrue is for conditions that nobody can ask the opposite of.
func (d *decoder) isTrue(n *yaml.Node, what string) bool {
	before := len(d.errs)
	b := *d.boolean(n, what)
	if !b && len(d.errs) == before {
		d.fail(n, "%s can only be true; leave the key out otherwise", what)
	}
	return b
}

func (d *decoder) number(n *yaml.Node, what string) Cents {
	s, ok := d.scalar(n, "!!int", what, "a plain integer")
	if !ok {
		return 0
	}
	v, plain := parseInteger(s)
	if !plain || v > MaxCents || v < -MaxCents {
		d.fail(n, "%s must be a plain decimal integer of at most %d", what, MaxCents)
		return 0
	}
	return v
}

func (d *decoder) integer(n *yaml.Node, what string) int {
	const far = 1 << 30 // no integer of a policy comes near; keeps 32-bit machines exact
	return int(min(max(d.number(n, what), -far), far))
}

func (d *decoder) cents(n *yaml.Node, what string) Cents {
	if text, wrong := wholeUnits(n); wrong {
		d.fail(n, "%s must be a plain integer of minor units, without quotes, point or sign: %s", what, text)
		return 0
	}
	before := len(d.errs)
	c := d.number(n, what)
	if c < 1 && len(d.errs) == before {
		d.fail(n, "%s must be at least 1 minor unit", what)
	}
	return c
}

func (d *decoder) window(n *yaml.Node) Window {
	w := Window(d.text(n, "window"))
	if w != "" && !w.Valid() {
		d.fail(n, "window must be day, week, month or year%s", hint(string(w), []string{"day", "week", "month", "year"}))
	}
	return w
}

func (d *decoder) each(n *yaml.Node) Each {
	e := Each(d.text(n, "each"))
	if e != EachPrincipal {
		d.fail(n, "each must be principal; left out, the whole account is counted together")
	}
	return e
}

func (d *decoder) effect(n *yaml.Node) Effect {
	e, err := ParseEffect(d.text(n, "effect"))
	if err != nil {
		d.fail(n, "effect must be allow, requires_approval or deny%s", effectHint(n.Value))
		return Deny // a fault is recorded; Deny keeps a second one from following
	}
	return e
}

// clock reads "22:30" as minutes after midnight; "24:00" is the end of a day.
func (d *decoder) clock(n *yaml.Node, what string) int {
	s := d.text(n, what)
	if len(s) == 5 && s[2] == ':' && allDigits(s[:2]) && allDigits(s[3:]) {
		hour, _ := strconv.Atoi(s[:2])
		minute, _ := strconv.Atoi(s[3:])
		if minute < 60 && (hour < 24 || (hour == 24 && minute == 0)) {
			return hour*60 + minute
		}
	}
	d.fail(n, `%s must be a time of day such as "07:00" or "22:30"`, what)
	return 0
}

func (d *decoder) duration(n *yaml.Node, what string) time.Duration {
	const want = "%s must be a duration such as 30m, 24h or 48h"
	if n.Kind != yaml.ScalarNode {
		d.fail(n, want, what)
		return 0
	}
	switch v, err := time.ParseDuration(n.Value); {
	case strings.HasSuffix(n.Value, "d") && allDigits(strings.TrimSuffix(n.Value, "d")) && len(n.Value) > 1 && len(n.Value) < 6:
		days, _ := strconv.Atoi(strings.TrimSuffix(n.Value, "d"))
		d.fail(n, want+"; for %s write %dh", what, n.Value, 24*days)
	case err == nil && v <= 0:
		d.fail(n, want+", and longer than nothing; leave the key out for the usual %d hours", what, int(DefaultExpiry.Hours()))
	case err != nil:
		d.fail(n, want, what)
	default:
		return v
	}
	return 0
}

func (d *decoder) instant(n *yaml.Node, what string) time.Time {
	if n.Kind == yaml.ScalarNode {
		if t, err := time.Parse(time.RFC3339, n.Value); err == nil {
			return t.UTC()
		}
	}
	d.fail(n, "%s must be a time such as 2027-01-31T00:00:00Z (RFC 3339)", what)
	return time.Time{}
}
