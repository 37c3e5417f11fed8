package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Credential is what may be told of a credential: everything but the token,
// which nobody has any more.
type Credential struct {
	ID         string     `json:"id"`
	Principal  string     `json:"principal"`
	Kind       Kind       `json:"kind"`
	Name       string     `json:"name"`
	Project    string     `json:"project"`
	Scopes     []Scope    `json:"scopes"`
	InstanceID string     `json:"instance_id"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  time.Time  `json:"expires_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
}

// Credentials lists an account's credentials, oldest first.
func (op *Operator) Credentials(ctx context.Context, account string) ([]Credential, error) {
	ws, err := findWorkspace(ctx, op.db.View(), account, "")
	if err != nil {
		return nil, err
	}
	var rows []credentialRow
	if err := op.db.View().Select(ctx, &rows, credentialQuery+`where c.account_id = $1 order by c.id`, ws.AccountID); err != nil {
		return nil, err
	}
	out := make([]Credential, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.told())
	}
	return out, nil
}

// told is what may be told of a credential.
func (r credentialRow) told() Credential {
	p := r.principal(core.ViaLibrary)
	return Credential{ID: r.UID, Principal: p.ID(), Kind: r.Kind, Name: r.Name, Project: r.Project,
		Scopes: p.Scopes(), InstanceID: r.InstanceID, CreatedAt: core.FromMicros(r.CreatedAt),
		ExpiresAt: core.FromMicros(r.ExpiresAt), RevokedAt: optionalTime(r.RevokedAt), LastUsedAt: optionalTime(r.LastUsedAt)}
}

// RevokeCredential takes a credential back, named by its id or as kind:name. It holds from the next look at the database, in every process.
// Revoking it again changes nothing.
func (op *Operator) RevokeCredential(ctx context.Context, account, id string) error {
	ctx = core.Urgent(ctx)
	return op.inTx(ctx, func(tx core.Tx) error {
		row, ws, err := findCredential(ctx, tx, account, id)
		if err != nil {
			return err
		}
		n, err := revoke(ctx, tx, row.ID)
		if err != nil || n == 0 {
			return err
		}
		return auditLocal(ctx, tx, ws, "credential_revoke", row.principal(core.ViaLibrary).ID())
	})
}

// RotateCredential makes a new token for the same principal and takes the old
// one back in the same transaction, so that never both and never neither works.
func (op *Operator) RotateCredential(ctx context.Context, account, id string) (Minted, error) {
	var out Minted
	err := op.inTx(ctx, func(tx core.Tx) error {
		row, ws, err := findCredential(ctx, tx, account, id)
		if err != nil {
			return err
		}
		// The person first, and then what hangs on them, as their removal has it.
		if row.Kind == KindHuman {
			if _, err := livePerson(ctx, tx, ws.AccountID, row.Handle.String, sharedRow(tx)); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		if n, err := revoke(ctx, tx, row.ID); err != nil {
			return err
		} else if n == 0 {
			return core.Refuse(core.ReasonCredentialRevoked, "That credential was taken back; make a new one.")
		}
		life := time.Duration(row.ExpiresAt-row.CreatedAt) * time.Microsecond
		out, err = mint(ctx, tx, row.workspace, NewCredential{Kind: row.Kind, Name: row.Name, Person: row.Handle.String,
			Scopes: core.SplitScopes(row.Scopes), Interactive: row.Interactive == 1, Life: life})
		return err
	})
	return out, err
}

func revoke(ctx context.Context, tx core.Tx, id int64) (int64, error) {
	return tx.Exec(ctx, `update reeve_credentials set revoked_at = $1 where id = $2 and revoked_at is null`, tx.Micros(), id)
}

// findCredential takes an id, or the kind and name of a live credential as kind:name.
func findCredential(ctx context.Context, tx core.Tx, account, id string) (credentialRow, workspace, error) {
	ws, err := findWorkspace(ctx, tx, account, "")
	if err != nil {
		return credentialRow{}, ws, err
	}
	var rows []credentialRow
	err = tx.Select(ctx, &rows, credentialQuery+`where c.account_id = $1
		and (c.uid = $2 or (c.kind || ':' || c.name = $2 and c.revoked_at is null))`, ws.AccountID, id)
	if err != nil {
		return credentialRow{}, ws, err
	}
	if len(rows) != 1 {
		return credentialRow{}, ws, core.Refuse(core.ReasonNotFound, "No credential %q is live in this account.", id)
	}
	return rows[0], ws, nil
}

func optionalTime(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	t := core.FromMicros(us.Int64)
	return &t
}
