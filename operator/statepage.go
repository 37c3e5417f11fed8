package operator

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// MaxPageBytes is how long a page of the state may be, in bytes of the indented JSON that
// a caller is shown: under 20,000 tokens, at the 3.5 bytes that a token has in such text.
const MaxPageBytes = 64_000

// aside is what decisions, and likewise lines of the record, may take of a page. What
// they leave is the intents'.
const aside = MaxPageBytes / 4

const maxID = int64(^uint64(0) >> 1)

// places is where each list of a page goes on: before which row. 0 says that the list
// has ended.
type places struct{ intents, decisions, audit int64 }

// readPage reads a page of each list that goes on.
func readPage(ctx context.Context, tx core.Tx, project int64, in StateInput, from places) (out State, err error) {
	out = State{Tasks: []struct{}{}, Runs: []struct{}{}, Intents: []Intent{}, Decisions: []Decision{}, Audit: []AuditEntry{}}
	size, left := pageSize(in), MaxPageBytes
	var next places
	// One more than a page is asked for: it tells whether there is a next one.
	if from.audit > 0 {
		if out.Audit, err = listAudit(ctx, tx, project, 0, from.audit, size+1); err != nil {
			return out, err
		}
		out.Audit, next.audit = fit(out.Audit, size, aside, &left, func(a AuditEntry) int64 { return a.ID })
	}
	if from.decisions > 0 {
		if out.Decisions, err = listDecisions(ctx, tx, project, from.decisions, size+1); err != nil {
			return out, err
		}
		out.Decisions, next.decisions = fit(out.Decisions, size, aside, &left, func(d Decision) int64 { return d.ID })
	}
	if from.intents > 0 {
		if out.Intents, err = listIntents(ctx, tx, project, in, from.intents); err != nil {
			return out, err
		}
		out.Intents, next.intents = fit(out.Intents, size, left, &left, func(i Intent) int64 { return i.ID })
	}
	if next != (places{}) {
		c := next.cursor(project)
		out.NextCursor, out.moreIntents = &c, next.intents > 0
	}
	return out, nil
}

// fit keeps as many rows as a page has room for, one at least, and says where the list
// goes on.
func fit[T any](rows []T, size, room int, left *int, id func(T) int64) (kept []T, next int64) {
	for n, row := range rows {
		cost := shown(row)
		if n == size || n > 0 && cost > room {
			return rows[:n], id(rows[n-1])
		}
		room, *left = room-cost, *left-cost
	}
	return rows, 0
}

// shown is how many bytes a row takes in a page.
func shown(row any) int {
	const punctuation = len(",\n    ")
	text, err := json.Marshal(row, jsontext.WithIndentPrefix("    "), jsontext.WithIndent("  "))
	if err != nil {
		return MaxPageBytes // it will not be written, either
	}
	return len(text) + punctuation
}

// maxReasons bounds how many reasons of a policy a list shows of one intent.
const maxReasons = 10

// short is an intent as a page has room for it.
func short(in Intent) Intent {
	in.Title = cut(in.Title)
	if in.Recipient != nil {
		to := cut(*in.Recipient)
		in.Recipient = &to
	}
	more := len(in.PolicyReasons) - maxReasons
	if more > 0 {
		in.PolicyReasons, in.PolicyRules = in.PolicyReasons[:maxReasons], in.PolicyRules[:min(maxReasons, len(in.PolicyRules))]
	}
	for i, reason := range in.PolicyReasons {
		in.PolicyReasons[i] = cut(reason)
	}
	if more > 0 {
		in.PolicyReasons = append(in.PolicyReasons, fmt.Sprintf("%d more…", more))
	}
	return in
}

// cut shortens a text for a list, and marks it.
func cut(text string) string {
	if words := []rune(text); len(words) > listedOutcome {
		return string(words[:listedOutcome]) + "…"
	}
	return text
}

// cursor names the project it was made in, so that one from elsewhere is refused instead
// of paging through something else.
func (p places) cursor(project int64) string {
	text := strings.Join([]string{"s", itoa(project), itoa(p.intents), itoa(p.decisions), itoa(p.audit)}, ".")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func readCursor(c *string, project int64) (places, error) {
	if c == nil || *c == "" {
		return places{maxID, maxID, maxID}, nil
	}
	bad := core.Refuse(core.ReasonInvalidCursor, "That cursor is not one that this list gave out.")
	text, err := base64.RawURLEncoding.DecodeString(*c)
	if err != nil {
		return places{}, bad
	}
	parts := strings.Split(string(text), ".")
	if len(parts) != 5 {
		return places{}, bad
	}
	var at [3]int64
	for i := range at {
		if at[i], err = strconv.ParseInt(parts[i+2], 10, 64); err != nil || at[i] < 0 {
			return places{}, bad
		}
	}
	// Spelt as it is given out, or not at all.
	if p := (places{at[0], at[1], at[2]}); p != (places{}) && *c == p.cursor(project) {
		return p, nil
	}
	return places{}, bad
}
