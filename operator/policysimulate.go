package operator

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// SimulateInput is a policy that somebody wonders about.
type SimulateInput struct {
	File     string    // its name, for messages
	Text     []byte    // the policy file, in YAML or JSON
	Since    time.Time // judge what was recorded from then on; zero: everything
	Examples int       // how many intents of each group are named; 0: 3
}

// Simulation is what another policy would have said of what was recorded.
type Simulation struct {
	Version string            `json:"version"` // of the policy that was tried
	Current string            `json:"current"` // of the one that holds
	Judged  int64             `json:"judged"`  // how many intents were judged again
	Changed int64             `json:"changed"` // of how many the verdict would be another
	Groups  []SimulationGroup `json:"groups"`  // the changes, the largest group first
	Undone  []int64           `json:"undone"`  // every intent that was denied and would not be, by its number
	Loosens []Loosening       `json:"loosens"` // what an owner has to accept by its id before the policy can be loaded
}

// SimulationGroup is the intents whose verdict would change in one way, for one rule.
type SimulationGroup struct {
	From       string             `json:"from"`        // the decision on record
	To         string             `json:"to"`          // the one that it would be
	FromPeople int64              `json:"from_people"` // how many people had to approve; 0 where none
	ToPeople   int64              `json:"to_people"`   // how many would have to
	Rule       string             `json:"rule"`        // the rule that makes the difference
	Count      int64              `json:"count"`
	Money      []SimulationMoney  `json:"money"`
	Examples   []SimulationIntent `json:"examples"` // the first of them
}

// SimulationMoney is what the intents of a group come to in one currency.
type SimulationMoney struct {
	Currency string `json:"currency"`
	Cents    int64  `json:"cents"` // minor units
}

// SimulationIntent names an intent.
type SimulationIntent struct {
	ID         int64     `json:"id"`
	Type       string    `json:"type"`
	Title      string    `json:"title"`
	Recipient  string    `json:"recipient"`
	Cents      *int64    `json:"cents"`
	Currency   string    `json:"currency"`
	RecordedBy string    `json:"recorded_by"`
	RecordedAt time.Time `json:"recorded_at"`
}

// defaultExamples is how many intents of a group are named where nobody says.
const defaultExamples = 3

// Simulate judges every recorded intent of an account again by another policy, and
// changes nothing. It reads page by page in short reads of their own, so that it
// keeps nobody waiting; what is recorded while it runs is left out.
func (op *Operator) Simulate(ctx context.Context, account string, in SimulateInput) (Simulation, error) {
	next, err := compile(in.File, in.Text)
	if err != nil {
		return Simulation{}, err
	}
	c, err := op.compare(ctx, account, next)
	if err != nil {
		return Simulation{}, err
	}
	if in.Examples == 0 {
		in.Examples = defaultExamples
	}
	since := int64(math.MinInt64)
	if !in.Since.IsZero() {
		since = core.Micros(in.Since)
	}
	t := tally{examples: in.Examples, groups: map[groupKey]*SimulationGroup{}}
	var undone []int64
	s := span{projects: c.projects, upTo: c.upTo, since: c.from(since)}
	err = op.replayed(ctx, s, func(p *past) {
		v, freed := c.judge(p)
		if p.CreatedAt < since {
			return // it counts in the budgets, and is not asked about
		}
		if t.judged++; p.Decision == gate.Deny.String() && v.Effect != gate.Deny {
			undone = append(undone, p.ID)
		}
		if freed {
			c.freed = append(c.freed, p.ID)
		}
		t.add(p, v)
	})
	out := Simulation{Version: next.Version(), Current: c.current.policy.Version(), Judged: t.judged, Changed: t.changed, Groups: t.sorted(),
		Undone: append([]int64{}, undone...), Loosens: c.loosenings()}
	return out, told(ctx, err)
}

