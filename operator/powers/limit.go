package powers

import (
	"container/list"
	"context"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
)

// Limits bounds how often requests are let through, per process: two processes on
// one database let through twice as many. The zero value bounds nothing, which is
// right for a program that calls the schedule itself.
type Limits struct {
	// Rate is how many requests a second one principal may make in the long run,
	// over every face; 0: any number. Brakes are never held up.
	Rate float64
	// Burst is how many of them may come at once; 0: five seconds' worth.
	Burst int
	// StrangerRate is how many refusals a second are written into the record for one
	// address that presents no live credential; 0: any number. Beyond it a request
	// is answered without a row of its own. An address is the connection's own (of
	// IPv6 its first 64 bits); what a header says of it is not believed.
	StrangerRate float64
	// StrangerBurst is how many of them may come at once; 0: five seconds' worth.
	StrangerBurst int
	// Now is the clock; nil: the Operator's.
	Now func() time.Time
}

const (
	// maxBuckets bounds how many callers are told apart. The one that was away for
	// the longest is forgotten, and begins anew.
	maxBuckets = 10_000
	// longestWait is the most that a caller is told to wait, in seconds.
	longestWait = 24 * 60 * 60
	// maxOver bounds for how many it is counted what was left out; the others are
	// counted together.
	maxOver = 1_000
	// tellEvery is how often, at most, the record says of one caller what was left out.
	tellEvery = time.Minute
	// actionLimit stands in the record where requests were left out.
	actionLimit = "rate_limit"
)

// buckets is a token bucket for each of the callers that were here last.
type buckets struct {
	rate  rate.Limit
	burst int
	order *list.List // of *bucket, the last to come in front
	byKey map[string]*list.Element
}

type bucket struct {
	key     string
	limiter *rate.Limiter
}

func newBuckets(perSecond float64, burst int) *buckets {
	if perSecond <= 0 {
		return nil
	}
	if burst <= 0 {
		burst = int(min(max(1, math.Ceil(5*perSecond)), math.MaxInt32))
	}
	return &buckets{rate: rate.Limit(perSecond), burst: burst, order: list.New(), byKey: map[string]*list.Element{}}
}

// take takes a token, and answers how many seconds it is until there is one; 0: it
// was there.
func (b *buckets) take(key string, now time.Time) int {
	if b == nil {
		return 0
	}
	e := b.byKey[key]
	if e == nil {
		e = b.order.PushFront(&bucket{key, rate.NewLimiter(b.rate, b.burst)})
		b.byKey[key] = e
		if b.order.Len() > maxBuckets {
			delete(b.byKey, b.order.Remove(b.order.Back()).(*bucket).key)
		}
	}
	b.order.MoveToFront(e)
	l := e.Value.(*bucket).limiter
	if l.AllowN(now, 1) {
		return 0
	}
	return int(min(max(1, math.Ceil((1-l.TokensAt(now))/float64(b.rate))), longestWait))
}

// leftOut is what was answered without a row in the record.
type leftOut struct {
	row   core.AuditRow // as it will be written
	whom  string        // for its outcome
	count int
	since time.Time
}

// limits holds the buckets of a schedule, and what has to be told of them.
type limits struct {
	now func() time.Time

	mu         sync.Mutex
	principals *buckets
	strangers  *buckets
	over       map[string]*leftOut
}

func newLimits(op *operator.Operator, l Limits) *limits {
	if l.Now == nil {
		l.Now = op.Now
	}
	return &limits{now: l.Now, principals: newBuckets(l.Rate, l.Burst), strangers: newBuckets(l.StrangerRate, l.StrangerBurst), over: map[string]*leftOut{}}
}

// known takes a token of a principal's.
func (l *limits) known(p operator.Principal) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.principals.take(fmt.Sprint(p.AccountID(), " ", p.ID()), l.now())
}

