package operator

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// PolicyInput is the policy that an owner wants for the account.
type PolicyInput struct {
	Policy string   `json:"policy" validate:"required" doc:"The policy file, whole, in YAML or JSON."`
	Accept []string `json:"accept,omitzero" doc:"The ids of what it loosens, each of which has to be named. A call that leaves some out is refused with all of them."`
	Base   string   `json:"base,omitzero" validate:"max=80" doc:"The version of the policy that it was compared with; the call is refused where another one holds by now. Left out: whichever holds."`
	File   string   `json:"file,omitzero" validate:"max=500" doc:"The name of the file, for messages and for the record."`
}

// proposal is a policy that somebody wants to load, and what it was compared with.
type proposal struct {
	file    string
	text    []byte
	next    *gate.Policy
	seen    *comparison
	loosens []Loosening
	first   bool // nothing was promised to anybody yet
	same    bool // it is what holds
}

// loader is who wants it, as far as it may be kept: a Person is handed on beside it.
type loader struct {
	by, via string
	person  bool            // an owner's act; else whoever administers the database
	accept  map[string]bool // what a person accepts
	base    string
}

// LoadPolicy makes the text of a policy file (YAML or JSON) the policy of an account;
// "" is default. It is an administrative act on the database, and so can only tighten:
// what loosens is refused (ErrPolicyLoosens, with everything that it would loosen), and
// an owner has to accept it (ChangePolicy). An account that has no policy of its own
// and no recorded intent takes its first one as it is.
//
// It holds from the next look on, in every process that was not given a policy of its
// own. The same text again changes nothing. A file that is no policy is ErrPolicyInvalid,
// with gate.PolicyErrors beneath: file, line and rule. ErrQuorum: a rule asks for more
// people than there are.
func (op *Operator) LoadPolicy(ctx context.Context, account, file string, text []byte) (PolicyInfo, error) {
	return op.load(ctx, account, file, text, loader{by: localPrincipal, via: string(core.ViaLibrary)}, Person{})
}

// ChangePolicy is LoadPolicy as an act of an owner, who may loosen: what the policy
// newly allows, and each denial on record that it would not make, has to be accepted by
// its id. Ids that nothing loosens are refused, so that a typing error is seen.
func (op *Operator) ChangePolicy(ctx context.Context, p Person, in PolicyInput) (PolicyInfo, error) {
	if err := in.check(); err != nil {
		return PolicyInfo{}, err
	}
	ws, err := op.owned(ctx, p)
	if err != nil {
		return PolicyInfo{}, err
	}
	who := loader{by: p.ID(), via: string(p.via), person: true, accept: map[string]bool{}, base: in.Base}
	for _, id := range in.Accept {
		who.accept[id] = true
	}
	return op.load(ctx, ws.Account, in.File, []byte(in.Policy), who, p)
}

// maxAccepted bounds the ids of one call: as many as a body of 1 MiB may hold.
const maxAccepted = 1 << 20

func (in PolicyInput) check() error {
	if len(in.Accept) > maxAccepted {
		return core.Refuse(core.ReasonInvalidValue, "Accept at most %d ids in one call.", maxAccepted).With("field", "accept")
	}
	for _, id := range in.Accept {
		if err := checkWords("accept", id, 200); err != nil {
			return err
		}
	}
	return errors.Join(checkWords("base", in.Base, 80), checkWords("file", in.File, 500))
}

// owned is the account of a person who owns it. The policy is looked at for nobody
// else, and the act asks again.
func (op *Operator) owned(ctx context.Context, p Person) (ws workspace, err error) {
	err = op.inView(ctx, func(tx core.Tx) error {
		who, err := p.live(ctx, tx, "")
		switch {
		case err != nil:
			return err
		case who.Role != RoleOwner:
			return errNotOwner()
		}
		ws, err = settings(ctx, tx, p.projectID)
		return err
	})
	return ws, err
}

// loadTries is how often a load begins again because another one came between.
const loadTries = 3

