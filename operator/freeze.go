package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// FreezeInput says what a person stops, and why.
type FreezeInput struct {
	Scope  string `json:"scope" validate:"required,oneof=project account" doc:"project: this project only. account: every project of the account."`
	Reason string `json:"reason" validate:"required,max=500" doc:"Why, for those who wonder why nothing moves."`
}

// FreezeInfo is a freeze as it is answered.
type FreezeInfo struct {
	ID       int64      `json:"id" doc:"Its number."`
	Scope    string     `json:"scope" doc:"project or account."`
	Reason   string     `json:"why" doc:"Why."`
	FrozenBy string     `json:"frozen_by" doc:"Who froze it."`
	FrozenAt time.Time  `json:"frozen_at" doc:"Since when."`
	LiftedBy *string    `json:"lifted_by" doc:"Who lifted it."`
	LiftedAt *time.Time `json:"lifted_at" doc:"When it was lifted."`
	Created  bool       `json:"created" doc:"Whether this act made it; false where it was frozen before."`
}

type freezeRow struct {
	ID        int64          `db:"id"`
	ProjectID sql.NullInt64  `db:"project_id"`
	Reason    string         `db:"reason"`
	FrozenBy  string         `db:"frozen_by"`
	FrozenAt  int64          `db:"frozen_at"`
	LiftedBy  sql.NullString `db:"lifted_by"`
	LiftedAt  sql.NullInt64  `db:"lifted_at"`
}

const freezeColumns = `id, project_id, reason, frozen_by, frozen_at, lifted_by, lifted_at`

func (r freezeRow) info() FreezeInfo {
	scope := "account"
	if r.ProjectID.Valid {
		scope = "project"
	}
	return FreezeInfo{ID: r.ID, Scope: scope, Reason: gate.Redact(r.Reason), FrozenBy: r.FrozenBy, FrozenAt: core.FromMicros(r.FrozenAt),
		LiftedBy: optional(r.LiftedBy.String), LiftedAt: optionalTime(r.LiftedAt)}
}

// Freeze stops every claim of an outward intent in the person's project, or in the
// whole account, from the moment it answers, in every process: no worker begins
// anything that reaches outside until the freeze is lifted, and no call that spends
// is begun. What a worker holds already goes on. Recording, judging, and everything that stops or takes back go
// on working. Any person whose credential lets them decide may freeze. A second
// freeze answers the one that stands.
func (op *Operator) Freeze(ctx context.Context, p Person, in FreezeInput) (FreezeInfo, error) {
	ctx = core.Urgent(ctx)
	return perform(ctx, op, func(tx core.Tx) (FreezeInfo, error) {
		var out FreezeInfo
		if _, err := p.stand(ctx, tx, core.ScopeIntentsDecide); err != nil {
			return out, err
		}
		if err := checkWords("reason", in.Reason, 500); err != nil {
			return out, err
		}
		project, err := p.frozenProject(in.Scope)
		if err != nil {
			return out, err
		}
		if err := holdClaims(ctx, tx, p.accountID); err != nil {
			return out, err
		}
		n, err := tx.Exec(ctx, `insert into reeve_freezes (account_id, project_id, reason, frozen_by, frozen_at)
			values ($1, $2, $3, $4, $5) on conflict do nothing`, p.accountID, project, in.Reason, p.ID(), tx.Micros())
		if err != nil {
			return out, err
		}
		row, err := standingFreeze(ctx, tx, p.accountID, project)
		if err != nil {
			return out, err
		}
		if out = row.info(); n == 0 {
			return out, nil
		}
		out.Created = true
		audit := p.auditRow(ctx, "freeze")
		audit.Outcome = in.Scope + " frozen"
		return out, tx.Audit(ctx, audit)
	})
}

// UnfreezeInput says which freeze is lifted.
type UnfreezeInput struct {
	Scope string `json:"scope" validate:"required,oneof=project account" doc:"project: the freeze of this project. account: that of the whole account."`
}

// Unfreeze lifts a freeze. It takes an owner or an admin: setting things going
// again asks for more than stopping them. ErrNotFound where nothing is frozen.
func (op *Operator) Unfreeze(ctx context.Context, p Person, in UnfreezeInput) (FreezeInfo, error) {
	ctx = core.Urgent(ctx)
	return perform(ctx, op, func(tx core.Tx) (FreezeInfo, error) {
		var out FreezeInfo
		who, err := p.stand(ctx, tx, core.ScopeIntentsDecide)
		if err != nil {
			return out, err
		}
		if who.Role != RoleOwner && who.Role != RoleAdmin {
			return out, core.Refuse(core.ReasonRoleNotAllowed, "A freeze is lifted by an owner or an admin.")
		}
		project, err := p.frozenProject(in.Scope)
		if err != nil {
			return out, err
		}
		// As a freeze does: one that met the row while it is lifted would find neither.
		if err := holdClaims(ctx, tx, p.accountID); err != nil {
			return out, err
		}
		row, err := standingFreeze(ctx, tx, p.accountID, project)
		if errors.Is(err, sql.ErrNoRows) {
			return out, core.Refuse(core.ReasonNotFound, "No freeze of this %s stands.", in.Scope)
		}
		if err != nil {
			return out, err
		}
		n, err := tx.Exec(ctx, `update reeve_freezes set lifted_by = $1, lifted_at = $2 where id = $3 and lifted_at is null`, p.ID(), tx.Micros(), row.ID)
		if err := changedOne(n, err); err != nil {
			return out, err
		}
		row.LiftedBy, row.LiftedAt = sql.NullString{String: p.ID(), Valid: true}, sql.NullInt64{Int64: tx.Micros(), Valid: true}
		out = row.info()
		tx.AfterCommit(op.changes.raise) // workers that waited may claim
		audit := p.auditRow(ctx, "unfreeze")
		audit.Outcome = in.Scope + " unfrozen"
		return out, tx.Audit(ctx, audit)
	})
}

