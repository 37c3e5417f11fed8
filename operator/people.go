package operator

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// NewPerson says whom to put on an account's list of people.
type NewPerson struct {
	Account string // "": default
	Handle  string // short and unique in the account: "ana"
	Name    string // as the person writes it
	Role    Role
}

// PersonInfo is a row of the list of people.
type PersonInfo struct {
	Handle    string     `json:"handle"`
	Name      string     `json:"name"`
	Role      Role       `json:"role"`
	CreatedAt time.Time  `json:"created_at"`
	RemovedAt *time.Time `json:"removed_at"`
}

// AddPerson puts a person on the list. Somebody who was removed comes back by
// the same handle, with none of their old credentials, and nothing that they gave
// or voted before counts again: it may be somebody else.
func (op *Operator) AddPerson(ctx context.Context, in NewPerson) error {
	return op.inTx(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, in.Account, "")
		if err != nil {
			return err
		}
		if _, err := insertPerson(ctx, tx, ws, in); err != nil {
			return err
		}
		return auditLocal(ctx, tx, ws, "person_add", humanID(in.Handle)+" "+string(in.Role))
	})
}

func insertPerson(ctx context.Context, tx core.Tx, ws workspace, in NewPerson) (id int64, err error) {
	if !slugForm.MatchString(in.Handle) {
		return 0, core.Refuse(core.ReasonInvalidValue, "A person's handle is a lower-case letter and up to 39 letters, digits or dashes.")
	}
	if !isOneOf(in.Role, core.Roles()) {
		return 0, core.Refuse(core.ReasonInvalidValue, "A person's role is one of owner, admin and member.")
	}
	if err := checkText("name", in.Name, 100); err != nil {
		return 0, err
	}
	err = tx.Get(ctx, &id, `insert into reeve_people (account_id, handle, name, role, created_at) values ($1, $2, $3, $4, $5)
		on conflict (account_id, handle) do update set name = excluded.name, role = excluded.role, removed_at = null,
			votes_from = (select coalesce(max(id), 0) from reeve_decisions)
		where reeve_people.removed_at is not null returning id`, ws.AccountID, in.Handle, in.Name, string(in.Role), tx.Micros())
	if errors.Is(err, sql.ErrNoRows) {
		return 0, core.Refuse(core.ReasonTaken, "Somebody is already on the list as %q.", in.Handle)
	}
	if err != nil {
		return 0, err
	}
	// Nothing should be left of who was here before by this handle. Their removal ended
	// it; a database that an older reeve wrote may hold what was made beside that.
	return id, endWhatHangsOn(ctx, tx, ws.AccountID, id, in.Handle)
}

// RemovePerson takes a person off the list, unless they are the last owner, and with them every credential they
// hold and every account elsewhere that was linked to them: all at once, for
// every process.
func (op *Operator) RemovePerson(ctx context.Context, account, handle string) error {
	return op.inTx(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		id, err := livePerson(ctx, tx, ws.AccountID, handle, ownRow(tx))
		if err != nil {
			return err
		}
		if err := endPowers(ctx, tx, ws.AccountID, id, handle); err != nil {
			return err
		}
		if err := ownerLeft(ctx, tx, ws.AccountID); err != nil {
			return err
		}
		return auditLocal(ctx, tx, ws, "person_remove", humanID(handle))
	})
}

// ownerLeft keeps an account from losing its last owner. It locks the account, so
// that two owners who are removed at once do not both find the other still there.
func ownerLeft(ctx context.Context, tx core.Tx, account int64) error {
	var locked int64
	if err := tx.Get(ctx, &locked, `select id from reeve_accounts where id = $1 `+ownRow(tx), account); err != nil {
		return err
	}
	var owners int64
	err := tx.Get(ctx, &owners, `select count(*) from reeve_people where account_id = $1 and role = 'owner' and removed_at is null`, account)
	if err == nil && owners == 0 {
		return core.Refuse(core.ReasonLastOwner, "This is the account's last owner: put another one on the list first.")
	}
	return err
}

// ownRow locks a row against others that lock it so, and not against the rows that
// merely refer to it, of which a busy account writes one after another.
func ownRow(tx core.Tx) string {
	if tx.Dialect().Name == "postgres" {
		return "for no key update"
	}
	return tx.Dialect().ForUpdate
}

