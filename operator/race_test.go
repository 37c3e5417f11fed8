package operator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// racer is one of many that act at the same moment.
type racer struct {
	name string
	err  error
}

func TestOfSixteenApprovalsAndRejectionsAtOnceExactlyOneWins(t *testing.T) {
	operatortest.EachLevel(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		db := operatortest.Database(t, w.Where)
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		for round := range 5 {
			in := w.Record(t, spend(fmt.Sprintf("Round %d", round), 100))
			racers := together(16, func(i int) racer {
				op, p := w.Operator, w.Owner
				if i&1 == 1 {
					op = other
				}
				if i&2 == 2 {
					p = ana
				}
				if i&4 == 4 {
					_, err := op.Approve(ctx, p, act(in))
					return racer{"approved by " + p.ID(), err}
				}
				_, err := op.Reject(ctx, p, act(in))
				return racer{"rejected by " + p.ID(), err}
			})
			oneWon(t, w, in.ID, racers)
			if n := count(t, db, `select count(*) from reeve_decisions where intent_id = $1`, in.ID); n != 1 {
				t.Errorf("%d decisions on record", n)
			}
		}
	})
}

// oneWon checks that the others were told who and when.
func oneWon(t *testing.T, w *operatortest.World, id int64, racers []racer) {
	t.Helper()
	shown, err := w.ShowIntent(context.Background(), w.Owner, id)
	mustHave(t, err)
	winners := []string{}
	for _, r := range racers {
		if r.err == nil {
			winners = append(winners, r.name)
			continue
		}
		refusal := mustBe(t, r.err, operator.ErrAlreadySettled)
		if refusal.Details["settled_by"] != *shown.DecidedBy {
			t.Errorf("%s was told that %v settled it, and it was %s", r.name, refusal.Details["settled_by"], *shown.DecidedBy)
		}
		if at, ok := refusal.Details["settled_at"].(time.Time); !ok || !at.Equal(*shown.DecidedAt) {
			t.Errorf("%s was told that it was settled at %v", r.name, refusal.Details["settled_at"])
		}
	}
	if want := string(shown.Status) + " by " + *shown.DecidedBy; len(winners) != 1 || winners[0] != want {
		t.Errorf("winners: %v; the row says %s", winners, want)
	}
}

func TestOfEveryActAtOnceOneDecidesAndTheRowEndsOnce(t *testing.T) {
	operatortest.EachLevel(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		db := operatortest.Database(t, w.Where)
		acts := []string{"approve", "reject", "ignore", "edit", "withdraw", "revoke", "claim", "sweep"}
		for round := range 6 {
			in := w.Record(t, spend(fmt.Sprintf("Round %d", round), 100))
			racers := together(16, func(i int) racer {
				op := w.Operator
				if i%2 == 1 {
					op = other
				}
				name := acts[i/2]
				return racer{name, tryAct(ctx, op, w, in, name)}
			})
			won := map[string]int{}
			for _, r := range racers {
				if r.err == nil {
					won[r.name]++
				} else if !errors.Is(r.err, operator.ErrAlreadySettled) && !errors.Is(r.err, operator.ErrTransition) {
					t.Errorf("%s: %v", r.name, r.err)
				}
			}
			if n := won["approve"] + won["reject"] + won["ignore"] + won["edit"]; n > 1 {
				t.Errorf("round %d: %d judgements of what waited: %v", round, n, won)
			}
			if n := won["reject"] + won["ignore"] + won["edit"] + won["withdraw"] + won["revoke"]; n > 1 {
				t.Errorf("round %d: it ended %d times: %v", round, n, won)
			}
			moves := operatortest.Rows(t, db, `select outcome from reeve_audit where intent_id = $1 order by id`, in.ID)
			at := gate.Status("")
			for _, line := range moves {
				m := moved.FindStringSubmatch(line)
				if m == nil || gate.Status(m[1]) != at || !inTable(at, gate.Status(m[2])) {
					t.Fatalf("round %d: the record does not follow: %v", round, moves)
				}
				at = gate.Status(m[2])
			}
			if now := statusOf(t, db, in.ID); now != string(at) {
				t.Errorf("round %d: the row is %s, the record ends with %s", round, now, at)
			}
		}
	})
}

func tryAct(ctx context.Context, op *operator.Operator, w *operatortest.World, in operator.Intent, name string) error {
	switch name {
	case "approve":
		return errOf(op.Approve(ctx, w.Owner, act(in)))
	case "reject":
		return errOf(op.Reject(ctx, w.Owner, act(in)))
	case "ignore":
		return errOf(op.Ignore(ctx, w.Owner, act(in)))
	case "revoke":
		return errOf(op.Revoke(ctx, w.Owner, act(in)))
	case "edit":
		return errOf(op.Edit(ctx, w.Owner, operator.EditInput{ID: in.ID, Digest: in.Digest, Action: spend(in.Title+" edited", 50).Action}))
	case "withdraw":
		return errOf(op.UpdateIntent(ctx, w.Agent, operator.UpdateIntentInput{ID: in.ID, Status: "cancelled"}))
	case "claim":
		return errOf(op.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}}))
	default:
		return errOf(op.Sweep(ctx))
	}
}

func TestTwoApprovalsOfAQuorumAtOnceAreBothCounted(t *testing.T) {
	operatortest.EachLevel(t, func(t *testing.T, store string) {
		ctx := context.Background()
		opts := &operator.Options{Policy: policy(t, twoPeople)}
		w := operatortest.New(t, store, opts)
		other := w.Again(t, opts)
		ana, _ := w.NewPerson(t, "ana", operator.RoleAdmin)
		for round := range 10 {
			in := w.Record(t, spend(fmt.Sprintf("Round %d", round), 200000))
			answers := together(2, func(i int) operator.Intent {
				op, p := w.Operator, w.Owner
				if i == 1 {
					op, p = other, ana
				}
				out, err := op.Approve(ctx, p, act(in))
				if err != nil {
					t.Error(err)
				}
				return out
			})
			approved := 0
			for _, a := range answers {
				if a.Status == gate.StatusApproved {
					approved++
				}
			}
			if approved != 1 {
				t.Errorf("round %d: %d of the two saw it approved", round, approved)
			}
		}
	})
}

func TestARemovalAndAnApprovalAtOnceComeInOneOrderOrTheOther(t *testing.T) {
	operatortest.EachLevel(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		db := operatortest.Database(t, w.Where)
		for round := range 8 {
			handle := fmt.Sprintf("p%d", round)
			p, _ := w.NewPerson(t, handle, operator.RoleAdmin)
			in := w.Record(t, spend(handle, 100))
			errs := together(2, func(i int) error {
				if i == 0 {
					return other.RemovePerson(ctx, "", handle)
				}
				return errOf(w.Approve(ctx, p, act(in)))
			})
			mustHave(t, errs[0])
			now := statusOf(t, db, in.ID)
			if errs[1] == nil && now != "approved" || errs[1] != nil && now != "pending_approval" {
				t.Errorf("round %d: %v, and it is %s", round, errs[1], now)
			}
			if errs[1] != nil {
				mustBe(t, errs[1], operator.ErrCredentialRevoked)
			}
			if _, err := w.Approve(ctx, p, act(in)); !errors.Is(err, operator.ErrCredentialRevoked) {
				t.Errorf("round %d: afterwards: %v", round, err)
			}
		}
	})
}