func (op *Operator) load(ctx context.Context, account, file string, text []byte, who loader, p Person) (PolicyInfo, error) {
	next, err := compile(file, text)
	if err != nil {
		return PolicyInfo{}, err
	}
	if op.policies.fixed != nil {
		return PolicyInfo{}, core.Refuse(core.ReasonPolicyFixed, "The service that embeds reeve gave the policy; no other one can be loaded here.")
	}
	for try := 1; ; try++ {
		out, err := op.propose(ctx, account, proposal{file: file, text: text, next: next}, who, p)
		overtaken := errors.Is(err, errOvertaken)
		switch {
		case !overtaken && !errors.Is(err, errMoreUndone):
			return out, err
		// What was accepted was compared with what held then.
		case try == loadTries || overtaken && len(who.accept) > 0:
			return PolicyInfo{}, core.Refuse(core.ReasonVersionConflict, "Another policy, or more intents, came meanwhile; nothing was changed. Compare again.")
		}
	}
}

// Why a load begins again.
var (
	errOvertaken  = errors.New("another policy was loaded meanwhile")
	errMoreUndone = errors.New("what would be undone was recorded meanwhile")
)

// propose compares, has what it loosens accepted, and stores.
func (op *Operator) propose(ctx context.Context, account string, p proposal, who loader, person Person) (PolicyInfo, error) {
	if err := op.weigh(ctx, account, &p); err != nil {
		return PolicyInfo{}, err
	}
	if current := p.seen.current.policy.Version(); who.base != "" && who.base != current {
		return PolicyInfo{}, core.Refuse(core.ReasonVersionConflict, "The policy that holds is %s, and not the one that this was compared with.", current).With("current", current)
	}
	if p.same {
		return op.StoredPolicy(ctx, account)
	}
	accepted, err := p.accepted(who)
	if err != nil {
		return PolicyInfo{}, err
	}
	core.BeginSteps(ctx) // from here on it may stand although its caller hears of an outage
	return perform(ctx, op, func(tx core.Tx) (PolicyInfo, error) { return op.storePolicy(ctx, tx, p, who, accepted, person) })
}

// weigh compares a proposal with what holds and with what was recorded. Only a policy
// that loosens something can undo a denial.
func (op *Operator) weigh(ctx context.Context, account string, p *proposal) error {
	err := op.inView(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		if p.seen, err = op.compareTx(ctx, tx, ws, p.next); err != nil {
			return err
		}
		p.same = p.seen.at.Sum == core.SHA256Hex(p.text)
		p.first = p.seen.at.Seq == 0 && p.seen.upTo == 0
		if p.same || p.first {
			return nil
		}
		return reachableQuorums(ctx, tx, ws.AccountID, p.seen.current.policy, p.next)
	})
	if err != nil || p.same || p.first {
		return err
	}
	if p.loosens = p.seen.loosenings(); len(p.loosens) == 0 {
		return nil
	}
	s := p.seen.denials(0, p.seen.upTo)
	if err := op.replayed(ctx, s, p.seen.note); err != nil {
		return told(ctx, err)
	}
	p.loosens = p.seen.loosenings()
	return nil
}

// denials is what has to be read to know which denials a policy undoes: those, and
// what counts in budgets where the policies have any.
func (c *comparison) denials(after, upTo int64) span {
	only := onlyDenied
	if c.current.counts() || c.next.counts() {
		only = onlyCounting
	}
	return span{projects: c.projects, after: after, upTo: upTo, since: math.MinInt64, only: only}
}

func (c *comparison) note(p *past) {
	if _, freed := c.judge(p); freed {
		c.freed = append(c.freed, p.ID)
	}
}

// accepted holds what is loosened against what was accepted.
func (p proposal) accepted(who loader) ([]Loosening, error) {
	missing, unknown := compareAccepted(p.loosens, who.accept)
	if len(missing) == 0 && len(unknown) == 0 {
		return p.loosens, nil
	}
	return nil, p.refusal(missing, unknown)
}

