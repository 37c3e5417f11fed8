package operator_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/operatortest"
)

const cappedDaily = `
version: 1
extends: default
caps: [{currency: USD, max: 100000, window: day}]
`

// heldUp is what a test of held rows has at hand.
type heldUp struct {
	*operatortest.World
	waits, approved operator.Intent
}

// attempt is an act that has to answer whoever holds what.
type attempt struct {
	name string
	do   func(context.Context) error
}

// attempts are in an order in which one leaves the next something to do.
func (h heldUp) attempts() []attempt {
	return []attempt{
		{"record", func(ctx context.Context) error {
			return errOf(h.RecordIntent(ctx, h.Agent, spend("Something else", 5)))
		}},
		{"respond", func(ctx context.Context) error {
			return errOf(h.Respond(ctx, h.Owner, operator.RespondInput{ID: h.waits.ID, Text: "why?"}))
		}},
		{"revoke", func(ctx context.Context) error { return errOf(h.Revoke(ctx, h.Owner, act(h.approved))) }},
		{"claim", func(ctx context.Context) error {
			return errOf(h.Claim(ctx, h.Worker, operator.ClaimInput{Types: []string{"spend"}}))
		}},
		{"approve", func(ctx context.Context) error { return errOf(h.Approve(ctx, h.Owner, act(h.waits))) }},
		{"freeze", func(ctx context.Context) error {
			return errOf(h.Freeze(ctx, h.Owner, operator.FreezeInput{Scope: "project", Reason: "stop"}))
		}},
		{"sweep", func(ctx context.Context) error { return errOf(h.Sweep(ctx)) }},
		{"look", func(ctx context.Context) error { return errOf(h.Waiting(ctx, h.Owner, 10)) }},
	}
}

// Somebody's open transaction on our rows keeps nobody waiting without bound: neither
// another program's, nor that of a process that was stopped. What it holds is what
// somebody waits for; which act meets it is seen by who was told.
func TestWhoeverHoldsWhatEveryActIsAnswered(t *testing.T) {
	for name, hold := range map[string]struct {
		query string
		meets []string // acts that must have been told of it
	}{
		"people":              {`select 1 from reeve_people for update`, []string{"approve", "freeze", "revoke"}},
		"the logs":            {`select 1 from reeve_logs for update`, nil},
		"the claims' lock":    {`select pg_advisory_xact_lock(hashtextextended('reeve claims', 1))`, []string{"claim", "freeze"}},
		"freezes, in share":   {`lock table reeve_freezes in share mode`, []string{"freeze"}},
		"an intent's row":     {`select 1 from reeve_intents where status = 'pending_approval' for update`, []string{"approve", "respond"}},
		"a budget's row":      {`select 1 from reeve_budgets for update`, []string{"record", "approve", "revoke"}},
		"a whole table":       {`lock table reeve_intents in access exclusive mode`, []string{"record", "approve", "claim", "revoke", "sweep", "look"}},
		"the record's table":  {`lock table reeve_audit in share mode`, []string{"record", "approve", "freeze", "revoke"}},
		"rows of the account": {`select 1 from reeve_accounts for update`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			w := operatortest.New(t, "postgres", nil)
			w.SetPolicy(t, cappedDaily)
			h := heldUp{World: w, approved: w.Approved(t, spend("Approved", 500)), waits: w.Record(t, spend("Waits", 500))}
			h.World.Operator = w.Again(t, &operator.Options{Patience: 400 * time.Millisecond})
			h.Hurry(400 * time.Millisecond)
			db := operatortest.Database(t, w.Where)
			tx, err := db.BeginTx(ctx, nil)
			mustHave(t, err)
			defer tx.Rollback()
			_, err = tx.Exec(hold.query)
			mustHave(t, err)
			told := map[string]error{}
			for _, a := range h.attempts() {
				// Far longer than the patience: what ends by this hung.
				bounded, cancel := context.WithTimeout(ctx, time.Minute)
				if err := a.do(bounded); err != nil && !errors.Is(err, operator.ErrAlreadySettled) {
					told[a.name] = err
				}
				if bounded.Err() != nil {
					t.Errorf("%s was not answered", a.name)
				}
				cancel()
			}
			for act, err := range told {
				if refusal := refusalOf(err); refusal == nil || refusal.Info().Verdict != "unavailable" || errors.Is(err, operator.ErrVersionRace) {
					t.Errorf("%s is told %v", act, err)
				}
			}
			for _, act := range hold.meets {
				if told[act] == nil {
					t.Errorf("%s did not meet it", act)
				} else if !errors.Is(told[act], core.ErrBusy) && act != "look" {
					t.Errorf("%s is not told that the store is busy: %v", act, told[act])
				}
			}
			mustHave(t, tx.Rollback())
			for _, a := range h.attempts() {
				if err := a.do(ctx); err != nil && !errors.Is(err, operator.ErrAlreadySettled) {
					t.Errorf("once it is free, %s: %v", a.name, err)
				}
			}
		})
	}
}

