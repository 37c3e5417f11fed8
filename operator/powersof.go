package operator

import (
	"context"
	"database/sql"
	"errors"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Powers is what others let a principal do beside its credential: the account's
// kit, and whether a person let it spend.
type Powers = core.Powers

// powersRow is that as one query reads it.
type powersRow struct {
	kitRow
	SpendUntil sql.NullInt64 `db:"spend_until"`
}

// spendUntil is SQL for the end of the last spending grant of a principal that was
// neither taken back nor given by somebody who has left.
func spendUntil(account, principal string) string {
	return `(select max(g.until) from reeve_spending_grants g join reeve_people o on o.id = g.person_id
		where g.account_id = ` + account + ` and g.principal = ` + principal + ` and g.revoked_at is null and o.removed_at is null) as spend_until`
}

func (r powersRow) powers() (Powers, error) {
	kit, err := r.kit()
	out := Powers{Kit: kit}
	if r.SpendUntil.Valid {
		out.SpendUntil = core.FromMicros(r.SpendUntil.Int64)
	}
	return out, err
}

// PowersOf reads what a principal's account and its people let it do now, in every
// process alike. One whose credential is no longer live may do nothing, and is refused.
func (op *Operator) PowersOf(ctx context.Context, p Principal) (Powers, error) {
	var row struct {
		powersRow
		liveness
	}
	err := op.db.View().Get(ctx, &row, `select `+kitColumns+`, `+spendUntil("a.id", "$3")+`, `+livenessColumns+`
		from reeve_accounts a left join reeve_kits k on k.account_id = a.id `+livenessFrom+` where a.id = $1`, p.AccountID(), p.CredentialID(), p.ID())
	if errors.Is(err, sql.ErrNoRows) {
		return Powers{}, core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be calling.")
	}
	if err != nil {
		return Powers{}, told(ctx, err)
	}
	if refusal := row.alive(op.db.Clock.Now()); refusal != nil && p.CredentialID() != 0 {
		return Powers{}, refusal
	}
	out, err := row.powers()
	return out, told(ctx, err)
}