// storePolicy puts the next row behind the one that was compared with. Where another
// one has taken that place, nothing is stored.
func (op *Operator) storePolicy(ctx context.Context, tx core.Tx, p proposal, who loader, accepted []Loosening, person Person) (PolicyInfo, error) {
	ws := p.seen.ws
	audit := core.AuditRow{AccountID: ws.AccountID, ProjectID: ws.ProjectID, Principal: localPrincipal, Via: core.ViaLibrary, Action: "load_policy", Verdict: core.VerdictDone}
	if who.person {
		if err := person.owns(ctx, tx, core.ScopePolicyWrite); err != nil {
			return PolicyInfo{}, err
		}
		audit = person.auditRow(ctx, "set_policy")
	}
	if err := op.lookOnceMore(ctx, tx, p); err != nil {
		return PolicyInfo{}, err
	}
	var by sql.NullString
	if len(accepted) > 0 {
		by = sql.NullString{String: who.by, Valid: true}
	}
	n, err := tx.Exec(ctx, `insert into reeve_policies (account_id, seq, version, digest, sum, file, text, loaded_at, loaded_by, via, accepted, accepted_by)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict (account_id, seq) do nothing`,
		ws.AccountID, p.seen.at.Seq+1, p.next.Version(), p.next.Digest(), core.SHA256Hex(p.text), p.file, string(p.text), tx.Micros(),
		who.by, who.via, keptLoosenings(accepted), by)
	if err != nil {
		return PolicyInfo{}, err
	}
	if n == 0 {
		return PolicyInfo{}, errOvertaken
	}
	if err := retireSetting(ctx, tx); err != nil {
		return PolicyInfo{}, err
	}
	audit.PolicyVersion = p.next.Version()
	audit.Outcome = "policy " + p.seen.current.policy.Version() + " -> " + p.next.Version() + acceptedWords(accepted)
	if err := tx.Audit(ctx, audit); err != nil {
		return PolicyInfo{}, err
	}
	tx.AfterCommit(func() {
		op.log.Warn("a policy was loaded; it holds for every process", "account", ws.Account, "policy", p.next.Version(), "by", who.by, "accepted", len(accepted))
		op.changes.raise()
	})
	out, err := op.policyInfo(ctx, tx, ws.AccountID)
	out.Changed = true
	return out, err
}

// lookOnceMore judges what was recorded since the comparison. It has the transaction
// to itself on SQLite; on PostgreSQL, a denial whose transaction ends at the same
// moment as this one may not be among them.
func (op *Operator) lookOnceMore(ctx context.Context, tx core.Tx, p proposal) error {
	if len(p.loosens) == 0 && !p.first {
		return nil
	}
	last, err := newestIntent(ctx, tx, p.seen.projects)
	if err != nil {
		return err
	}
	if p.first {
		if last > 0 {
			return errMoreUndone
		}
		return nil
	}
	before := len(p.seen.freed)
	err = p.seen.denials(p.seen.upTo, last).each(ctx, tx.Query, func(page []past) error {
		for i := range page {
			p.seen.note(&page[i])
			p.seen.upTo = page[i].ID // the transaction may be run again
		}
		return nil
	})
	if err == nil && len(p.seen.freed) > before {
		err = errMoreUndone
	}
	return err
}

// retireSetting keeps a process of before schema 6 from judging by the policy that it
// would still find in the settings: it says there that the policy is another one now.
func retireSetting(ctx context.Context, tx core.Tx) error {
	_, err := tx.Exec(ctx, `insert into reeve_settings (name, value, updated_at) values ('policy_sha256', 'moved', $1)
		on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at where reeve_settings.value <> excluded.value`, tx.Micros())
	return err
}

// compile reads a policy file. What is wrong with it is told place by place.
func compile(file string, text []byte) (*gate.Policy, error) {
	name := file
	if name == "" {
		name = "policy"
	}
	if secrets := gate.FindSecrets(string(text)); len(secrets) > 0 {
		return nil, core.Refuse(core.ReasonPolicyInvalid, "The policy holds a credential: take it out, and replace that credential.").With("field", "policy")
	}
	p, err := gate.LoadPolicy(name, text)
	if err == nil {
		return p, nil
	}
	refusal := core.Refuse(core.ReasonPolicyInvalid, "%s", firstLine(err.Error())).With("field", "policy").Because(err)
	var all gate.PolicyErrors
	if errors.As(err, &all) {
		refusal.With("faults", policyFaults(all))
	}
	return nil, refusal
}

// PolicyFault is one thing that is wrong with a policy file, as a refusal lists it.
type PolicyFault struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// shownFaults bounds how many faults of a file one answer lists.
const shownFaults = 100

func policyFaults(all gate.PolicyErrors) []PolicyFault {
	out := make([]PolicyFault, 0, len(all))
	for _, e := range all[:min(len(all), shownFaults)] {
		out = append(out, PolicyFault{e.Line, e.Column, gate.Redact(e.Rule), e.Message})
	}
	return out
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
