package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// liveness is what a credential's being live depends on.
type liveness struct {
	ExpiresAt     int64         `db:"expires_at"`
	RevokedAt     sql.NullInt64 `db:"revoked_at"`
	PersonRemoved sql.NullInt64 `db:"removed_at"` // of the person behind it, if there is one
}

func (l liveness) alive(now time.Time) *core.Refusal {
	switch {
	case l.RevokedAt.Valid, l.PersonRemoved.Valid:
		return core.Refuse(core.ReasonCredentialRevoked, "The credential was taken back.")
	case core.Micros(now) >= l.ExpiresAt:
		return core.Refuse(core.ReasonCredentialExpired, "The credential expired on %s.", core.FromMicros(l.ExpiresAt).Format(time.DateOnly))
	}
	return nil
}

// livenessColumns and livenessFrom read it in a query whose parameter $2 is the
// credential's number; of a principal without one they answer no row to refuse by.
const (
	livenessColumns = `coalesce(c.expires_at, 0) as expires_at, c.revoked_at, h.removed_at`
	livenessFrom    = `left join reeve_credentials c on c.id = $2 left join reeve_people h on h.id = c.person_id`
)

// present asks for a principal's credential once more, where what it wants is done or
// read: a Principal may be as old as the process. One without a credential, a
// LocalWorker, costs no look.
func present(ctx context.Context, tx core.Tx, p Principal) error {
	if !p.Known() {
		return core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be calling.")
	}
	if p.CredentialID() == 0 {
		return nil
	}
	return aliveStill(ctx, tx, p.CredentialID())
}

func aliveStill(ctx context.Context, tx core.Tx, credential int64) error {
	var l liveness
	err := tx.Get(ctx, &l, `select c.expires_at, c.revoked_at, h.removed_at from reeve_credentials c
		left join reeve_people h on h.id = c.person_id where c.id = $1`, credential)
	if errors.Is(err, sql.ErrNoRows) {
		return core.Refuse(core.ReasonUnauthenticated, "The credential is missing or is not one of ours.")
	}
	if err != nil {
		return err
	}
	return l.refused(tx.Now())
}

// refused is alive as an error.
func (l liveness) refused(now time.Time) error {
	if r := l.alive(now); r != nil {
		return r
	}
	return nil
}

// settingsOf is settings of the project that a principal works in. The same query asks
// whether its credential is live.
func settingsOf(ctx context.Context, tx core.Tx, p Principal) (workspace, error) {
	if p.CredentialID() == 0 {
		return settings(ctx, tx, p.ProjectID())
	}
	var row struct {
		workspace
		liveness
	}
	err := tx.Get(ctx, &row, `select `+settingsColumns+`, `+livenessColumns+` `+settingsFrom+` `+livenessFrom+` where p.id = $1`,
		p.ProjectID(), p.CredentialID())
	if err != nil {
		return workspace{}, err
	}
	return row.workspace, row.refused(tx.Now())
}

// StillLive says whether the credential that proved a principal is live now, for who
// took a while between the proof and the call. A principal without one always is.
func (op *Operator) StillLive(ctx context.Context, p Principal) error {
	if p.CredentialID() == 0 {
		return nil
	}
	return told(ctx, present(ctx, op.db.View(), p))
}
