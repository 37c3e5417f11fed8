package operator

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/auditlog"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// DefaultSlug is the name of a fresh install's account and of its project.
const DefaultSlug = "default"

// FirstLife is how long the two credentials of a fresh install live.
const FirstLife = 365 * 24 * time.Hour

// Initial says what a fresh install should be. The zero value of each field is
// its documented default.
type Initial struct {
	Zone        string   // IANA time zone of the account; "": UTC
	Currency    string   // ISO 4217; "": USD
	Inside      []string // the account's own addresses and domains
	AgentScopes []Scope  // what the first agent may ask for; nil: what the operator's own tools need
	OwnerScopes []Scope  // what the first person may do; nil: every act, and looking
}

// Installed is what Install made. The tokens are shown here and never again.
type Installed struct {
	Agent, Person               Minted
	Account, Project, ProjectID string
}

// Install makes the account and project "default", one person with the role of
// owner and one agent, each with a credential. made is false, and nothing is
// changed, where an account exists already.
func (op *Operator) Install(ctx context.Context, in Initial) (out Installed, made bool, err error) {
	a, err := newAccount(in)
	if err != nil {
		return out, false, err
	}
	// A look first: where somebody was here before, whoever starts must not wait for
	// whoever writes.
	if _, err := findWorkspace(ctx, op.db.View(), DefaultSlug, ""); err == nil {
		return out, false, nil
	}
	err = op.inTx(ctx, func(tx core.Tx) error {
		out, made = Installed{}, false
		if err := a.insert(ctx, tx); errors.Is(err, sql.ErrNoRows) {
			return nil // somebody was here before
		} else if err != nil {
			return err
		}
		made = true
		out.Account, out.Project, out.ProjectID = DefaultSlug, DefaultSlug, a.projectUID
		return a.people(ctx, tx, in, &out)
	})
	return out, made, err
}

type newAccountRow struct {
	zone, currency, inside, projectUID string
	accountID, projectID               int64
}

func newAccount(in Initial) (*newAccountRow, error) {
	a := &newAccountRow{zone: in.Zone, currency: in.Currency, projectUID: core.NewUUID()}
	if a.zone == "" {
		a.zone = "UTC"
	}
	if a.currency == "" {
		a.currency = "USD"
	}
	if _, err := core.LoadZone(a.zone); err != nil {
		return nil, core.Refuse(core.ReasonInvalidValue, "%s", err.Error()).With("field", "zone")
	}
	if _, ok := gate.Exponent(a.currency); !ok {
		return nil, core.Refuse(core.ReasonUnknownCurrency, "Give the account's currency as an ISO 4217 code, such as USD.").With("field", "currency")
	}
	inside, err := json.Marshal(append([]string{}, in.Inside...))
	a.inside = string(inside)
	return a, err
}

// insert returns sql.ErrNoRows where the account's slug is taken.
func (a *newAccountRow) insert(ctx context.Context, tx core.Tx) error {
	err := tx.Get(ctx, &a.accountID, `insert into reeve_accounts (slug, zone, currency, inside, created_at)
		values ($1, $2, $3, $4, $5) on conflict (slug) do nothing returning id`,
		DefaultSlug, a.zone, a.currency, a.inside, tx.Micros())
	if err != nil {
		return err
	}
	return tx.Get(ctx, &a.projectID, `insert into reeve_projects (uid, account_id, slug, created_at)
		values ($1, $2, $3, $4) returning id`, a.projectUID, a.accountID, DefaultSlug, tx.Micros())
}

func (a *newAccountRow) people(ctx context.Context, tx core.Tx, in Initial, out *Installed) error {
	if in.AgentScopes == nil {
		in.AgentScopes = core.AgentScopes()
	}
	if in.OwnerScopes == nil {
		in.OwnerScopes = core.OwnerScopes()
	}
	ws := workspace{AccountID: a.accountID, ProjectID: a.projectID, ProjectUID: a.projectUID}
	if _, err := insertPerson(ctx, tx, ws, NewPerson{Handle: "owner", Name: "Owner", Role: RoleOwner}); err != nil {
		return err
	}
	var err error
	out.Person, err = mint(ctx, tx, ws, NewCredential{
		Kind: KindHuman, Name: "owner", Person: "owner", Scopes: in.OwnerScopes, Interactive: true, Life: FirstLife})
	if err != nil {
		return err
	}
	out.Agent, err = mint(ctx, tx, ws, NewCredential{Kind: KindAgent, Name: "agent", Scopes: in.AgentScopes, Life: FirstLife})
	return err
}

// workspace is an account and one of its projects.
type workspace struct {
	AccountID  int64  `db:"account_id"`
	Account    string `db:"account"`
	ProjectID  int64  `db:"project_id"`
	Project    string `db:"project"`
	ProjectUID string `db:"project_uid"`
	Zone       string `db:"zone"`
	Currency   string `db:"currency"`
	Inside     string `db:"inside"`
}

