package operator_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// BenchmarkRecordingBesideTheSealer records from eight callers for two seconds with
// the sealer and two seconds without, in turns, and reports the one rate as a share
// of the other. Everything that was recorded with the sealer on is sealed within
// the time that is measured.
//
//	go test ./operator -run '^$' -bench BesideTheSealer -benchtime 5x
func BenchmarkRecordingBesideTheSealer(b *testing.B) {
	for _, store := range []string{"sqlite", "postgres"} {
		b.Run(store, func(b *testing.B) {
			ctx := context.Background()
			w, _ := sealedWorld(b, store)
			var wishes atomic.Int64
			record := func(how func(until context.Context)) (perSecond float64) {
				until, stop := context.WithTimeout(ctx, 2*time.Second)
				defer stop()
				began, done := time.Now(), atomic.Int64{}
				var callers sync.WaitGroup
				for range 8 {
					callers.Go(func() {
						for until.Err() == nil {
							if _, err := w.RecordIntent(ctx, w.Agent, spend(fmt.Sprintf("Wish %d", wishes.Add(1)), 100)); err != nil {
								b.Error(err)
								return
							}
							done.Add(1)
						}
					})
				}
				how(until)
				callers.Wait()
				return float64(done.Load()) / time.Since(began).Seconds()
			}
			seal := func() {
				if _, err := w.Seal(ctx); err != nil {
					b.Fatal(err)
				}
			}
			var on, off float64
			for b.Loop() {
				off += record(func(until context.Context) { <-until.Done() })
				seal()
				began := time.Now()
				rate := record(func(until context.Context) { w.Tend(until, time.Second) })
				took := time.Since(began)
				seal() // what is left of it counts
				on += rate * took.Seconds() / time.Since(began).Seconds()
			}
			b.ReportMetric(off/float64(b.N), "off/s")
			b.ReportMetric(on/float64(b.N), "on/s")
			b.ReportMetric(on/off, "on/off")
			inOrder(b, operatortest.Database(b, w.Where))
		})
	}
}

// BenchmarkSealing seals ten thousand rows that wait.
func BenchmarkSealing(b *testing.B) {
	const rows = 10_000
	for _, store := range []string{"sqlite", "postgres"} {
		b.Run(store, func(b *testing.B) {
			w, _ := sealedWorld(b, store)
			db := operatortest.Database(b, w.Where)
			w.Record(b, renewal())
			if _, err := w.Seal(context.Background()); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				b.StopTimer()
				execute(b, db, `insert into reeve_audit (account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer,
					digest, policy_version, outcome, request_id, leaf)
					select account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer,
					digest, policy_version, outcome, request_id, leaf
					from reeve_audit, (with recursive n(i) as (select 1 union all select i + 1 from n where i < $1) select i from n) as s
					where seq = 1 and account_id = 1`, rows)
				b.StartTimer()
				if done, err := w.Seal(context.Background()); err != nil || done.Rows != rows {
					b.Fatal(done, err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
