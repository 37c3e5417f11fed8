package operator

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Limits of a look at the state.
const (
	DefaultPage = 20
	MaxPage     = 100
	MaxWait     = 60 // seconds
)

// StateInput says what to look at.
type StateInput struct {
	IntentID    *int64  `json:"intent_id,omitempty" validate:"omitempty,min=1" doc:"One intent only, whole: with its exact payload and what people answered."`
	WaitSeconds *int64  `json:"wait_seconds,omitempty" validate:"omitempty,min=0,max=60" doc:"With intent_id: how long to wait, at most, for it to leave pending_approval."`
	Status      *string `json:"status,omitempty" validate:"omitempty,oneof=allowed pending_approval denied approved rejected cancelled superseded expired executing unknown succeeded failed" doc:"Only intents of this status."`
	Limit       *int64  `json:"limit,omitempty" validate:"omitempty,min=1,max=100" doc:"At most so many of each list; 20 when left out. A page that would be long has fewer."`
	Cursor      *string `json:"cursor,omitempty" validate:"omitempty,max=200" doc:"Where an earlier answer ended, to see what came before: older intents, decisions and lines of the record alike."`
}

// State is the board and the record of a project, newest first. A page of lists holds at
// most about 20,000 tokens (MaxPageBytes): what does not fit is on the next one, and long
// texts are cut, which ends them with "…". One intent that is asked for by itself is whole,
// and may be longer.
type State struct {
	Tasks      []struct{}   `json:"tasks" doc:"The board's tasks."`
	Decisions  []Decision   `json:"decisions" doc:"The board's decisions."`
	Audit      []AuditEntry `json:"audit" doc:"What was done and refused."`
	Intents    []Intent     `json:"intents" doc:"The intents."`
	Runs       []struct{}   `json:"runs" doc:"The runs."`
	NextCursor *string      `json:"next_cursor" doc:"Pass it as cursor to see what came before, of every list that goes on; a list that has ended is empty there. Null once all have ended."`

	moreIntents bool
}

// MoreIntents says whether intents are among what NextCursor leads to.
func (s State) MoreIntents() bool { return s.moreIntents }

// AuditEntry is a line of the record as it is shown.
type AuditEntry struct {
	ID        int64     `json:"id" doc:"The line's number."`
	At        time.Time `json:"at" doc:"When."`
	Principal string    `json:"principal" doc:"Who."`
	Via       string    `json:"via" doc:"Which way in."`
	Act       string    `json:"act" doc:"Which tool or act."`
	Result    string    `json:"result" doc:"done, or the verdict of the refusal."`
	Why       string    `json:"why" doc:"The reason of a refusal, else empty."`
	IntentID  *int64    `json:"intent_id" doc:"The intent it concerns."`
	Outcome   string    `json:"outcome" doc:"What changed."`
}

// State answers what stands in the caller's project. With IntentID and
// WaitSeconds it waits until that intent leaves pending_approval, and no longer
// than that; how long anybody waits has nothing to do with when it lapses.
func (op *Operator) State(ctx context.Context, p Principal, in StateInput) (State, error) {
	if !p.Known() {
		return State{}, core.Refuse(core.ReasonUnauthenticated, "Nobody was proved to be calling.")
	}
	if in.Status != nil && !Status(*in.Status).Valid() {
		return State{}, core.Refuse(core.ReasonInvalidStatus, "That is not a status an intent can have.")
	}
	if err := in.check(); err != nil {
		return State{}, err
	}
	if in.IntentID != nil {
		return op.stateOfOne(ctx, p, in)
	}
	from, err := readCursor(in.Cursor, p.ProjectID())
	if err != nil {
		return State{}, err
	}
	var out State
	err = op.inView(ctx, func(tx core.Tx) error {
		err := present(ctx, tx, p)
		if err != nil {
			return err
		}
		out, err = readPage(ctx, tx, p.ProjectID(), in, from)
		return err
	})
	return out, err
}