func TestAnActWhoseSealSomebodyHoldsUpStandsAndSaysSo(t *testing.T) {
	ctx := t.Context()
	w := operatortest.New(t, "postgres", nil)
	op := w.Again(t, &operator.Options{AuditKey: filepath.Join(t.TempDir(), "audit.key")})
	op.Hurry(300 * time.Millisecond)
	in := w.Record(t, renewal())
	_, err := op.Seal(ctx)
	mustHave(t, err)
	db := operatortest.Database(t, w.Where)
	tx, err := db.BeginTx(ctx, nil)
	mustHave(t, err)
	defer tx.Rollback()
	_, err = tx.Exec(`select 1 from reeve_logs for update`)
	mustHave(t, err)
	bounded, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := op.Approve(bounded, w.Owner, act(in)); !errors.Is(err, operator.ErrAuditUnsealed) || bounded.Err() != nil {
		t.Errorf("%v", err)
	}
	if status := statusOf(t, db, in.ID); status != "approved" {
		t.Errorf("it is %s", status)
	}
	mustHave(t, tx.Rollback())
	_, err = op.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: "project", Reason: "stop"})
	mustHave(t, err)
}

// What a stopped process holds is free once PostgreSQL has ended its session; and the
// process, once it goes on, does the same again.
func TestASessionThatStandsStillInATransactionEnds(t *testing.T) {
	w := operatortest.New(t, "postgres", nil)
	in := w.Record(t, renewal())
	still := operatortest.Open(t, w.Where+"&idle_in_transaction_session_timeout=100", &operator.Options{Clock: w.Clock})
	db := operatortest.Database(t, w.Where)
	tries := 0
	err := still.Do(t.Context(), func(tx core.Tx) error {
		tries++
		if _, err := tx.Exec(t.Context(), `select 1 from reeve_intents for update`); err != nil {
			return err
		}
		if tries == 1 { // stopped here, until somebody else gets through
			eventually(t, "its session ends", func() bool {
				return count(t, db, `select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`) == 0
			})
			if _, err := w.Approve(t.Context(), w.Owner, act(in)); err != nil {
				t.Errorf("somebody else: %v", err)
			}
		}
		_, err := tx.Exec(t.Context(), `select 1`)
		return err
	})
	if err != nil || tries != 2 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

func TestAURLsOwnSettingsOfASessionStand(t *testing.T) {
	w := operatortest.New(t, "postgres", nil)
	for where, want := range map[string]string{
		w.Where:                        "2s",
		w.Where + "&lock_timeout=1234": "1234ms",
		w.Where + "&options=-c%20lock_timeout%3D3s": "3s",
	} {
		op := operatortest.Open(t, where, &operator.Options{Clock: w.Clock})
		var got string
		mustHave(t, op.Do(t.Context(), func(tx core.Tx) error {
			return tx.Get(t.Context(), &got, `select current_setting('lock_timeout')`)
		}))
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
