package gate

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const docs = "../docs"

// worked loads one of the policies of the docs.
func worked(t *testing.T, name string) *Policy {
	t.Helper()
	file := filepath.Join(docs, "policies", name+".yaml")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := LoadPolicy(file, src)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// moment is what a case of a worked policy changes about an ordinary noon.
type moment struct {
	at   string // time of day; noon where empty
	who  string // who asks; agent where empty
	used Cents  // what every budget of a rule holds already
}

func (m moment) facts(t *testing.T, p *Policy) Facts {
	t.Helper()
	if m.at == "" {
		m.at = "12:00"
	}
	now, err := time.Parse("2006-01-02 15:04", "2026-03-03 "+m.at)
	if err != nil {
		t.Fatal(err)
	}
	f := Facts{Now: now, Zone: time.UTC, Inside: []string{"own.example"}, Currency: "USD", Principal: "agent:main"}
	if m.who != "" {
		f.Principal = "agent:" + m.who
	}
	for _, b := range p.Budgets() {
		c := Commitment{Rule: b.Rule, Window: b.Window, Currency: b.Currency, Each: b.Each}
		if b.Rule != "" {
			c.Cents = m.used
		}
		f.Committed = append(f.Committed, c)
	}
	return f
}

// decided is the effect, and the rules that it follows from.
func decided(e Explanation) string {
	var ids []string
	for _, r := range e.Rules {
		if r.Part == PartDecides || r.Part == PartStandsIn {
			ids = append(ids, r.Rule)
		}
	}
	return e.Verdict.Effect.String() + ": " + strings.Join(ids, ", ")
}

func TestTheWorkedPoliciesJudge(t *testing.T) {
	type judged struct {
		action Action
		moment moment
		want   string
	}
	act := func(kind, to, amount string, labels ...string) Action {
		return Action{Type: kind, Title: "x", Recipient: to, Amount: amount, Labels: labels}
	}
	tainted := func(a Action) Action { a.TaintedBy = []string{"mail"}; return a }
	for name, cases := range map[string]map[string]judged{
		"founder": {
			"a renewal within the bounds":      {act("renew", "bill@hosting.example", "49.00 USD"), moment{}, "allow: subscriptions"},
			"a renewal beyond the bounds":      {act("renew", "bill@hosting.example", "51.00 USD"), moment{}, "requires_approval: spending"},
			"a renewal at somebody else's":     {act("renew", "bill@other.example", "49.00 USD"), moment{}, "requires_approval: spending"},
			"a renewal beyond the budget":      {act("renew", "bill@hosting.example", "49.00 USD"), moment{used: 16000}, "requires_approval: spending"},
			"what is beyond the cap":           {act("spend", "v@other.example", "501.00 USD"), moment{}, "deny: caps"},
			"money that no cap names":          {act("spend", "v@other.example", "5.00 EUR"), moment{}, "deny: caps"},
			"a refund":                         {act("refund", "c@mail.example", "30.00 USD"), moment{}, "allow: small-refunds"},
			"a receipt":                        {act("send", "c@mail.example", "", "receipt"), moment{who: "billing"}, "allow: receipts"},
			"a receipt of another agent's":     {act("send", "c@mail.example", "", "receipt"), moment{}, "requires_approval: messages"},
			"a receipt written out of a mail":  {tainted(act("send", "c@mail.example", "", "receipt")), moment{who: "billing"}, "requires_approval: tainted"},
			"the backlog":                      {act("update_board", "", ""), moment{}, "allow: backlog"},
			"the backlog, written out of mail": {tainted(act("update_board", "", "")), moment{}, "requires_approval: tainted"},
			"a transfer":                       {act("transfer", "bank.example", "1.00 USD"), moment{}, "deny: no-transfers"},
			"a deployment":                     {act("deploy", "", ""), moment{}, "requires_approval: production, deploy-soon"},
			"a word that nobody knows":         {act("water_plants", "", ""), moment{}, "requires_approval: unknown"},
		},
		"family": {
			"groceries by day":             {act("order", "shop@greengrocer.example", "18.00 EUR"), moment{who: "household"}, "allow: groceries"},
			"groceries at night":           {act("order", "shop@greengrocer.example", "18.00 EUR"), moment{who: "household", at: "22:00"}, "requires_approval: spending"},
			"groceries for a child":        {act("order", "shop@greengrocer.example", "18.00 EUR"), moment{who: "mia"}, "requires_approval: spending"},
			"pocket money":                 {act("buy", "kiosk.example", "4.50 EUR"), moment{who: "mia"}, "allow: pocket-money"},
			"pocket money that is spent":   {act("buy", "kiosk.example", "4.50 EUR"), moment{who: "tom", used: 800}, "requires_approval: spending"},
			"pocket money for a wager":     {act("buy", "kiosk.example", "4.50 EUR", "gambling"), moment{who: "tom"}, "deny: not-for-children"},
			"too much for one day":         {act("buy", "kiosk.example", "21.00 EUR"), moment{who: "household"}, "deny: caps"},
			"a note to grandma":            {act("send", "oma@mail.example", ""), moment{}, "allow: grandparents"},
			"a visit of grandpa's":         {act("schedule", "opa@mail.example", ""), moment{}, "allow: grandparents"},
			"a note to somebody else":      {act("send", "x@mail.example", ""), moment{}, "requires_approval: messages"},
			"a form for the school":        {act("sign", "school.example", ""), moment{}, "requires_approval: legal, parents-sign"},
			"a call at night":              {act("call", "oma@mail.example", ""), moment{at: "23:30"}, "deny: quiet-nights"},
			"a post by day is still asked": {act("post", "", ""), moment{}, "requires_approval: publishing"},
			"a child's rule, and no child": {act("buy", "kiosk.example", "4.50 EUR", "adult"), moment{who: "visitor"}, "requires_approval: spending"},
		},
		"shop": {
			"news about an order":           {act("email", "c@mail.example", "", "order-update"), moment{who: "orders"}, "allow: order-news"},
			"news that quotes the customer": {tainted(act("email", "c@mail.example", "", "order-update")), moment{who: "orders"}, "requires_approval: messages, tainted"},
			"a refund":                      {act("refund", "c@mail.example", "39.00 EUR"), moment{}, "allow: refunds"},
			"a refund beyond the bound":     {act("refund", "c@mail.example", "41.00 EUR"), moment{}, "requires_approval: spending"},
			"restocking":                    {act("order", "b2b@wholesale.example", "380.00 EUR", "restock"), moment{}, "allow: restock"},
			"restocking when it is spent":   {act("order", "b2b@wholesale.example", "380.00 EUR", "restock"), moment{used: 190000}, "requires_approval: spending"},
			"a large order":                 {act("order", "b2b@wholesale.example", "1200.00 EUR", "restock"), moment{}, "requires_approval: spending, large-orders"},
			"an order beyond the cap":       {act("order", "b2b@wholesale.example", "2001.00 EUR", "restock"), moment{}, "deny: caps"},
			"a price":                       {act("change_price", "", ""), moment{}, "requires_approval: unknown, prices"},
			"a list of customers":           {act("send", "ads@other.example", "", "customer-data"), moment{}, "deny: customer-data"},
			"a list of customers at home":   {act("note", "me@own.example", "", "customer-data"), moment{}, "allow: internal"},
			"a newsletter by day":           {act("publish", "", "", "newsletter"), moment{}, "requires_approval: publishing"},
			"a newsletter at night":         {act("publish", "", "", "newsletter"), moment{at: "03:00"}, "deny: newsletter-by-day"},
		},
		"team": {
			"a tool":                       {act("renew", "bill@saas.example", "99.00 USD", "tooling"), moment{}, "allow: tools"},
			"a dear tool":                  {act("renew", "bill@saas.example", "600.00 USD", "tooling"), moment{}, "requires_approval: spending, large-spend"},
			"too much for one agent":       {act("purchase", "v@saas.example", "1001.00 USD"), moment{}, "deny: caps"},
			"production":                   {act("deploy", "app.team.example", "", "production"), moment{}, "requires_approval: production, two-for-production"},
			"staging":                      {act("deploy", "staging.team.example", ""), moment{}, "allow: staging"},
			"staging that is production":   {act("deploy", "staging.team.example", "", "production"), moment{}, "requires_approval: two-for-production"},
			"staging, out of a strange PR": {tainted(act("deploy", "staging.team.example", "")), moment{}, "requires_approval: production, tainted"},
			"access":                       {act("grant_access", "new@own.example", ""), moment{}, "requires_approval: access, access-by-admins"},
			"a contract":                   {act("sign_contract", "partner.example", ""), moment{}, "requires_approval: legal, contracts"},
			"the team's channel":           {act("message", "#team", ""), moment{}, "allow: team-chat"},
			"another channel":              {act("message", "#customers", ""), moment{}, "requires_approval: messages"},
			"a new rule for itself":        {act("change_policy", "", ""), moment{}, "deny: self-governance"},
		},
		"coding-agent": {
			"tests":                       {act("run_tests", "", ""), moment{}, "allow: own-desk"},
			"a pull request":              {act("open_pull_request", "git.example/acme/app", ""), moment{}, "allow: pull-requests"},
			"a pull request for an issue": {tainted(act("open_pull_request", "git.example/acme/app", "")), moment{}, "allow: pull-requests"},
			"a pull request elsewhere":    {act("open_pull_request", "git.example/other/app", ""), moment{}, "requires_approval: unknown"},
			"rewriting what is shared":    {act("force_push", "git.example/acme/app", "", "shared"), moment{}, "deny: no-rewriting"},
			"rewriting its own branch":    {act("force_push", "git.example/acme/app", ""), moment{}, "requires_approval: destructive"},
			"a dependency":                {act("add_dependency", "", ""), moment{}, "requires_approval: unknown, dependencies"},
			"a release":                   {act("release", "", ""), moment{}, "requires_approval: publishing, releases"},
			"a preview":                   {act("deploy", "preview.acme.example", ""), moment{}, "allow: preview"},
			"production":                  {act("deploy", "acme.example", ""), moment{}, "requires_approval: production"},
			"compute":                     {act("spend", "gpu.example", "1.50 USD", "compute"), moment{}, "allow: runners"},
			"compute when it is spent":    {act("spend", "gpu.example", "1.50 USD", "compute"), moment{used: 700}, "requires_approval: spending"},
			"a key in a comment": {Action{Type: "comment", Title: "x", Recipient: "git.example/acme/app", Body: "AKIAIOSFODNN7EXAMPLE"},
				moment{}, "deny: secrets"},
		},
	} {
		p := worked(t, name)
		if len(cases) < 6 {
			t.Errorf("%s: only %d actions are judged", name, len(cases))
		}
		for sentence, c := range cases {
			t.Run(name+": "+sentence, func(t *testing.T) {
				if err := c.action.Check(); err != nil {
					t.Fatal(err)
				}
				if got := decided(p.Explain(c.action, c.moment.facts(t, p))); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		}
	}
}

func TestTheWorkedPoliciesAreShortWholeAndWithoutWarnings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(docs, "policies", "*.yaml"))
	if err != nil || len(files) != 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		p := worked(t, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		if got := warned(p); got != "" {
			t.Errorf("%s: %s", file, got)
		}
		own := len(p.Rules()) - len(DefaultPolicy().Rules())
		if own < 5 || own > 10 {
			t.Errorf("%s has %d rules of its own", file, own)
		}
		rewritten(t, p)
	}
}

// page is one page of the docs, for what it shows.
func page(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(docs, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var (
	aBlock  = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	aFaulty = regexp.MustCompile(`(?m)^# (?:warned: ([a-z_]+)|refused: (.*))$`)
)

// A block of the page that begins with "# warned: code" or "# refused: words" has
// to do just that.
func TestThePoliciesOfThePageAboutThemLoad(t *testing.T) {
	blocks := aBlock.FindAllStringSubmatch(page(t, "policy.md"), -1)
	if len(blocks) < 8 {
		t.Fatalf("the page has only %d policies", len(blocks))
	}
	for _, b := range blocks {
		says := aFaulty.FindStringSubmatch(b[1])
		p, err := LoadPolicy("page.yaml", []byte(b[1]))
		switch {
		case says != nil && says[2] != "":
			if err == nil || !strings.Contains(err.Error(), says[2]) {
				t.Errorf("it is said to be refused for %q: %v\n%s", says[2], err, b[1])
			}
		case err != nil:
			t.Errorf("%v\n%s", err, b[1])
		case says != nil:
			if !slices.ContainsFunc(p.Warnings(), func(w PolicyWarning) bool { return string(w.Code) == says[1] }) {
				t.Errorf("it is said to be warned of for %q: %s\n%s", says[1], warned(p), b[1])
			}
		default:
			if got := warned(p); got != "" {
				t.Errorf("%s\n%s", got, b[1])
			}
		}
	}
}

func TestThePageShowsTheWorkedPoliciesAsTheyAre(t *testing.T) {
	text := page(t, "policy.md")
	files, _ := filepath.Glob(filepath.Join(docs, "policies", "*.yaml"))
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "```yaml\n"+string(src)+"```\n") {
			t.Errorf("docs/policy.md does not show %s as it is", filepath.Base(file))
		}
	}
}