// check refuses arguments that would have no effect together, rather than leave
// somebody waiting for one.
func (in StateInput) check() error {
	given := func(s *string) bool { return s != nil && *s != "" }
	switch {
	case in.IntentID != nil && (given(in.Status) || given(in.Cursor)):
		return core.Refuse(core.ReasonInvalidValue, "One intent was asked for: leave out status and cursor.").With("field", "intent_id")
	case in.IntentID == nil && in.WaitSeconds != nil && *in.WaitSeconds > 0:
		return core.Refuse(core.ReasonInvalidValue, "Only one intent can be waited for: give intent_id with wait_seconds.").With("field", "wait_seconds")
	}
	return nil
}

func (op *Operator) stateOfOne(ctx context.Context, p Principal, in StateInput) (State, error) {
	wait := int64(0)
	if in.WaitSeconds != nil {
		wait = *in.WaitSeconds
	}
	if err := op.waitPending(ctx, p, *in.IntentID, time.Duration(min(wait, MaxWait))*time.Second); err != nil {
		return State{}, err
	}
	out := State{Tasks: []struct{}{}, Runs: []struct{}{}}
	err := op.inView(ctx, func(tx core.Tx) error {
		// After the wait: whoever was let in a minute ago may be nobody by now.
		if err := present(ctx, tx, p); err != nil {
			return err
		}
		one, err := wholeIntent(ctx, tx, p.ProjectID(), *in.IntentID)
		if err != nil {
			return err
		}
		out.Intents = []Intent{one}
		if out.Decisions, err = decisionsOf(ctx, tx, one.ID, pageSize(in)); err != nil {
			return err
		}
		out.Audit, err = listAudit(ctx, tx, p.ProjectID(), one.ID, maxID, pageSize(in))
		return err
	})
	return out, err
}

func wholeIntent(ctx context.Context, tx core.Tx, project, id int64) (Intent, error) {
	row, err := findIntent(ctx, tx, project, id, "")
	if err != nil {
		return Intent{}, err
	}
	return withResponses(ctx, tx, row.whole())
}

// ShowIntent gives a person one intent, whole: exactly what they would approve.
func (op *Operator) ShowIntent(ctx context.Context, p Person, id int64) (Intent, error) {
	var out Intent
	err := op.inView(ctx, func(tx core.Tx) error {
		if _, err := p.live(ctx, tx, ""); err != nil {
			return err
		}
		var err error
		out, err = wholeIntent(ctx, tx, p.projectID, id)
		return err
	})
	return out, err
}

// Waiting lists what waits for a person, or is unknown and has to be settled by
// one, oldest first, at most limit of them.
func (op *Operator) Waiting(ctx context.Context, p Person, limit int) ([]Intent, error) {
	var rows []intentRow
	err := op.inView(ctx, func(tx core.Tx) error {
		if _, err := p.live(ctx, tx, ""); err != nil {
			return err
		}
		return tx.Select(ctx, &rows, waitingQuery, p.projectID, tx.Micros(), max(limit, 0))
	})
	out := make([]Intent, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.listed())
	}
	return out, err
}

// waitingQuery names the two statuses as the index reeve_intents_waiting does, or
// neither database would use it.
const waitingQuery = `select ` + intentColumns + ` from reeve_intents
	where project_id = $1 and (status = 'pending_approval' or status = 'unknown') and (status = 'unknown' or expires_at > $2)
	order by id limit $3`

// waitPoll is how often a waiter looks although nothing in this process changed:
// other processes write too.
const waitPoll = 300 * time.Millisecond

// maxWaits bounds how many calls of one principal wait at once, in this process.
// Beyond it a call is answered at once: each wait holds a connection, of which others
// need some too.
const maxWaits = 32

// waits counts the calls that wait, by principal.
type waits struct {
	mu sync.Mutex
	by map[string]int
}

// enter says whether another one may wait; leave must be called where it may.
func (w *waits) enter(who string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string]int{}
	}
	if w.by[who] >= maxWaits {
		return false
	}
	w.by[who]++
	return true
}

