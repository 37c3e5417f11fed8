package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// policies says which policy holds at a moment. Either the Operator was given one
// and keeps to it, or it follows the one that stands in the database, so that
// every process on it judges alike, and from the same moment on.
type policies struct {
	fixed    *gate.Policy
	followed atomic.Pointer[followed]
}

// followed is a stored policy that was compiled before.
type followed struct {
	sum    string // SHA-256 of its text
	policy *gate.Policy
}

// The settings that hold the stored policy.
const (
	settingPolicy    = "policy"
	settingPolicySum = "policy_sha256"
)

// storedPolicyName is what messages call the policy of the database.
const storedPolicyName = "stored policy"

// LoadPolicy makes the text of a policy file (YAML or JSON) the policy of the
// database. It holds from the next look on, in every process that was not given a
// policy of its own, until another one is loaded. The same text again changes
// nothing. Errors are gate's, with file, line and rule.
func (op *Operator) LoadPolicy(ctx context.Context, file string, text []byte) error {
	p, err := gate.LoadPolicy(file, text)
	if err != nil {
		return err
	}
	return op.inTx(ctx, func(tx core.Tx) error {
		newSum, err := set(ctx, tx, settingPolicySum, core.SHA256Hex(text))
		if err != nil {
			return err
		}
		newText, err := set(ctx, tx, settingPolicy, string(text))
		if err != nil || !newSum && !newText {
			return err
		}
		tx.AfterCommit(func() { op.log.Warn("a policy was loaded; it holds for every process", "policy", p.Version()) })
		return tx.Audit(ctx, core.AuditRow{Principal: localPrincipal, Via: core.ViaLibrary, Action: "load_policy",
			Verdict: core.VerdictDone, PolicyVersion: p.Version(), Outcome: "policy " + p.Version()})
	})
}

func set(ctx context.Context, tx core.Tx, name, value string) (changed bool, err error) {
	n, err := tx.Exec(ctx, `insert into reeve_settings (name, value, updated_at) values ($1, $2, $3)
		on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at
		where reeve_settings.value <> excluded.value`, name, value, tx.Micros())
	return n == 1, err
}

// Policy is the policy that holds now.
func (op *Operator) Policy(ctx context.Context) (*gate.Policy, error) {
	var p *gate.Policy
	err := op.inView(ctx, func(tx core.Tx) error {
		var err error
		p, err = op.policies.at(ctx, tx)
		return err
	})
	return p, err
}

// at is the policy of a transaction's moment. A stored one is read whole only when
// it is not the one that was read before.
func (ps *policies) at(ctx context.Context, tx core.Tx) (*gate.Policy, error) {
	if ps.fixed != nil {
		return ps.fixed, nil
	}
	sum, err := setting(ctx, tx, settingPolicySum)
	if err != nil {
		return nil, err
	}
	if last := ps.followed.Load(); last != nil && last.sum == sum {
		return last.policy, nil
	}
	// Both in one statement: another policy may be loaded between two of them.
	var both struct {
		Sum  string `db:"sum"`
		Text string `db:"text"`
	}
	err = tx.Get(ctx, &both, `select coalesce((select value from reeve_settings where name = $1), '') as sum,
		coalesce((select value from reeve_settings where name = $2), '') as text`, settingPolicySum, settingPolicy)
	if err != nil {
		return nil, err
	}
	text := both.Text
	if sum = both.Sum; sum == "" && text == "" {
		return gate.DefaultPolicy(), nil
	}
	if core.SHA256Hex([]byte(text)) != sum {
		return nil, errors.New("the policy of the database is not the one that was loaded: load it again")
	}
	p, err := gate.LoadPolicy(storedPolicyName, []byte(text))
	if err != nil {
		// It was valid where it was loaded. A binary that cannot read it must not
		// judge by anything milder.
		return nil, fmt.Errorf("the policy of the database cannot be read by this version of reeve: %w", err)
	}
	ps.followed.Store(&followed{sum, p})
	return p, nil
}

// setting reads a value, empty where it was never set.
func setting(ctx context.Context, tx core.Tx, name string) (value string, err error) {
	err = tx.Get(ctx, &value, `select value from reeve_settings where name = $1`, name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}
