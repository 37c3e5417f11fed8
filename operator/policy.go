package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// policies says which policy an account has at a moment. Either the Operator was
// given one and keeps to it, or it follows those that stand in the database, so
// that every process on it judges alike, and from the same moment on.
type policies struct {
	fixed *gate.Policy

	compiling sync.Mutex
	known     atomic.Pointer[map[string]*gate.Policy] // by SHA-256 of the text; never changed, only replaced
}

// keptPolicies bounds how many compiled policies a process holds.
const keptPolicies = 256

// storedPolicyName is what messages call the policy of the database.
const storedPolicyName = "stored policy"

// policyAt names the row that an account's policy stands in.
type policyAt struct {
	Seq int64  `db:"seq"` // 0: none was ever loaded, and the default policy holds
	Sum string `db:"sum"`
}

const newestPolicy = `select seq, sum from reeve_policies where account_id = $1 order by seq desc limit 1`

func newestOf(ctx context.Context, tx core.Tx, account int64) (policyAt, error) {
	var at policyAt
	err := tx.Get(ctx, &at, newestPolicy, account)
	if errors.Is(err, sql.ErrNoRows) {
		return policyAt{}, nil
	}
	return at, err
}

// at is an account's policy at a transaction's moment. It costs one row by its key;
// the text is read only where this process has not compiled it before.
func (ps *policies) at(ctx context.Context, tx core.Tx, account int64) (*gate.Policy, error) {
	if ps.fixed != nil {
		return ps.fixed, nil
	}
	at, err := newestOf(ctx, tx, account)
	if err != nil {
		return nil, err
	}
	return ps.of(ctx, tx, account, at)
}

// of is the policy of a row. Rows never change, so what was read of one holds.
func (ps *policies) of(ctx context.Context, tx core.Tx, account int64, at policyAt) (*gate.Policy, error) {
	if at.Seq == 0 {
		return gate.DefaultPolicy(), nil
	}
	if p := ps.find(at.Sum); p != nil {
		return p, nil
	}
	var text string
	if err := tx.Get(ctx, &text, `select text from reeve_policies where account_id = $1 and seq = $2`, account, at.Seq); err != nil {
		return nil, err
	}
	ps.compiling.Lock()
	defer ps.compiling.Unlock()
	if p := ps.find(at.Sum); p != nil {
		return p, nil
	}
	p, err := readStored(text, at.Sum)
	if err == nil {
		ps.keep(at.Sum, p)
	}
	return p, err
}

// readStored compiles a stored text. A binary that cannot read it must not judge by
// anything milder.
func readStored(text, sum string) (*gate.Policy, error) {
	if core.SHA256Hex([]byte(text)) != sum {
		return nil, errors.New("the stored policy is not the one that was loaded: have an owner load it again")
	}
	p, err := gate.LoadPolicy(storedPolicyName, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("the stored policy cannot be read by this version of reeve: %w", err)
	}
	return p, nil
}

func (ps *policies) find(sum string) *gate.Policy {
	known := ps.known.Load()
	if known == nil {
		return nil
	}
	return (*known)[sum]
}

// keep is called with compiling held.
func (ps *policies) keep(sum string, p *gate.Policy) {
	next := map[string]*gate.Policy{}
	if known := ps.known.Load(); known != nil && len(*known) < keptPolicies {
		next = maps.Clone(*known)
	}
	next[sum] = p
	ps.known.Store(&next)
}

// Policy is the policy that an account has now; "" is the account default. Where
// there is no such account yet, it is the one that the account would begin with.
func (op *Operator) Policy(ctx context.Context, account string) (*gate.Policy, error) {
	var p *gate.Policy
	err := op.inView(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		p, err = op.policies.at(ctx, tx, ws.AccountID)
		return err
	})
	return p, err
}

// readable says whether the policy of every account can be judged by.
func (op *Operator) readable(ctx context.Context) error {
	return op.inView(ctx, func(tx core.Tx) error {
		if op.policies.fixed != nil {
			return nil
		}
		var rows []struct {
			policyAt
			Account int64 `db:"account_id"`
		}
		err := tx.Select(ctx, &rows, `select p.account_id, p.seq, p.sum from reeve_accounts a join reeve_policies p on p.account_id = a.id
			and p.seq = (select max(q.seq) from reeve_policies q where q.account_id = a.id)`)
		for _, r := range rows {
			if _, unread := op.policies.of(ctx, tx, r.Account, r.policyAt); unread != nil {
				return errors.Join(err, unread)
			}
		}
		return err
	})
}

