package operator

import (
	"context"
	"log/slog"
	"time"

	"github.com/reeve-go/reeve/operator/internal/core"
)

// Logger is where the Operator logs, for the adapters to log to as well.
func (op *Operator) Logger() *slog.Logger { return op.log }

// RefusalCount is how often a caller met the same refusal within a day, this
// time included.
type RefusalCount struct {
	Identical int // same action, same arguments, same reason
	Alike     int // same action, same reason
}

// repeatWindow is how far back identical refusals are counted.
const repeatWindow = 24 * time.Hour

// RecordRefusal is for the schedule of powers, which refuses most calls before
// they come here; nobody else can name its argument. It writes the record of a call that was refused, in a transaction
// of its own, and counts how often that happened lately, across processes and
// faces. Outages are recorded and never counted; nobody's refusals are not
// counted either, for they are not one caller's.
func (op *Operator) RecordRefusal(ctx context.Context, a core.AuditRow) (RefusalCount, error) {
	var count RefusalCount
	ctx = core.Briefly(ctx) // the refused one waits for it, and may have waited before
	err := op.inTx(ctx, func(tx core.Tx) error {
		count = RefusalCount{}
		if err := tx.Audit(ctx, a); err != nil {
			return err
		}
		if a.AccountID == 0 || a.Verdict != string(core.VerdictDeny) {
			return nil
		}
		var counted struct {
			Identical int `db:"identical"`
			Alike     int `db:"alike"`
		}
		err := tx.Get(ctx, &counted, `select count(*) as alike, coalesce(sum(case when args_digest = $1 then 1 else 0 end), 0) as identical
			from reeve_audit where account_id = $2 and principal = $3 and action = $4 and reason = $5 and at > $6 and verdict = 'deny'`,
			a.ArgsDigest, a.AccountID, a.Principal, a.Action, string(a.Reason), tx.Micros()-repeatWindow.Microseconds())
		count = RefusalCount(counted)
		return err
	})
	return count, err
}

// Refuse makes a refusal, for adapters that refuse something themselves.
func Refuse(reason Reason, format string, args ...any) *Refusal {
	return core.Refuse(reason, format, args...)
}