// stranger takes a token of an address's. What comes from none was made in this process.
func (l *limits) stranger(address string) int {
	if address == "" {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strangers.take(address, l.now())
}

// leave counts a request that gets no row of its own.
func (l *limits) leave(c Caller, info core.ReasonInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, whom := c.Principal, ""
	key := fmt.Sprint(p.AccountID(), " ", p.ID())
	if !p.Known() {
		key, whom = c.Address, " from "+c.Address
	}
	if l.over[key] == nil && len(l.over) >= maxOver {
		key, whom, p = "", " from other callers", operator.Principal{}
	}
	if l.over[key] == nil {
		l.over[key] = &leftOut{whom: whom, since: l.now(), row: core.AuditRow{AccountID: p.AccountID(), ProjectID: p.ProjectID(), Principal: p.ID(), Kind: p.Kind(),
			Via: core.Via(c.Face), Action: actionLimit, Verdict: string(info.Verdict), Reason: info.Reason, Layer: info.Layer, RequestID: c.RequestID}}
	}
	l.over[key].count++
}

// due gives what has to be written into the record by now, and forgets it.
func (l *limits) due(all bool) []core.AuditRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []core.AuditRow
	for key, o := range l.over {
		if all || l.now().Sub(o.since) >= tellEvery {
			o.row.Outcome = fmt.Sprintf("%d requests%s were left out", o.count, o.whom)
			out = append(out, o.row)
			delete(l.over, key)
		}
	}
	return out
}

// AddressOf is what a connection's far end counts as: one address, or of IPv6 the
// first 64 bits, which is the least that one party has.
func AddressOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	net, err := ip.Prefix(64)
	if err != nil {
		return ip.String()
	}
	return net.String()
}

func tooMany(wait int) *core.Refusal {
	r := core.Refuse(core.ReasonRateLimited, "Too many requests: try again in %d s, and send fewer.", wait)
	r.Recovery = []core.Step{{Kind: core.StepRetryAfter, Change: r.Info().Hint, RetryAfter: wait}}
	return r
}

// heldUp is the refusal of a call whose caller makes too many, unless it is a brake.
func (s *Schedule) heldUp(ctx context.Context, c Caller, action string) *Answer {
	if c.wait == 0 || s.brakes(action) {
		return nil
	}
	refused := s.leaveOut(ctx, c, action, c.wait)
	return &refused
}

// unrecorded is the answer in place of a refusal that would be one row too many. An
// outage is told as such, whoever asks.
func (s *Schedule) unrecorded(ctx context.Context, c Caller, action string, verdict core.Verdict) *Answer {
	if verdict != core.VerdictDeny {
		return nil
	}
	if c.Principal.Known() {
		return s.heldUp(ctx, c, action)
	}
	wait := s.limits.stranger(c.Address)
	if wait == 0 {
		return nil
	}
	refused := s.leaveOut(ctx, c, action, wait)
	return &refused
}

// leaveOut refuses without a row, and counts it.
func (s *Schedule) leaveOut(ctx context.Context, c Caller, action string, wait int) Answer {
	r := tooMany(wait)
	s.limits.leave(c, r.Info())
	s.tell(ctx, false)
	return refusalAnswer(r, action, repeats{}, c.name, "", nil)
}

// tell writes into the record what was left out.
func (s *Schedule) tell(ctx context.Context, all bool) {
	rows := s.limits.due(all)
	if len(rows) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	for _, row := range rows {
		if _, err := s.op.RecordRefusal(ctx, row); err != nil {
			s.op.Logger().Error("what was left out could not be recorded", "outcome", row.Outcome, "error", gate.Redact(err.Error()))
		}
	}
}

// Admit refuses a caller that makes too many requests, for what an adapter answers
// without calling anything. Calls of tools and acts are held up by themselves.
func (s *Schedule) Admit(ctx context.Context, c Caller, action string) *Answer {
	return s.observedRefusal(ctx, c, action, s.heldUp(ctx, c, action))
}

// brakes says whether an action stops something.
func (s *Schedule) brakes(action string) bool {
	if t := s.byName[action]; t != nil {
		return t.alwaysOn()
	}
	for _, a := range s.acts {
		if a.Name == action {
			return a.Brake
		}
	}
	return false
}

// Tend writes into the record, until ctx ends and then once more, how many requests
// were left out. Without it that is done when the next one is.
func (s *Schedule) Tend(ctx context.Context, period time.Duration) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.tell(ctx, true)
			return
		case <-tick.C:
			s.tell(ctx, false)
		}
	}
}
