package operator

import (
	"context"
	"database/sql"
	"errors"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Person is the power to act as one person. It can only be had by proving a
// human credential, or from a channel that vouches for an account elsewhere
// which is linked to a person. Every act takes one as an argument; none is ever
// kept in a field, a global, a context or a parked call, so that no path from a
// tool to an act can be built by accident. The zero Person may do nothing.
type Person struct {
	accountID, projectID, personID int64
	credentialID                   int64 // 0: vouched for by a channel
	voucherID                      int64 // the channel's credential, when vouched for
	// instance is the UUID of the credential that proved it. Numbers count from one in
	// every database, and a person of one is nobody in another.
	instance string
	linkID   int64 // the link by which a channel vouched
	handle   string
	via      Via
	scopes   []Scope
}

// ID is the person's name in the record, such as "human:ana".
func (p Person) ID() string { return humanID(p.handle) }

// PersonByCredential proves a person by their own credential. via says through
// which channel they act, and is written into the record.
func (op *Operator) PersonByCredential(ctx context.Context, token string, via Via) (Person, error) {
	principal, err := op.Authenticate(ctx, token, via)
	if err != nil {
		return Person{}, err
	}
	return op.PersonOf(principal)
}

// PersonOf is the person behind a principal that a human credential proved.
// Anybody else is refused with ErrKindNotAllowed.
func (op *Operator) PersonOf(p Principal) (Person, error) {
	if p.Kind() != KindHuman || p.PersonID() == 0 {
		return Person{}, core.Refuse(core.ReasonKindNotAllowed, "Only a person may do this, and this credential is not a person's.").
			With("kind", p.Kind())
	}
	return Person{accountID: p.AccountID(), projectID: p.ProjectID(), personID: p.PersonID(), credentialID: p.CredentialID(),
		instance: p.InstanceID(), handle: p.ID()[len(humanID("")):], via: p.Via(), scopes: p.Scopes()}, nil
}

// Vouch is a channel's word that a linked account elsewhere is acting now. The
// channel proves itself by its own credential, whose name is the service. An
// account that is linked to nobody is refused with ErrNotFound.
func (op *Operator) Vouch(ctx context.Context, channelToken, externalID string) (Person, error) {
	row, err := op.credential(ctx, channelToken)
	if err != nil {
		return Person{}, err
	}
	if row.Kind != KindChannel {
		return Person{}, core.Refuse(core.ReasonKindNotAllowed, "Only a channel's credential can vouch for a person.")
	}
	op.touch(ctx, row)
	nobody := core.Refuse(core.ReasonNotFound, "That account is linked to nobody here.")
	if checkExternalID(externalID) != nil {
		return Person{}, nobody // what could not be linked is; a database might not even take it
	}
	var link struct {
		ID     int64  `db:"id"`
		Person int64  `db:"person"`
		Handle string `db:"handle"`
	}
	err = op.db.View().Get(ctx, &link, `select l.id, h.id as person, h.handle from reeve_links l join reeve_people h on h.id = l.person_id
		where l.account_id = $1 and l.service = $2 and l.external_id = $3 and h.removed_at is null`, row.AccountID, row.Name, externalID)
	if errors.Is(err, sql.ErrNoRows) {
		return Person{}, nobody
	}
	if err != nil {
		return Person{}, core.Outage(err)
	}
	return Person{accountID: row.AccountID, projectID: row.ProjectID, personID: link.Person, voucherID: row.ID, linkID: link.ID,
		instance: row.InstanceID, handle: link.Handle, via: Via(row.Name), scopes: []Scope{core.ScopeIntentsDecide, core.ScopeApprovals, core.ScopeCommentsWrite, core.ScopeStateRead}}, nil
}

// standing is what a person still is at the moment of an act.
type standing struct {
	Role      Role  `db:"role"`
	VotesFrom int64 `db:"votes_from"` // their votes are those after this decision
}

// stand checks again, within the act's own transaction, that the person is on
// the list and that what proved them is live; on PostgreSQL it also holds both
// rows until the act is committed, so that a removal comes either before or after.
func (p Person) stand(ctx context.Context, tx core.Tx, need Scope) (standing, error) {
	var s standing
	if p.personID == 0 {
		return s, core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be acting.")
	}
	if !isOneOf(need, p.scopes) {
		return s, core.Refuse(core.ReasonMissingScope, "The credential lacks the scope %s.", need).With("missing", []Scope{need})
	}
	lock := ""
	if tx.Dialect().ForUpdate != "" {
		lock = " for share"
	}
	return p.live(ctx, tx, lock)
}

// live is the part of stand that holds for a look as well: it takes no lock
// unless it is given one, so that it can run where nothing may be written.
func (p Person) live(ctx context.Context, tx core.Tx, lock string) (standing, error) {
	var s standing
	if p.personID == 0 {
		return s, core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be acting.")
	}
	// What proved them is asked for as well as the person: whoever is on the list by
	// this handle now may be somebody else, and none of the old proofs counts for them.
	from, proof, args := `reeve_people h, reeve_credentials c`, `c.person_id = h.id`, []any{p.personID, credentialOf(p), tx.Micros(), p.instance}
	if p.credentialID == 0 {
		from, proof = from+`, reeve_links l`, `l.id = $5 and l.person_id = h.id`
		args = append(args, p.linkID)
	}
	err := tx.Get(ctx, &s, `select h.role, h.votes_from from `+from+`
		where h.id = $1 and h.removed_at is null and c.id = $2 and c.revoked_at is null and c.expires_at > $3 and c.instance_id = $4 and `+proof+lock, args...)
	if errors.Is(err, sql.ErrNoRows) {
		if err := aliveStill(ctx, tx, credentialOf(p)); err != nil {
			return s, err
		}
		return s, core.Refuse(core.ReasonCredentialRevoked, "This person's powers, or the credential that proved them, were taken back.")
	}
	return s, err
}

// credentialOf is the number of the credential behind a proof: the person's own, or
// that of the channel that vouched.
func credentialOf(p Person) int64 {
	if p.credentialID == 0 {
		return p.voucherID
	}
	return p.credentialID
}

// auditRow starts the record of an act.
func (p Person) auditRow(ctx context.Context, act string) core.AuditRow {
	call := core.CallOf(ctx, act)
	return core.AuditRow{AccountID: p.accountID, ProjectID: p.projectID, Principal: p.ID(), Kind: KindHuman, Via: p.via,
		Action: call.Action, ArgsDigest: call.ArgsDigest, RequestID: call.RequestID, Verdict: core.VerdictDone}
}

func principalAudit(ctx context.Context, p Principal, action string) core.AuditRow {
	call := core.CallOf(ctx, action)
	return core.AuditRow{AccountID: p.AccountID(), ProjectID: p.ProjectID(), Principal: p.ID(), Kind: p.Kind(), Via: p.Via(),
		Action: call.Action, ArgsDigest: call.ArgsDigest, RequestID: call.RequestID, Verdict: core.VerdictDone}
}
