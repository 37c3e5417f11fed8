package powers

import (
	"context"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Observed is one call as it was answered, for metrics and traces: words of the
// tables and numbers, and nothing that a caller wrote.
type Observed struct {
	Face      Face
	Action    string // a row of a table, a word of an adapter's own, or "unknown"
	Verdict   string // "done", or the refusal's
	Reason    operator.Reason
	Status    int   // as HTTP means it
	Intent    int64 // the intent that it is about; 0: of none, or it is not known
	Replayed  bool  // the answer of before, given again under its idempotency key
	RequestID string
	Took      time.Duration
}

// Observer is told of each call once, when its answer stands; ctx is the call's. It
// must be quick, and safe for concurrent use.
type Observer func(ctx context.Context, o Observed)

// WithObserver is the same schedule, which tells f of every call that it answers.
func (s *Schedule) WithObserver(f Observer) *Schedule {
	out := *s
	out.observer = f
	return &out
}

// unknownAction is how an action is told that stands in no table.
const unknownAction = "unknown"

// Actions are all the words that an Observed can have for its action, besides the
// words of the adapters' own.
func (s *Schedule) Actions() []string {
	var out []string
	for _, t := range s.tools {
		out = append(out, t.Name)
	}
	for _, a := range s.acts {
		out = append(out, a.Name)
	}
	return append(out, unknownAction)
}

// observed runs a call and tells of it.
func (s *Schedule) observed(ctx context.Context, c Caller, action string, call func() Answer) Answer {
	if s.observer == nil {
		return call()
	}
	began := time.Now()
	a := call()
	s.tellObserver(ctx, c, action, a, time.Since(began))
	return a
}

// observedRefusal tells of a call that ended in a refusal, if it did.
func (s *Schedule) observedRefusal(ctx context.Context, c Caller, action string, refused *Answer) *Answer {
	if refused != nil && s.observer != nil {
		s.tellObserver(ctx, c, action, *refused, 0)
	}
	return refused
}

func (s *Schedule) tellObserver(ctx context.Context, c Caller, action string, a Answer, took time.Duration) {
	verdict := core.VerdictDone
	if !a.OK {
		verdict = string(a.Reason.Info().Verdict)
	}
	s.observer(ctx, Observed{Face: c.Face, Action: action, Verdict: verdict, Reason: a.Reason, Status: a.Status, Intent: a.intent,
		Replayed: a.Replayed, RequestID: c.RequestID, Took: took})
}

// known is a tool's name, if there is such a tool: any other word is the caller's.
func (s *Schedule) known(tool string) string {
	if s.byName[tool] == nil {
		return unknownAction
	}
	return tool
}

// aboutIntent is the intent that a result is about, 0 where it is about none.
func aboutIntent(out any) int64 {
	switch r := out.(type) {
	case operator.Intent:
		return r.ID
	case operator.ClaimOutput:
		if r.Job != nil {
			return r.Job.Intent.ID
		}
	}
	return 0
}
