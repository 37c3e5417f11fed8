package gate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// milder lists the ways in which is holds back less than was, which holds back.
func milder(was, is *Rule) (ways []way) {
	if is.Effect == Allow {
		return []way{{LoosensEffect, "it is an allow now, and was " + was.Effect.String()}}
	}
	if is.Effect.strict() < was.Effect.strict() {
		ways = append(ways, way{LoosensEffect, "its effect is " + is.Effect.String() + ", was " + was.Effect.String()})
	}
	if keys := is.Match.notCovering(&was.Match); len(keys) > 0 {
		ways = append(ways, way{LoosensHeldNarrowed, "it holds back less (" + changes(keys, &was.Match, &is.Match) + ")"})
	}
	if was.Effect == RequiresApproval && is.Effect == RequiresApproval {
		ways = append(ways, easier(was.Approval, is.Approval)...)
	}
	refusesAll := is.Effect.strict() == Deny && !is.Match.Unknown && !is.Match.OverBudget
	if was.Budget != nil && !refusesAll {
		ways = append(ways, spendsMore(was, is)...)
	}
	return ways
}

// easier lists the ways in which approving takes less. A rule that gave no expires
// promised none.
func easier(was, is Approval) (ways []way) {
	before, now := max(1, was.Quorum), max(1, is.Quorum)
	if now < before {
		ways = append(ways, way{LoosensApproval, fmt.Sprintf("it takes %s, and took %s", people(now), people(before))})
	}
	if rolesOf(is.From)&^rolesOf(was.From) != 0 {
		ways = append(ways, way{LoosensApproval, "it may be approved by " + anyRole(is.From) + ", and was by " + anyRole(was.From)})
	}
	if was.Expires > 0 && (is.Expires == 0 || is.Expires > was.Expires) {
		ways = append(ways, way{LoosensApproval, "it waits " + hours(is.Expires) + ", and waited " + hours(was.Expires)})
	}
	return ways
}

// widened lists the ways in which is, an allow, speaks where was did not.
func widened(was, is *Rule) (ways []way) {
	if keys := was.Match.notCovering(&is.Match); len(keys) > 0 {
		ways = append(ways, way{LoosensAllowWidened, "it allows more (" + changes(keys, &was.Match, &is.Match) + ")"})
	}
	if !was.Until.IsZero() && (is.Until.IsZero() || is.Until.After(was.Until)) {
		ways = append(ways, way{LoosensUntil, "it ends " + endText(is.Until) + ", and ended " + endText(was.Until)})
	}
	if was.Budget != nil {
		ways = append(ways, spendsMore(was, is)...)
	}
	return ways
}

// spendsMore compares two budgets. What is committed is kept by rule, window,
// currency and holder, so a change of any of them begins at nothing.
func spendsMore(was, is *Rule) []way {
	b, n := was.Budget, is.Budget
	switch {
	case n == nil:
		return []way{{LoosensBudget, "it has no budget, and had " + b.text()}}
	case n.Window != b.Window || n.Currency != b.Currency || n.Each != b.Each:
		return []way{{LoosensBudget, "its budget is counted anew (" + n.text() + ", was " + b.text() + ")"}}
	case n.Max > b.Max:
		return []way{{LoosensBudget, "its budget is " + n.text() + ", was " + b.text()}}
	case is.ID != was.ID:
		return []way{{LoosensBudget, "its budget was that of rule " + was.ID + ", and is counted anew"}}
	}
	return nil
}

// changes writes the old and the new of the named conditions.
func changes(keys []string, was, is *Match) string {
	parts := make([]string, len(keys))
	for i, key := range keys {
		parts[i] = key + " " + is.asks(key) + ", was " + was.asks(key)
	}
	return strings.Join(parts, "; ")
}

// asks writes one condition of a match.
func (m *Match) asks(key string) string {
	for i := range conditions {
		if c := &conditions[i]; c.name == key && c.given(m) {
			return c.asks(m)
		}
	}
	return "anything"
}

// summary writes a match in one phrase.
func (m *Match) summary() string {
	var parts []string
	for i := range conditions {
		if c := &conditions[i]; c.given(m) {
			parts = append(parts, c.name+" "+c.asks(m))
		}
	}
	if len(parts) == 0 {
		return "everything"
	}
	return "what has " + strings.Join(parts, ", ")
}

func says(e Effect) string {
	switch e.strict() {
	case Allow:
		return "allows"
	case RequiresApproval:
		return "asks a person about"
	}
	return "denies"
}

func did(e Effect) string {
	if e.strict() == RequiresApproval {
		return "asked a person about"
	}
	return "denied"
}

func people(n int) string {
	if n == 1 {
		return "1 person"
	}
	return strconv.Itoa(n) + " people"
}

func anyRole(names []string) string {
	if len(names) == 0 {
		return "anybody"
	}
	return strings.Join(names, ", ")
}

func hours(d time.Duration) string {
	if d == 0 {
		return "as long as the other rules say, mostly " + hours(DefaultExpiry)
	}
	text := d.String()
	if short, whole := strings.CutSuffix(text, "m0s"); whole {
		text = short + "m"
	}
	if short, whole := strings.CutSuffix(text, "h0m"); whole {
		text = short + "h"
	}
	return text
}

func endText(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

func (b *Budget) text() string { return bound(b.Max, b.Currency, b.Window, b.Each) }

func (c Cap) text() string { return bound(c.Max, c.Currency, c.Window, c.Each) }

// bound writes an amount with the window that it is for.
func bound(max Cents, code string, window Window, each Each) string {
	text := moneyText(max, code) + " for a single act"
	if window != PerAct {
		text = moneyText(max, code) + " a " + string(window)
	}
	if each != EachAccount {
		text += " for each " + string(each)
	}
	return text
}