// frozenProject is the project that a scope names; none for the whole account.
func (p Person) frozenProject(scope string) (sql.NullInt64, error) {
	switch scope {
	case "project":
		return sql.NullInt64{Int64: p.projectID, Valid: true}, nil
	case "account":
		return sql.NullInt64{}, nil
	}
	return sql.NullInt64{}, core.Refuse(core.ReasonInvalidValue, "A freeze is of a project or of an account.").With("field", "scope")
}

func standingFreeze(ctx context.Context, tx core.Tx, account int64, project sql.NullInt64) (freezeRow, error) {
	var row freezeRow
	query, args := `select `+freezeColumns+` from reeve_freezes where account_id = $1 and lifted_at is null and project_id is null`, []any{account}
	if project.Valid {
		query, args = `select `+freezeColumns+` from reeve_freezes where project_id = $1 and lifted_at is null`, []any{project.Int64}
	}
	err := tx.Get(ctx, &row, query+` `+tx.Dialect().ForUpdate, args...)
	return row, err
}

// holdClaims waits for the claims of an account that are under way, and holds back
// those that would begin, until the transaction ends. A claim holds the same lock
// in share (frozen), so that it comes either before a freeze or after it. It is an
// advisory lock, whose waiters have their turn: a row that is held in share by one
// claim after another would never be free. SQLite has one writer.
func holdClaims(ctx context.Context, tx core.Tx, account int64) error {
	return lockClaims(ctx, tx, "pg_advisory_xact_lock", account)
}

func lockClaims(ctx context.Context, tx core.Tx, how string, account int64) error {
	if tx.Dialect().Name != "postgres" {
		return nil
	}
	_, err := tx.Exec(ctx, `select `+how+`(hashtextextended('reeve claims', $1))`, account)
	return err
}

// frozen is why outward intents of a project must not be claimed now, nil where they
// may. It keeps a freeze from coming between this look and the claim.
func frozen(ctx context.Context, tx core.Tx, account, project int64) (*string, error) {
	// What a claim waits for later on (a budget that somebody else's transaction holds)
	// a freeze waits for as well. It is not long: see sqlstore.OpenPostgres.
	if err := lockClaims(ctx, tx, "pg_advisory_xact_lock_shared", account); err != nil {
		return nil, err
	}
	all, err := freezesOf(ctx, tx, account, project)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0].Reason, nil
}

// freezesOf lists the freezes that a project stands under, that of the account first.
func freezesOf(ctx context.Context, tx core.Tx, account, project int64) ([]FreezeInfo, error) {
	var rows []freezeRow
	err := tx.Select(ctx, &rows, `select `+freezeColumns+` from reeve_freezes
		where account_id = $1 and lifted_at is null and (project_id is null or project_id = $2)
		order by case when project_id is null then 0 else 1 end, id`, account, project)
	out := make([]FreezeInfo, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.info())
	}
	return out, err
}

// FreezesOver lists the freezes that a person's project stands under now: its own, and
// that of its account.
func (op *Operator) FreezesOver(ctx context.Context, p Person) ([]FreezeInfo, error) {
	var out []FreezeInfo
	err := op.inView(ctx, func(tx core.Tx) error {
		if _, err := p.live(ctx, tx, ""); err != nil {
			return err
		}
		var err error
		out, err = freezesOf(ctx, tx, p.accountID, p.projectID)
		return err
	})
	return out, err
}

// inward keeps the types that reach nobody outside.
func inward(types []string) []string {
	var out []string
	for _, t := range types {
		if !gate.Outward(t) {
			out = append(out, t)
		}
	}
	return out
}

// Freezes lists the freezes of an account that stand, oldest first.
func (op *Operator) Freezes(ctx context.Context, account string) ([]FreezeInfo, error) {
	out := []FreezeInfo{}
	err := op.inView(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		var rows []freezeRow
		err = tx.Select(ctx, &rows, `select `+freezeColumns+` from reeve_freezes where account_id = $1 and lifted_at is null order by id`, ws.AccountID)
		for _, r := range rows {
			out = append(out, r.info())
		}
		return err
	})
	return out, err
}
