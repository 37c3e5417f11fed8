package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

type inboxCmd struct {
	List    inboxListCmd    `cmd:"" default:"withargs" help:"List what waits for you."`
	Show    inboxShowCmd    `cmd:"" help:"Show exactly what would be carried out."`
	Approve inboxApproveCmd `cmd:"" help:"Countersign exactly what you saw."`
	Edit    inboxEditCmd    `cmd:"" help:"Put your own version in its place."`
	Respond inboxRespondCmd `cmd:"" help:"Send words back, and leave it waiting."`
	Reject  inboxRejectCmd  `cmd:"" help:"Refuse it for good."`
	Ignore  inboxIgnoreCmd  `cmd:"" help:"Close it without a judgement."`
	Revoke  inboxRevokeCmd  `cmd:"" help:"Take it back before a worker has claimed it."`
	Settle  inboxSettleCmd  `cmd:"" help:"Say what became of one that nobody knows of."`
	Reissue inboxReissueCmd `cmd:"" help:"Give a rejected, failed or expired one another chance."`
}

func (*inboxCmd) Help() string {
	return `You prove who you are with your own credential, typed at a prompt or kept in a file that only you can read:

    reeve inbox --token-file ~/.config/reeve/token
    export REEVE_TOKEN_FILE=~/.config/reeve/token
    reeve inbox show 7
    reeve inbox approve 7

On a terminal, approve shows what would be carried out and asks you to type a word it made up just then. Elsewhere it wants --digest, as show prints it: nobody approves what they did not see. What stands to the right of a │ is data, whoever wrote it; ⟨U+200C⟩ and ⟨40 spaces⟩ stand for what would not be seen.`
}

type inboxListCmd struct {
	personal `embed:""`
	Limit    int `default:"50" help:"At most so many; ${default} when left out."`
}

func (l *inboxListCmd) Run(k *kong.Context, c console) error {
	if l.Limit < 1 {
		return usagef("--limit must be at least 1")
	}
	return l.look(k, c, "inbox_list", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		found, err := op.Waiting(ctx, person, l.Limit)
		if err != nil {
			return err
		}
		if l.JSON {
			return printJSON(c.out, map[string]any{"intents": found})
		}
		listWaiting(c.out, op.Now(), found, l.Limit)
		return l.tellFrozen(ctx, c, op, person)
	})
}

// tellFrozen says that nothing that reaches outside moves, and why, where that is so.
func (p *personal) tellFrozen(ctx context.Context, c console, op *operator.Operator, person operator.Person) error {
	all, err := op.FreezesOver(ctx, person)
	if err != nil || p.JSON {
		return err
	}
	for _, f := range all {
		fmt.Fprintln(c.out, visibleLine(fmt.Sprintf("Frozen: nothing that reaches outside is begun in this %s since %s. %s: %s", f.Scope, moment(f.FrozenAt), f.FrozenBy, f.Reason)))
	}
	return nil
}

type inboxShowCmd struct {
	personal `embed:""`
	ID       int64 `arg:"" help:"The intent's number."`
}

func (s *inboxShowCmd) Run(k *kong.Context, c console) error {
	return s.look(k, c, "inbox_show", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		in, err := op.ShowIntent(ctx, person, s.ID)
		if err != nil {
			return err
		}
		if s.JSON {
			return printJSON(c.out, in)
		}
		showIntent(c.out, op.Now(), in)
		return s.tellFrozen(ctx, c, op, person)
	})
}

// listWaiting prints what waits, and apart from it what nobody knows the end of.
func listWaiting(w io.Writer, now time.Time, found []operator.Intent, limit int) {
	var waiting, unknown []operator.Intent
	for _, in := range found {
		if in.Status == gate.StatusUnknown {
			unknown = append(unknown, in)
		} else {
			waiting = append(waiting, in)
		}
	}
	p := newPage(w)
	if len(found) == 0 {
		p.say("Nothing waits for you.")
	}
	p.intents(now, "Waiting for you:", waiting)
	p.intents(now, "Nobody knows whether these were carried out; find out, then settle them:", unknown)
	if len(found) == limit {
		p.say("There may be more: this is the oldest %d (--limit).", limit)
	}
}

// The columns of the list that hold what somebody else wrote, and their greatest
// widths in cells.
const (
	typeColumn, toColumn, titleColumn = 1, 4, 5
	widestTo, widestTitle             = 40, 80
)

func (p *page) intents(now time.Time, heading string, list []operator.Intent) {
	if len(list) == 0 {
		return
	}
	p.say("%s", heading)
	t := table{page: p}
	t.row(plain("ID"), plain("TYPE"), plain("AMOUNT"), plain("EXPIRES IN"), plain("TO"), plain("TITLE"))
	for _, in := range list {
		t.row(plain(strconv.FormatInt(in.ID, 10)), visible(in.ActionType, exactly().cell()), plain(moneyOf(in)), plain(expiresIn(in, now)),
			cut(visible(orDash(in.Recipient), exactly().watched().cell()), widestTo), cut(visible(in.Title, prose().watched().cell()), widestTitle))
	}
	t.print(squeeze{titleColumn, 24}, squeeze{toColumn, 20}, squeeze{titleColumn, 12}, squeeze{toColumn, 12},
		squeeze{typeColumn, 8}, squeeze{titleColumn, 5}, squeeze{toColumn, 5})
}

func orDash(s *string) string {
	if s == nil || *s == "" {
		return "-"
	}
	return *s
}

// moneyOf is the amount as people write it, or a dash.
func moneyOf(in operator.Intent) string {
	if in.AmountCents == nil || in.Currency == nil {
		return "-"
	}
	money, err := gate.Money(gate.Cents(*in.AmountCents), *in.Currency)
	if err != nil {
		return fmt.Sprintf("%d minor units of %s", *in.AmountCents, visibleLine(*in.Currency))
	}
	return money
}

func expiresIn(in operator.Intent, now time.Time) string {
	if in.ExpiresAt == nil {
		return "-"
	}
	return inWords(in.ExpiresAt.Sub(now))
}

// printJSON prints a value for programs. People look at it too, on a terminal or
// in their editor, so that a character which does not show itself is escaped: it
// is the same JSON value.
func printJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", escaped(text))
	return err
}

// escaped writes what does not show itself as \uXXXX. Outside its strings JSON is
// plain ASCII, so that only strings change.
func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || r >= ' ' && r <= '~' || r > '~' && escapeless(r):
			out = utf8.AppendRune(out, r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
	}
	return out
}

// escapeless tells whether a character may stand for itself in JSON: the brackets
// of our notes may, since there are no notes in it.
func escapeless(r rune) bool { return shows(r) || r == '⟨' || r == '⟩' }