// comparison judges what was recorded by two policies: the one that an account has,
// and another.
type comparison struct {
	ws            workspace
	at            policyAt
	current, next *replay
	projects      []int64
	upTo          int64   // the newest intent when it began
	freed         []int64 // denied then, denied by the present policy still, and not by the next
}

// compare begins a comparison with the policy that an account has now.
func (op *Operator) compare(ctx context.Context, account string, next *gate.Policy) (*comparison, error) {
	var c *comparison
	err := op.inView(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err == nil {
			c, err = op.compareTx(ctx, tx, ws, next)
		}
		return err
	})
	return c, err
}

func (op *Operator) compareTx(ctx context.Context, tx core.Tx, ws workspace, next *gate.Policy) (*comparison, error) {
	c := &comparison{ws: ws}
	var err error
	if c.at, err = newestOf(ctx, tx, ws.AccountID); err != nil {
		return nil, err
	}
	current, err := op.policies.at(ctx, tx, ws.AccountID)
	if err != nil {
		return nil, err
	}
	if c.projects, err = projectsOf(ctx, tx, ws.AccountID); err != nil {
		return nil, err
	}
	if c.upTo, err = newestIntent(ctx, tx, c.projects); err != nil {
		return nil, err
	}
	standing, err := pastStandings(ctx, tx, ws.AccountID)
	if err != nil {
		return nil, err
	}
	if c.current, err = newReplay(ws, current, standing); err != nil {
		return nil, err
	}
	c.next, err = newReplay(ws, next, standing)
	return c, err
}

// from is the moment from which intents have to be read, so that the budgets of what
// was recorded since are right: the beginning of the longest window before it.
func (c *comparison) from(since int64) int64 {
	if since == math.MinInt64 || !c.current.counts() && !c.next.counts() {
		return since
	}
	starts, _ := gate.PerYear.Bounds(core.FromMicros(since), c.next.zone)
	return core.Micros(starts.Add(-approvalReach))
}

// approvalReach is how long before a window money may have been asked for that was
// approved within it.
const approvalReach = 31 * 24 * time.Hour

// judge says what the next policy would have said, and whether that frees what the
// present one denies.
func (c *comparison) judge(p *past) (v gate.Verdict, freed bool) {
	v = c.next.judge(p)
	denied := p.Decision == gate.Deny.String()
	if !denied && !c.current.counts() {
		return v, false
	}
	now := c.current.judge(p)
	return v, denied && now.Effect == gate.Deny && v.Effect != gate.Deny
}

// loosenings are those of the policies themselves, and each denial that is undone.
func (c *comparison) loosenings() []Loosening {
	out := []Loosening{}
	for _, l := range gate.Loosenings(c.current.policy, c.next.policy) {
		out = append(out, Loosening{ID: l.ID, Rule: l.Rule, Kind: string(l.Kind), What: l.What})
	}
	for _, id := range c.freed {
		out = append(out, undoneDenial(id))
	}
	return out
}

