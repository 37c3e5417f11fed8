package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

type freezeCmd struct {
	personal `embed:""`
	Account  bool   `help:"The whole account, and not only the project of your credential."`
	Reason   string `arg:"" help:"Why, for those who wonder why nothing moves."`
}

// scopeWord is what a freeze is of.
func scopeWord(account bool) string {
	if account {
		return "account"
	}
	return "project"
}

func (f *freezeCmd) Run(k *kong.Context, c console) error {
	return f.stop(k, c, "freeze", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.Freeze(ctx, person, operator.FreezeInput{Scope: scopeWord(f.Account), Reason: f.Reason})
		out, err = stood(c, out, err)
		if err != nil || f.JSON {
			return answer(c, out, err)
		}
		_, err = fmt.Fprintf(c.out, "Frozen: nothing that reaches outside is begun in this %s. %s froze it at %s.\n", out.Scope, out.FrozenBy, moment(out.FrozenAt))
		return err
	})
}

type unfreezeCmd struct {
	personal `embed:""`
	Account  bool `help:"The freeze of the whole account, and not that of the project."`
}

func (u *unfreezeCmd) Run(k *kong.Context, c console) error {
	return u.do(k, c, "unfreeze", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.Unfreeze(ctx, person, operator.UnfreezeInput{Scope: scopeWord(u.Account)})
		if err != nil || u.JSON {
			return answer(c, out, err)
		}
		_, err = fmt.Fprintf(c.out, "The freeze of this %s is lifted.\n", out.Scope)
		return err
	})
}

// answer prints what an act answered, unless it failed.
func answer(c console, out any, err error) error {
	if err != nil {
		return err
	}
	return printJSON(c.out, out)
}

type standingCmd struct {
	List   standingListCmd   `cmd:"" help:"List the standing approvals of the project."`
	Give   standingGiveCmd   `cmd:"" help:"Allow something from now on, within bounds and until a day."`
	Revoke standingRevokeCmd `cmd:"" help:"Take a standing approval back."`
}

type standingListCmd struct {
	personal `embed:""`
}

func (l *standingListCmd) Run(k *kong.Context, c console) error {
	return l.look(k, c, "list_standing_approvals", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.StandingApprovals(ctx, person)
		if err != nil || l.JSON {
			return answer(c, out, err)
		}
		for _, s := range out.Standing {
			if _, err := fmt.Fprintln(c.out, visibleLine(standingLine(s, op.Now()))); err != nil {
				return err
			}
		}
		return nil
	})
}

// standingLine says of a standing approval what it allows, and whether it holds.
func standingLine(s operator.StandingInfo, now time.Time) string {
	line := fmt.Sprintf("%d  %s, in place of %s", s.ID, strings.Join(s.Types, ", "), strings.Join(s.InsteadOf, ", "))
	if len(s.Recipients) > 0 {
		line += ", to " + strings.Join(s.Recipients, ", ")
	}
	if s.MaxCents != nil {
		line += ", up to " + sum(*s.MaxCents, *s.Currency)
	}
	if s.WindowCents != nil {
		line += " and " + sum(*s.WindowCents, *s.Currency) + " a " + *s.Window
	}
	switch {
	case s.RevokedAt != nil:
		line += "; " + *s.RevokedBy + " took it back at " + moment(*s.RevokedAt)
	case !now.Before(s.Until):
		line += "; it ended at " + moment(s.Until)
	default:
		line += "; until " + moment(s.Until)
	}
	return line + ". " + s.By + ": " + s.Reason
}

func sum(cents int64, currency string) string {
	text, err := gate.Money(gate.Cents(cents), currency)
	if err != nil {
		return fmt.Sprintf("%d minor units of %s", cents, currency)
	}
	return text
}

type standingGiveCmd struct {
	personal    `embed:""`
	Type        []string      `required:"" placeholder:"TYPE" help:"An action type that it allows; can be given several times."`
	To          []string      `placeholder:"PATTERN" help:"To whom: an address, *@x.example, or domain:x.example. Left out: to anybody."`
	MaxCents    *int64        `placeholder:"N" help:"The most that one act may spend, in minor units. Money needs it."`
	Currency    string        `placeholder:"CODE" help:"The currency of the sums; the account's own when left out."`
	Window      string        `enum:",day,week,month,year" default:"" placeholder:"SPAN" help:"day, week, month or year: the window of --window-cents."`
	WindowCents *int64        `placeholder:"N" help:"The most that all acts in one window may spend together."`
	InsteadOf   []string      `required:"" placeholder:"RULE" help:"A rule of the policy that it answers, such as spending; can be given several times."`
	For         time.Duration `required:"" placeholder:"DURATION" help:"How long it holds, such as 720h; at most 366 days."`
	Reason      string        `arg:"" help:"Why, in one sentence; it is shown with everything that it allowed."`
}

func (g *standingGiveCmd) Run(k *kong.Context, c console) error {
	return g.do(k, c, "give_standing_approval", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.StandingApproval(ctx, person, operator.StandingInput{Types: g.Type, Recipients: g.To, MaxCents: minorUnits(g.MaxCents),
			Currency: g.Currency, Window: g.Window, WindowMax: minorUnits(g.WindowCents), InsteadOf: g.InsteadOf, Until: op.Now().Add(g.For), Reason: g.Reason})
		if err != nil || g.JSON {
			return answer(c, out, err)
		}
		_, err = fmt.Fprintln(c.out, visibleLine(standingLine(out, op.Now())))
		return err
	})
}

func minorUnits(n *int64) *gate.Cents {
	if n == nil {
		return nil
	}
	cents := gate.Cents(*n)
	return &cents
}

type standingRevokeCmd struct {
	personal `embed:""`
	ID       int64 `arg:"" help:"Its number."`
}

func (r *standingRevokeCmd) Run(k *kong.Context, c console) error {
	return r.stop(k, c, "revoke_standing_approval", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.RevokeStanding(ctx, person, operator.StandingRef{ID: r.ID})
		out, err = stood(c, out, err)
		if err != nil || r.JSON {
			return answer(c, out, err)
		}
		_, err = fmt.Fprintln(c.out, visibleLine(standingLine(out, op.Now())))
		return err
	})
}
