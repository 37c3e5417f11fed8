package operator

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// tokenSecret is how many URL-safe characters of a token are random: 43 of six
// bits hold 256 bits and a little more.
const tokenSecret = 43

// MaxLife bounds how long a credential may live: two years.
const MaxLife = 2 * 365 * 24 * time.Hour

// NewCredential says which credential to make.
type NewCredential struct {
	Kind             Kind
	Name             string // unique among the live ones of its kind in the account
	Account, Project string // "": default
	Person           string // the handle of the person, for KindHuman
	Scopes           []Scope
	Interactive      bool          // a person is present behind it; only for KindHuman
	Life             time.Duration // 0: 90 days
}

// Minted is a credential that was just made. Token is shown once: only its
// SHA-256 is kept.
type Minted struct {
	Token      string    `json:"token"`
	ID         string    `json:"id"`
	Principal  string    `json:"principal"`
	InstanceID string    `json:"instance_id"`
	ProjectID  string    `json:"project_id"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// CreateCredential makes a credential. It is an administrative act on the
// database: whoever can open that is the root of trust.
func (op *Operator) CreateCredential(ctx context.Context, in NewCredential) (Minted, error) {
	var out Minted
	err := op.inTx(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, in.Account, in.Project)
		if err != nil {
			return err
		}
		out, err = mint(ctx, tx, ws, in)
		return err
	})
	return out, err
}

func mint(ctx context.Context, tx core.Tx, ws workspace, in NewCredential) (Minted, error) {
	if err := in.check(); err != nil {
		return Minted{}, err
	}
	principal := string(in.Kind) + ":" + in.Name
	var person sql.NullInt64
	if in.Kind == KindHuman {
		id, err := livePerson(ctx, tx, ws.AccountID, in.Person, sharedRow(tx))
		if err != nil {
			return Minted{}, err
		}
		person, principal = sql.NullInt64{Int64: id, Valid: true}, humanID(in.Person)
	}
	m := Minted{Token: "rv_" + string(in.Kind) + "_" + core.RandomText(tokenSecret), ID: core.NewUUID(), Principal: principal,
		InstanceID: core.NewUUID(), ProjectID: ws.ProjectUID, ExpiresAt: tx.Now().Add(in.life())}
	n, err := tx.Exec(ctx, `insert into reeve_credentials
		(uid, account_id, project_id, kind, name, person_id, scopes, interactive, hash, instance_id, created_at, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		on conflict (account_id, kind, name) where revoked_at is null do nothing`,
		m.ID, ws.AccountID, ws.ProjectID, string(in.Kind), in.Name, person, core.JoinScopes(in.Scopes), bit(in.Interactive),
		hashToken(m.Token), m.InstanceID, tx.Micros(), core.Micros(m.ExpiresAt))
	if err != nil {
		return Minted{}, err
	}
	if n == 0 {
		return Minted{}, core.Refuse(core.ReasonTaken, "A live %s credential is already named %q: rotate or revoke it, or choose another name.", in.Kind, in.Name)
	}
	return m, auditLocal(ctx, tx, ws, "credential_create", principal)
}

func (in NewCredential) check() error {
	switch {
	case !isOneOf(in.Kind, core.Kinds()):
		return core.Refuse(core.ReasonInvalidValue, "A credential's kind is one of human, agent, worker and channel.")
	case !slugForm.MatchString(in.Name):
		return core.Refuse(core.ReasonInvalidValue, "A credential's name is a lower-case letter and up to 39 letters, digits or dashes.")
	case in.Kind == KindWorker && strings.HasPrefix(in.Name, localPrefix):
		return core.Refuse(core.ReasonInvalidValue, "Names that begin with %s are kept for workers without a credential.", localPrefix)
	case in.Kind == KindHuman && in.Person == "":
		return core.Refuse(core.ReasonMissingField, "A human credential belongs to a person: give the handle.")
	case in.Kind != KindHuman && (in.Person != "" || in.Interactive):
		return core.Refuse(core.ReasonInvalidValue, "Only a human credential has a person or is interactive.")
	case in.Kind == KindChannel && isOneOf(Via(in.Name), core.Vias()):
		return core.Refuse(core.ReasonInvalidValue, "A channel is named after its service, and %q is a way in that reeve stamps itself.", in.Name)
	case in.Life != 0 && (in.Life < time.Second || in.Life > MaxLife):
		return core.Refuse(core.ReasonInvalidValue, "A credential lives between one second and two years.")
	}
	for _, s := range in.Scopes {
		if !isOneOf(s, core.Scopes()) {
			return core.Refuse(core.ReasonInvalidValue, "There is no scope %q.", s).With("scopes", core.Scopes())
		}
	}
	return nil
}

func (in NewCredential) life() time.Duration {
	if in.Life == 0 {
		return 90 * 24 * time.Hour
	}
	return in.Life
}

func hashToken(token string) string { return core.SHA256Hex([]byte(token)) }

func humanID(handle string) string { return "human:" + handle }

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func isOneOf[T comparable](x T, all []T) bool {
	for _, a := range all {
		if a == x {
			return true
		}
	}
	return false
}

// wellFormed tells a token's shape before anything is looked up by it.
func wellFormed(token string) bool {
	rest, ok := strings.CutPrefix(token, "rv_")
	if !ok {
		return false
	}
	kind, secret, ok := strings.Cut(rest, "_")
	if !ok || !isOneOf(Kind(kind), core.Kinds()) || len(secret) != tokenSecret {
		return false
	}
	return strings.Trim(secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

type credentialRow struct {
	workspace
	ID          int64          `db:"id"`
	UID         string         `db:"uid"`
	Kind        Kind           `db:"kind"`
	Name        string         `db:"name"`
	PersonID    sql.NullInt64  `db:"person_id"`
	Handle      sql.NullString `db:"handle"`
	Role        sql.NullString `db:"role"`
	Scopes      string         `db:"scopes"`
	Interactive int64          `db:"interactive"`
	Hash        string         `db:"hash"`
	InstanceID  string         `db:"instance_id"`
	CreatedAt   int64          `db:"created_at"`
	LastUsedAt  sql.NullInt64  `db:"last_used_at"`
	liveness
	powersRow
	Powers Powers `db:"-"` // read out of powersRow
}

// credentialQuery answers whose a credential is, and what others let that principal do.
var credentialQuery = `select c.id, c.uid, c.kind, c.name, c.person_id, c.scopes, c.interactive, c.hash, c.instance_id,
	c.created_at, c.expires_at, c.revoked_at, c.last_used_at, h.handle, h.role, h.removed_at,
	a.id as account_id, a.slug as account, a.zone, a.currency, a.inside, p.id as project_id, p.slug as project, p.uid as project_uid,
	` + kitColumns + `, ` + spendUntil("c.account_id", `case c.kind when 'human' then 'human:' || h.handle else c.kind || ':' || c.name end`) + `
	from reeve_credentials c join reeve_accounts a on a.id = c.account_id join reeve_projects p on p.id = c.project_id
	left join reeve_people h on h.id = c.person_id left join reeve_kits k on k.account_id = c.account_id `

// Authenticate resolves a credential to the principal behind it. It looks at the
// database on every call, so that what was taken back a moment ago is taken
// back. Errors: ErrUnauthenticated, ErrCredentialExpired, ErrCredentialRevoked.
func (op *Operator) Authenticate(ctx context.Context, token string, via Via) (Principal, error) {
	row, err := op.credential(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	op.touch(ctx, row)
	return row.principal(via), nil
}

func (op *Operator) credential(ctx context.Context, token string) (credentialRow, error) {
	var row credentialRow
	unknown := core.Refuse(core.ReasonUnauthenticated, "The credential is missing or is not one of ours.")
	if !wellFormed(token) {
		return row, unknown
	}
	hash := hashToken(token)
	err := op.db.View().Get(ctx, &row, credentialQuery+`where c.hash = $1`, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return row, unknown
	}
	if err != nil {
		return row, core.Outage(err)
	}
	// The index found it by its hash; what counts is this comparison, whose time
	// says nothing about how much of a guess was right.
	if subtle.ConstantTimeCompare([]byte(row.Hash), []byte(hash)) != 1 {
		return row, unknown
	}
	if refusal := row.alive(op.db.Clock.Now()); refusal != nil {
		refusal.Whose = row.principal("")
		return row, refusal
	}
	row.Powers, err = row.powers()
	return row, told(ctx, err)
}

func (c credentialRow) principal(via Via) Principal {
	id := string(c.Kind) + ":" + c.Name
	if c.Kind == KindHuman {
		id = humanID(c.Handle.String)
	}
	return core.NewPrincipal(core.PrincipalFields{
		ID: id, Kind: c.Kind, AccountID: c.AccountID, Account: c.Account, ProjectID: c.ProjectID,
		ProjectUID: c.ProjectUID, Project: c.Project, Scopes: core.SplitScopes(c.Scopes), Role: Role(c.Role.String),
		Interactive: c.Interactive == 1, CredentialID: c.ID, PersonID: c.PersonID.Int64, InstanceID: c.InstanceID, Via: via, Powers: c.Powers,
	})
}

// touchEvery is how exact "last used" is: writing it on every call would make a
// write of every read.
const touchEvery = time.Minute

// touchWithin bounds how long noting the use may take. It is a courtesy: who looks
// must not wait for who writes.
const touchWithin = 250 * time.Millisecond

func (op *Operator) touch(ctx context.Context, c credentialRow) {
	now := core.Micros(op.db.Clock.Now())
	if c.LastUsedAt.Valid && now-c.LastUsedAt.Int64 < touchEvery.Microseconds() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, touchWithin)
	defer cancel()
	_, err := op.db.Write.ExecContext(ctx, `update reeve_credentials set last_used_at = $1
		where id = $2 and (last_used_at is null or last_used_at < $1)`, now, c.ID)
	if err != nil {
		op.log.Warn("the last use of a credential was not noted", "credential", c.UID, "error", gate.Redact(err.Error()))
	}
}

// localPrefix keeps the principals of local workers apart from those of
// credentials, so that the record tells which it was.
const localPrefix = "local-"

// LocalWorker is a worker that needs no credential, because it was started by
// somebody who opened the database itself.
func (op *Operator) LocalWorker(ctx context.Context, account, project, name string) (Principal, error) {
	if !slugForm.MatchString(name) {
		return Principal{}, core.Refuse(core.ReasonInvalidValue, "A worker's name is a lower-case letter and up to 39 letters, digits or dashes.")
	}
	ws, err := findWorkspace(ctx, op.db.View(), account, project)
	if err != nil {
		return Principal{}, err
	}
	p := core.NewPrincipal(core.PrincipalFields{
		ID: string(KindWorker) + ":" + localPrefix + name, Kind: KindWorker, AccountID: ws.AccountID, Account: ws.Account,
		ProjectID: ws.ProjectID, ProjectUID: ws.ProjectUID, Project: ws.Project,
		Scopes: []Scope{core.ScopeWorkClaim, core.ScopeStateRead}, Via: core.ViaWorker,
	})
	powers, err := op.PowersOf(ctx, p)
	return p.WithPowers(powers), err
}
