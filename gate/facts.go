package gate

import (
	"fmt"
	"strings"
	"time"
)

// Facts is what the caller knows and the gate cannot look up. A fact that is
// left out counts against the action: a rule that allows does not match on it,
// a rule that holds back does.
type Facts struct {
	// Now is the moment to judge at. Zero is unknown.
	Now time.Time
	// Zone is the account's time zone, for local hours. Nil is unknown.
	Zone *time.Location
	// Inside lists the account's own addresses ("me@own.example") and domains
	// ("own.example"). Everybody else is outside. A domain does not include
	// its subdomains.
	Inside []string
	// Currency is the account's own: what an amount without one counts in.
	Currency string
	// Committed says how much of each budget is spent or reserved already. A
	// budget with no entry is unknown, and counts as used up; [Policy.Budgets]
	// lists the entries that a policy needs, besides those of Standing.
	Committed []Commitment
	// Standing holds a person's standing approvals: allow rules with an Until.
	// Any other kind of rule in here is judged as it stands, except that an
	// allow with no Until never matches.
	Standing []Rule
	// Principal is the id of who asks. Empty is unknown.
	Principal string
}

// Commitment is what one budget window already holds.
type Commitment struct {
	Rule     string // id of the rule whose budget it is; "" for a cap of the policy
	Window   Window // as in the budget
	Currency string // as in the budget
	Each     Each   // as in the budget; EachPrincipal: what Facts.Principal holds
	Cents    Cents  // minor units, never negative
}

// Each says whose money a budget counts together.
type Each string

// What a budget can be counted by.
const (
	EachAccount   Each = ""          // all that is spent in the account
	EachPrincipal Each = "principal" // what each principal asked for, by itself
)

// Valid reports whether e is one of them.
func (e Each) Valid() bool { return e == EachAccount || e == EachPrincipal }

// Window is the span of local time that a budget covers. Days, weeks, months
// and years are the calendar's, in the account's zone; weeks begin on Monday
// (ISO 8601).
type Window string

// The windows of a budget.
const (
	PerAct   Window = ""
	PerDay   Window = "day"
	PerWeek  Window = "week"
	PerMonth Window = "month"
	PerYear  Window = "year"
)

// Valid reports whether w is one of the windows.
func (w Window) Valid() bool {
	switch w {
	case PerAct, PerDay, PerWeek, PerMonth, PerYear:
		return true
	}
	return false
}

// Bounds returns the window that holds now: from inclusive, to exclusive.
// [PerAct], an invalid window and a nil zone give two zero times.
func (w Window) Bounds(now time.Time, zone *time.Location) (from, to time.Time) {
	if zone == nil {
		return from, to
	}
	y, m, d := now.In(zone).Date()
	day := func(y int, m time.Month, d int) time.Time { return dawn(y, m, d, zone) }
	switch w {
	case PerDay:
		return day(y, m, d), day(y, m, d+1)
	case PerWeek:
		monday := d - (int(now.In(zone).Weekday())+6)%7
		return day(y, m, monday), day(y, m, monday+7)
	case PerMonth:
		return day(y, m, 1), day(y, m+1, 1)
	case PerYear:
		return day(y, 1, 1), day(y+1, 1, 1)
	}
	return from, to
}

// dawn is the first moment of a local day. Where the clock is put forward at
// midnight there is no 00:00, and time.Date may answer a moment of the day before;
// where it is put back over midnight there are two, and it may answer the second.
func dawn(y int, m time.Month, d int, zone *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	// The calendar alone, for a day such as the 32nd.
	if wanted := time.Date(y, m, d, 0, 0, 0, 0, time.UTC); t.Format(time.DateOnly) < wanted.Format(time.DateOnly) {
		_, t = t.ZoneBounds()
	}
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return t
	}
	_, now := t.Zone()
	_, before := start.Add(-time.Nanosecond).Zone()
	if first := t.Add(time.Duration(now-before) * time.Second); first.Before(start) && first.Format(time.DateOnly) == t.Format(time.DateOnly) {
		return first
	}
	return t
}

// Name names the window that holds now, in the order of time: 2026-03-08,
// 2026-W10, 2026-03 or 2026. It is empty where [Window.Bounds] has none. A week
// has the number that ISO 8601 gives it.
func (w Window) Name(now time.Time, zone *time.Location) string {
	if zone == nil {
		return ""
	}
	local := now.In(zone)
	switch w {
	case PerDay:
		return local.Format("2006-01-02")
	case PerWeek:
		year, week := local.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case PerMonth:
		return local.Format("2006-01")
	case PerYear:
		return local.Format("2006")
	}
	return ""
}

// committed looks a budget up. ok is false where the facts do not say.
func (f *Facts) committed(b Budget) (c Cents, ok bool) {
	if b.Each == EachPrincipal && f.Principal == "" {
		return 0, false
	}
	for i := range f.Committed {
		entry := &f.Committed[i]
		if entry.Rule == b.Rule && entry.Window == b.Window && entry.Currency == b.Currency && entry.Each == b.Each {
			return entry.Cents, entry.Cents >= 0
		}
	}
	return 0, false
}

// outside reports whether the recipient of an action is not the account itself.
// Nobody named is outside for an outward type, since the executor may pick
// anybody.
func (f *Facts) outside(a *Action) bool {
	if a.Recipient == "" {
		return Outward(a.Type)
	}
	single := singleAddress(a.Recipient)
	for _, own := range f.Inside {
		if ownAddress(own, a.Recipient, single) {
			return false
		}
	}
	return true
}

// ownAddress compares exactly, but for the ASCII case of the domain. Nothing
// else is folded: a Cyrillic letter never equals a Latin one.
func ownAddress(own, recipient string, single bool) bool {
	if own == "" || !single {
		return own != "" && own == recipient
	}
	if at := strings.LastIndexByte(own, '@'); at >= 0 {
		rat := strings.LastIndexByte(recipient, '@')
		return rat >= 0 && own[:at] == recipient[:rat] && equalASCIIFold(own[at:], recipient[rat:])
	}
	return equalASCIIFold(own, domainOf(recipient))
}

// domainOf returns what is behind the @, or the whole text where there is none.
func domainOf(recipient string) string {
	return recipient[strings.LastIndexByte(recipient, '@')+1:]
}

// singleAddress reports whether the text can only be read as one plain
// recipient. Lists, display names, quoted parts, source routes, a trailing dot,
// and an @ inside of an URL can be read in several ways, so patterns must not
// vouch for them.
func singleAddress(recipient string) bool {
	ats, slashes := 0, 0
	for i := range len(recipient) {
		switch role := addressRoles[recipient[i]]; role {
		case roleAt:
			ats++
		case roleSlash:
			slashes++
		case roleAmbiguous:
			return false
		}
	}
	if ats > 1 || (ats == 1 && slashes > 0) {
		return false
	}
	return recipient != "" && recipient[len(recipient)-1] != '.'
}

// The roles of a byte in a recipient; most bytes have none.
const (
	roleAt = 1 + iota
	roleSlash
	roleAmbiguous
)

var addressRoles = func() (table [256]uint8) {
	for c := range ' ' + 1 {
		table[c] = roleAmbiguous
	}
	for _, c := range []byte(",;<>()[]\"\\%!\x7f") {
		table[c] = roleAmbiguous
	}
	for _, c := range []byte("/:?#") {
		table[c] = roleSlash
	}
	table['@'] = roleAt
	return table
}()

// equalASCIIFold compares, taking A to Z as a to z and nothing else as equal.
func equalASCIIFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
