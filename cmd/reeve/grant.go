package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type grantCmd struct {
	List   grantListCmd   `cmd:"" help:"List the spending grants of the account."`
	Give   grantGiveCmd   `cmd:"" help:"Press Start: let somebody call the tools that spend."`
	Revoke grantRevokeCmd `cmd:"" help:"Take a spending grant back; it ends with the very next call."`
}

type grantListCmd struct {
	personal `embed:""`
}

func (l *grantListCmd) Run(k *kong.Context, c console) error {
	return l.look(k, c, "list_spending_grants", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.SpendingGrants(ctx, person)
		if err != nil || l.JSON {
			return answer(c, out, err)
		}
		for _, g := range out.Grants {
			if err := printGrant(c, op, g); err != nil {
				return err
			}
		}
		return nil
	})
}

type grantGiveCmd struct {
	personal   `embed:""`
	LimitCents *int64        `placeholder:"N" help:"The most that it may spend in all, in minor units; without a limit when left out."`
	Currency   string        `placeholder:"CODE" help:"The currency of the limit; the account's own when left out."`
	For        time.Duration `required:"" placeholder:"DURATION" help:"How long it holds, such as 720h; at most 366 days."`
	Principal  string        `arg:"" help:"Who may spend, such as agent:agent."`
	Reason     string        `arg:"" help:"Why, in one sentence."`
}

func (g *grantGiveCmd) Run(k *kong.Context, c console) error {
	return g.do(k, c, "grant_spending", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.GrantSpending(ctx, person, operator.GrantInput{Principal: g.Principal, Until: op.Now().Add(g.For), Reason: g.Reason,
			Limit: minorUnits(g.LimitCents), Currency: g.Currency})
		if err != nil || g.JSON {
			return answer(c, out, err)
		}
		return printGrant(c, op, out)
	})
}

type grantRevokeCmd struct {
	personal `embed:""`
	ID       int64 `arg:"" help:"Its number."`
}

func (r *grantRevokeCmd) Run(k *kong.Context, c console) error {
	return r.stop(k, c, "revoke_spending", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.RevokeSpending(ctx, person, operator.GrantRef{ID: r.ID})
		out, err = stood(c, out, err)
		if err != nil || r.JSON {
			return answer(c, out, err)
		}
		return printGrant(c, op, out)
	})
}

// printGrant says of a spending grant whom it lets spend, how far, and whether it runs.
func printGrant(c console, op *operator.Operator, g operator.GrantInfo) error {
	line := fmt.Sprintf("%d  %s", g.ID, g.Principal)
	if g.Limit == nil {
		line += ", without a limit"
	} else {
		line += ", " + sum(g.Used, *g.Currency) + " of " + sum(*g.Limit, *g.Currency)
	}
	switch {
	case g.RevokedAt != nil:
		line += "; " + *g.RevokedBy + " took it back at " + moment(*g.RevokedAt)
	case !op.Now().Before(g.Until):
		line += "; it ended at " + moment(g.Until)
	case !g.Running:
		line += "; it ended with " + g.Owner
	default:
		line += "; until " + moment(g.Until)
	}
	_, err := fmt.Fprintln(c.out, visibleLine(line+". "+g.Owner+": "+g.Reason))
	return err
}