// findWorkspace looks an account and project up by their slugs; "" means default.
func findWorkspace(ctx context.Context, tx core.Tx, account, project string) (workspace, error) {
	if account == "" {
		account = DefaultSlug
	}
	if project == "" {
		project = DefaultSlug
	}
	var ws workspace
	err := tx.Get(ctx, &ws, `select a.id as account_id, a.slug as account, p.id as project_id, p.slug as project,
			p.uid as project_uid, a.zone, a.currency, a.inside
		from reeve_accounts a join reeve_projects p on p.account_id = a.id where a.slug = $1 and p.slug = $2`, account, project)
	if errors.Is(err, sql.ErrNoRows) {
		return ws, core.Refuse(core.ReasonNotFound, "There is no account %q with a project %q here.", account, project)
	}
	return ws, err
}

// settings loads what the gate has to know of a principal's account, as it is now.
func settings(ctx context.Context, tx core.Tx, projectID int64) (workspace, error) {
	var ws workspace
	err := tx.Get(ctx, &ws, `select `+settingsColumns+` `+settingsFrom+` where p.id = $1`, projectID)
	return ws, err
}

const (
	settingsColumns = `a.id as account_id, a.slug as account, p.id as project_id, p.slug as project, p.uid as project_uid, a.zone, a.currency, a.inside`
	settingsFrom    = `from reeve_projects p join reeve_accounts a on a.id = p.account_id`
)

var slugForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// AddProject makes a project in an account.
func (op *Operator) AddProject(ctx context.Context, account, slug string) (uid string, err error) {
	if !slugForm.MatchString(slug) {
		return "", core.Refuse(core.ReasonInvalidValue, "A project's name is a lower-case letter and up to 39 letters, digits or dashes.")
	}
	uid = core.NewUUID()
	err = op.inTx(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `insert into reeve_projects (uid, account_id, slug, created_at) values ($1, $2, $3, $4)
			on conflict (account_id, slug) do nothing`, uid, ws.AccountID, slug, tx.Micros())
		if err != nil {
			return err
		}
		if n == 0 {
			return core.Refuse(core.ReasonTaken, "A project %q exists already.", slug)
		}
		return auditLocal(ctx, tx, ws, "project_add", slug)
	})
	return uid, err
}

// ProjectInfo is a project of an account.
type ProjectInfo struct {
	Name      string    `json:"name"`
	ProjectID string    `json:"project_id"`
	CreatedAt time.Time `json:"created_at"`
}

// Projects lists an account's projects, oldest first.
func (op *Operator) Projects(ctx context.Context, account string) ([]ProjectInfo, error) {
	ws, err := findWorkspace(ctx, op.db.View(), account, "")
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Slug      string `db:"slug"`
		UID       string `db:"uid"`
		CreatedAt int64  `db:"created_at"`
	}
	err = op.db.View().Select(ctx, &rows, `select slug, uid, created_at from reeve_projects where account_id = $1 order by id`, ws.AccountID)
	out := make([]ProjectInfo, 0, len(rows))
	for _, r := range rows {
		out = append(out, ProjectInfo{r.Slug, r.UID, core.FromMicros(r.CreatedAt)})
	}
	return out, err
}

// AddAccount makes an account with a project "default" and no people.
func (op *Operator) AddAccount(ctx context.Context, slug, zone, currency string) error {
	if !slugForm.MatchString(slug) {
		return core.Refuse(core.ReasonInvalidValue, "An account's name is a lower-case letter and up to 39 letters, digits or dashes.")
	}
	a, err := newAccount(Initial{Zone: zone, Currency: currency})
	if err != nil {
		return err
	}
	return op.inTx(ctx, func(tx core.Tx) error {
		err := tx.Get(ctx, &a.accountID, `insert into reeve_accounts (slug, zone, currency, created_at)
			values ($1, $2, $3, $4) on conflict (slug) do nothing returning id`, slug, a.zone, a.currency, tx.Micros())
		if errors.Is(err, sql.ErrNoRows) {
			return core.Refuse(core.ReasonTaken, "An account %q exists already.", slug)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `insert into reeve_projects (uid, account_id, slug, created_at) values ($1, $2, $3, $4)`,
			a.projectUID, a.accountID, DefaultSlug, tx.Micros())
		if err != nil {
			return err
		}
		return auditLocal(ctx, tx, workspace{AccountID: a.accountID}, "account_add", slug)
	})
}

// localPrincipal is written as the actor of what is done on the database itself,
// by whoever can open it.
const localPrincipal = auditlog.LocalPrincipal

func auditLocal(ctx context.Context, tx core.Tx, ws workspace, action, outcome string) error {
	return tx.Audit(ctx, core.AuditRow{AccountID: ws.AccountID, ProjectID: ws.ProjectID, Principal: localPrincipal,
		Via: core.ViaLibrary, Action: action, Verdict: core.VerdictDone, Outcome: outcome})
}