func (w *waits) leave(who string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by[who]--; w.by[who] <= 0 {
		delete(w.by, who)
	}
}

func (op *Operator) waitPending(ctx context.Context, p Principal, id int64, limit time.Duration) error {
	project, who := p.ProjectID(), itoa(p.AccountID())+" "+p.ID()
	if limit <= 0 || !op.waiting.enter(who) {
		return nil
	}
	defer op.waiting.leave(who)
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	poll := time.NewTicker(waitPoll)
	defer poll.Stop()
	for {
		changed := op.changes.wait()
		row, err := findIntent(ctx, op.db.View(), project, id, "")
		if err != nil || row.Status != gate.StatusPendingApproval {
			return err
		}
		select {
		case <-changed:
		case <-poll.C:
		case <-deadline.C:
			return nil
		case <-op.stopped.ch:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func pageSize(in StateInput) int {
	if in.Limit == nil || *in.Limit < 1 {
		return DefaultPage
	}
	return int(min(*in.Limit, MaxPage))
}

func listIntents(ctx context.Context, tx core.Tx, project int64, in StateInput, before int64) ([]Intent, error) {
	query := `select ` + intentColumns + ` from reeve_intents where project_id = $1 and id < $2`
	args := []any{project, before, pageSize(in) + 1}
	if in.Status != nil {
		// One of a closed list, which was checked. As a literal it lets SQLite use
		// the index of what waits.
		query += ` and status = '` + *in.Status + `'`
	}
	var rows []intentRow
	err := tx.Select(ctx, &rows, query+` order by id desc limit $3`, args...)
	out := make([]Intent, 0, len(rows))
	for _, r := range rows {
		out = append(out, short(r.listed()))
	}
	return out, err
}

func listDecisions(ctx context.Context, tx core.Tx, project, before int64, limit int) ([]Decision, error) {
	var rows []decisionRow
	err := tx.Select(ctx, &rows, `select `+decisionColumns+` from reeve_decisions where project_id = $1 and id < $3 order by id desc limit $2`, project, limit, before)
	out := make([]Decision, 0, len(rows))
	for _, r := range rows {
		d := r.decision()
		d.Title, d.Note = cut(d.Title), cut(d.Note)
		out = append(out, d)
	}
	return out, err
}

// decisionsOf lists what people decided about one intent, newest first.
func decisionsOf(ctx context.Context, tx core.Tx, intent int64, limit int) ([]Decision, error) {
	var rows []decisionRow
	err := tx.Select(ctx, &rows, `select `+decisionColumns+` from reeve_decisions where intent_id = $1 order by id desc limit $2`, intent, limit)
	out := make([]Decision, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.decision())
	}
	return out, err
}

// listAudit lists lines of the record before one of them, newest first: of an intent, or
// of the whole project where that is 0.
func listAudit(ctx context.Context, tx core.Tx, project, intent, before int64, limit int) ([]AuditEntry, error) {
	var rows []struct {
		ID        int64         `db:"id"`
		At        int64         `db:"at"`
		Principal string        `db:"principal"`
		Via       string        `db:"via"`
		Action    string        `db:"action"`
		Verdict   string        `db:"verdict"`
		Reason    string        `db:"reason"`
		IntentID  sql.NullInt64 `db:"intent_id"`
		Outcome   string        `db:"outcome"`
	}
	query := `select id, at, principal, via, action, verdict, reason, intent_id, outcome from reeve_audit where project_id = $1 and id < $3`
	args := []any{project, limit, before}
	if intent != 0 {
		query += ` and intent_id = $4`
		args = append(args, intent)
	}
	err := tx.Select(ctx, &rows, query+` order by id desc limit $2`, args...)
	out := make([]AuditEntry, 0, len(rows))
	for _, r := range rows {
		out = append(out, AuditEntry{r.ID, core.FromMicros(r.At), r.Principal, r.Via, r.Action, r.Verdict, r.Reason, optionalInt(r.IntentID), r.Outcome})
	}
	return out, err
}