// sharedRow locks a row against its removal, and not against others who lock it so.
func sharedRow(tx core.Tx) string {
	if tx.Dialect().ForUpdate == "" {
		return ""
	}
	return "for share"
}

func endPowers(ctx context.Context, tx core.Tx, account, person int64, handle string) error {
	n, err := tx.Exec(ctx, `update reeve_people set removed_at = $1 where id = $2 and removed_at is null`, tx.Micros(), person)
	if err != nil || n == 0 {
		return err
	}
	return endWhatHangsOn(ctx, tx, account, person, handle)
}

// endWhatHangsOn ends everything that a person holds, gave, or was given by name.
// Whoever comes back by their handle may be somebody else.
func endWhatHangsOn(ctx context.Context, tx core.Tx, account, person int64, handle string) error {
	const ended = `set revoked_at = $1, revoked_by = '` + localPrincipal + `' where revoked_at is null and `
	for _, ends := range []struct {
		what string
		args []any
	}{
		{`update reeve_credentials set revoked_at = $1 where revoked_at is null and person_id = $2`, []any{tx.Micros(), person}},
		{`update reeve_standing ` + ended + `person_id = $2`, []any{tx.Micros(), person}},
		{`update reeve_spending_grants ` + ended + `(person_id = $2 or account_id = $3 and principal = $4)`, []any{tx.Micros(), person, account, humanID(handle)}},
		{`delete from reeve_links where person_id = $1`, []any{person}},
	} {
		if _, err := tx.Exec(ctx, ends.what, ends.args...); err != nil {
			return err
		}
	}
	return nil
}

// People lists an account's people, the removed ones too, in the order they came.
func (op *Operator) People(ctx context.Context, account string) ([]PersonInfo, error) {
	ws, err := findWorkspace(ctx, op.db.View(), account, "")
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Handle    string        `db:"handle"`
		Name      string        `db:"name"`
		Role      Role          `db:"role"`
		CreatedAt int64         `db:"created_at"`
		RemovedAt sql.NullInt64 `db:"removed_at"`
	}
	err = op.db.View().Select(ctx, &rows, `select handle, name, role, created_at, removed_at from reeve_people where account_id = $1 order by id`, ws.AccountID)
	out := make([]PersonInfo, 0, len(rows))
	for _, r := range rows {
		out = append(out, PersonInfo{r.Handle, r.Name, r.Role, core.FromMicros(r.CreatedAt), optionalTime(r.RemovedAt)})
	}
	return out, err
}

// LinkPerson ties an account elsewhere (a Slack user id, a Telegram chat id) to
// a person, so that a channel can vouch for them.
func (op *Operator) LinkPerson(ctx context.Context, account, handle, service, externalID string) error {
	if !slugForm.MatchString(service) {
		return errLink()
	}
	if err := checkExternalID(externalID); err != nil {
		return err
	}
	return op.inTx(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		id, err := livePerson(ctx, tx, ws.AccountID, handle, sharedRow(tx))
		if err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `insert into reeve_links (account_id, person_id, service, external_id, created_at) values ($1, $2, $3, $4, $5)
			on conflict (account_id, service, external_id) do nothing`, ws.AccountID, id, service, externalID, tx.Micros())
		if err != nil {
			return err
		}
		if n == 0 {
			return core.Refuse(core.ReasonTaken, "That account is linked to a person already.")
		}
		return auditLocal(ctx, tx, ws, "person_link", humanID(handle)+" "+service)
	})
}

func errLink() error {
	return core.Refuse(core.ReasonInvalidValue, "A link names a service, such as slack, and the person's id there, at most 200 bytes.")
}

// checkExternalID holds a person's id elsewhere to what can be linked.
func checkExternalID(id string) error {
	if id == "" || len(id) > 200 {
		return errLink()
	}
	return checkText("external_id", id, 200)
}

// livePerson finds somebody on the list, and holds their row: by ownRow for their
// removal, by sharedRow for what hangs on them, so that either is whole before the
// other begins.
func livePerson(ctx context.Context, tx core.Tx, account int64, handle, lock string) (id int64, err error) {
	err = tx.Get(ctx, &id, `select id from reeve_people where account_id = $1 and handle = $2 and removed_at is null `+lock, account, handle)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, core.Refuse(core.ReasonNotFound, "Nobody on the list is called %q.", handle)
	}
	return id, err
}