// PolicyInfo is an account's policy as it stands, and how it came to.
type PolicyInfo struct {
	Version    string      `json:"version" doc:"How the record names it: every intent says which version judged it."`
	Digest     string      `json:"digest" doc:"SHA-256 of what its rules mean, comments and layout left out."`
	Sequence   int64       `json:"sequence" doc:"The so many-th policy of the account; 0: none was loaded, and the default policy holds."`
	LoadedAt   *time.Time  `json:"loaded_at" doc:"When it was loaded; null for the default policy."`
	LoadedBy   *string     `json:"loaded_by" doc:"Who loaded it: a person, or local:database for whoever administers the database."`
	Via        *string     `json:"via" doc:"The way in that it came by."`
	File       *string     `json:"file" doc:"The name of its file, where it came from one."`
	Accepted   []Loosening `json:"accepted" doc:"What it loosened of the policy before it, and the person accepted; the first 10,000."`
	Total      int64       `json:"accepted_total" doc:"How many that were."`
	AcceptedBy *string     `json:"accepted_by" doc:"Who accepted that."`
	Fixed      bool        `json:"fixed" doc:"Whether the service that embeds reeve gave it, and no other can be loaded."`
	Changed    bool        `json:"changed" doc:"Whether this call loaded it; false where it held before."`
	Text       string      `json:"text" doc:"The policy file, as it was loaded."`
}

type policyRow struct {
	policyAt
	File       string         `db:"file"`
	Text       string         `db:"text"`
	LoadedAt   int64          `db:"loaded_at"`
	LoadedBy   string         `db:"loaded_by"`
	Via        string         `db:"via"`
	Accepted   string         `db:"accepted"`
	AcceptedBy sql.NullString `db:"accepted_by"`
}

// info is the row as it is answered. Version and digest are the compiled policy's:
// a row that was made of an older database does not have them.
func (r policyRow) info(p *gate.Policy) PolicyInfo {
	at := core.FromMicros(r.LoadedAt)
	accepted := storedLoosenings(r.Accepted)
	return PolicyInfo{Total: int64(len(accepted)), Version: p.Version(), Digest: p.Digest(), Sequence: r.Seq, LoadedAt: &at, LoadedBy: optional(r.LoadedBy), Via: optional(r.Via),
		File: optional(r.File), Accepted: accepted[:min(len(accepted), shownLoosenings)], AcceptedBy: optional(r.AcceptedBy.String), Text: gate.Redact(r.Text)}
}

// policyInfo reads an account's policy with its story.
func (op *Operator) policyInfo(ctx context.Context, tx core.Tx, account int64) (PolicyInfo, error) {
	if p := op.policies.fixed; p != nil {
		return PolicyInfo{Version: p.Version(), Digest: p.Digest(), Accepted: []Loosening{}, Fixed: true, Text: string(p.YAML())}, nil
	}
	var row policyRow
	err := tx.Get(ctx, &row, `select seq, sum, file, text, loaded_at, loaded_by, via, accepted, accepted_by
		from reeve_policies where account_id = $1 order by seq desc limit 1`, account)
	if errors.Is(err, sql.ErrNoRows) {
		p := gate.DefaultPolicy()
		return PolicyInfo{Version: p.Version(), Digest: p.Digest(), Accepted: []Loosening{}, Text: string(gate.DefaultYAML())}, nil
	}
	if err != nil {
		return PolicyInfo{}, err
	}
	p, err := op.policies.of(ctx, tx, account, row.policyAt)
	if err != nil {
		return PolicyInfo{}, err
	}
	return row.info(p), nil
}

// ShowPolicy is the policy of a person's account.
func (op *Operator) ShowPolicy(ctx context.Context, p Person) (PolicyInfo, error) {
	var out PolicyInfo
	err := op.inView(ctx, func(tx core.Tx) error {
		if _, err := p.live(ctx, tx, ""); err != nil {
			return err
		}
		var err error
		out, err = op.policyInfo(ctx, tx, p.accountID)
		return err
	})
	return out, err
}

// StoredPolicy is ShowPolicy for whoever administers the database, by the account's
// name; "" is default.
func (op *Operator) StoredPolicy(ctx context.Context, account string) (PolicyInfo, error) {
	var out PolicyInfo
	err := op.inView(ctx, func(tx core.Tx) error {
		ws, err := findWorkspace(ctx, tx, account, "")
		if err != nil {
			return err
		}
		out, err = op.policyInfo(ctx, tx, ws.AccountID)
		return err
	})
	return out, err
}