// replayed hands every intent of a span to f. Reading runs ahead of judging.
func (op *Operator) replayed(ctx context.Context, s span, f func(*past)) error {
	pages := make(chan []past, 4)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		return s.each(ctx, op.db.View().Query, func(page []past) error {
			select {
			case pages <- page:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	group.Go(func() error {
		for page := range pages {
			for i := range page {
				f(&page[i])
			}
		}
		return nil
	})
	return group.Wait()
}

// tally sorts what changed into groups.
type tally struct {
	judged, changed int64
	examples        int
	groups          map[groupKey]*SimulationGroup
}

type groupKey struct {
	from, to, rule       string
	fromPeople, toPeople int64
}

func (t *tally) add(p *past, v gate.Verdict) {
	key := groupKey{from: p.Decision, to: v.Effect.String()}
	if p.Decision == gate.RequiresApproval.String() {
		key.fromPeople = p.Quorum
	}
	if v.Effect == gate.RequiresApproval {
		key.toPeople = int64(max(1, v.Approval.Quorum))
	}
	sameRoles := v.Effect != gate.RequiresApproval || p.Decision != key.to || slices.Equal(stored(p.Approvers), v.Approval.From)
	if key.from == key.to && key.fromPeople == key.toPeople && sameRoles {
		return
	}
	t.changed++
	key.rule = blame(p, v)
	g := t.groups[key]
	if g == nil {
		g = &SimulationGroup{From: key.from, To: key.to, FromPeople: key.fromPeople, ToPeople: key.toPeople, Rule: key.rule,
			Money: []SimulationMoney{}, Examples: []SimulationIntent{}}
		t.groups[key] = g
	}
	g.add(p, t.examples)
}

func (g *SimulationGroup) add(p *past, examples int) {
	g.Count++
	a := p.action
	if a.AmountCents != nil {
		i := slices.IndexFunc(g.Money, func(m SimulationMoney) bool { return m.Currency == a.Currency })
		if i < 0 {
			i = len(g.Money)
			g.Money = append(g.Money, SimulationMoney{Currency: a.Currency})
		}
		g.Money[i].Cents = addUp(g.Money[i].Cents, int64(*a.AmountCents))
	}
	if len(g.Examples) < examples {
		one := SimulationIntent{ID: p.ID, Type: a.Type, Title: gate.Redact(a.Title), Recipient: gate.Redact(a.Recipient), Currency: a.Currency,
			RecordedBy: p.RecordedBy, RecordedAt: core.FromMicros(p.CreatedAt)}
		if a.AmountCents != nil {
			cents := int64(*a.AmountCents)
			one.Cents = &cents
		}
		g.Examples = append(g.Examples, one)
	}
}

// addUp stays at the largest number rather than become a negative one.
func addUp(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (t *tally) sorted() []SimulationGroup {
	out := make([]SimulationGroup, 0, len(t.groups))
	for _, g := range t.groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b SimulationGroup) int {
		switch {
		case a.Count != b.Count:
			return int(min(max(b.Count-a.Count, -1), 1))
		case len(a.Examples) > 0 && len(b.Examples) > 0:
			return int(min(max(a.Examples[0].ID-b.Examples[0].ID, -1), 1))
		}
		return 0
	})
	return out
}

// blame names the rule that makes a verdict another than the recorded one.
func blame(p *past, v gate.Verdict) string {
	milder := severity(v.Effect.String()) < severity(p.Decision)
	if !milder {
		return decisive(v)
	}
	answered := slices.IndexFunc(v.Reasons, func(r gate.Reason) bool { return len(r.StoodInFor) > 0 })
	if p.Decision != gate.Deny.String() && answered >= 0 {
		return v.Reasons[answered].Rule
	}
	for _, rule := range stored(p.Rules) {
		if !v.Matched(rule) {
			return rule // it had its say then, and has none now
		}
	}
	return decisive(v)
}

// decisive names the first rule that says what the verdict is.
func decisive(v gate.Verdict) string {
	var answered []string
	for _, r := range v.Reasons {
		answered = append(answered, r.StoodInFor...)
	}
	for _, r := range v.Reasons {
		if r.Effect == v.Effect && !slices.Contains(answered, r.Rule) {
			return r.Rule
		}
	}
	return gate.ReasonNoRule
}

func severity(effect string) int {
	return slices.Index([]string{gate.Allow.String(), gate.RequiresApproval.String(), gate.Deny.String()}, effect)
}

// denialPrefix begins the id by which the undoing of one denial is accepted.
const denialPrefix = "intent-"

// undoneDenial is a recorded denial that another policy would not make.
func undoneDenial(id int64) Loosening {
	n := strconv.FormatInt(id, 10)
	return Loosening{ID: denialPrefix + n, Kind: "denial", Intent: id, What: "Intent " + n + " was denied, and would not be."}
}
