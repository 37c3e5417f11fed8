package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

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

On a terminal, approve shows what would be carried out and asks. Elsewhere it wants --digest, as show prints it: nobody approves what they did not see.`
}

type inboxListCmd struct {
	personal `embed:""`
	Limit    int `default:"50" help:"At most so many; ${default} when left out."`
}

func (l *inboxListCmd) Run(k *kong.Context, c console) error {
	if l.Limit < 1 {
		return usagef("--limit must be at least 1")
	}
	return l.do(k, c, "inbox_list", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		found, err := op.Waiting(ctx, person, l.Limit)
		if err != nil {
			return err
		}
		if l.JSON {
			return printJSON(c.out, map[string]any{"intents": found})
		}
		return listWaiting(c.out, op.Now(), found, l.Limit)
	})
}

type inboxShowCmd struct {
	personal `embed:""`
	ID       int64 `arg:"" help:"The intent's number."`
}

func (s *inboxShowCmd) Run(k *kong.Context, c console) error {
	return s.do(k, c, "inbox_show", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		in, err := op.ShowIntent(ctx, person, s.ID)
		if err != nil {
			return err
		}
		if s.JSON {
			return printJSON(c.out, in)
		}
		showIntent(c.out, op.Now(), in)
		return nil
	})
}

// listWaiting prints what waits, and apart from it what nobody knows the end of.
func listWaiting(w io.Writer, now time.Time, found []operator.Intent, limit int) error {
	var waiting, unknown []operator.Intent
	for _, in := range found {
		if in.Status == gate.StatusUnknown {
			unknown = append(unknown, in)
		} else {
			waiting = append(waiting, in)
		}
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(w, "Nothing waits for you.")
		return err
	}
	if err := listTable(w, now, "Waiting for you:", waiting); err != nil {
		return err
	}
	if err := listTable(w, now, "Nobody knows whether these were carried out; find out, then settle them:", unknown); err != nil {
		return err
	}
	if len(found) == limit {
		fmt.Fprintf(w, "There may be more: this is the oldest %d (--limit).\n", limit)
	}
	return nil
}

func listTable(w io.Writer, now time.Time, heading string, list []operator.Intent) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintln(w, heading)
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  ID\tTYPE\tAMOUNT\tEXPIRES IN\tTO\tTITLE")
	for _, in := range list {
		fmt.Fprintf(table, "  %d\t%s\t%s\t%s\t%s\t%s\n", in.ID, visibleLine(in.ActionType), moneyOf(in), expiresIn(in, now),
			short(visibleLine(orDash(in.Recipient)), 40), short(visibleLine(in.Title), 80))
	}
	return table.Flush()
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

// printJSON prints a value for programs.
func printJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
