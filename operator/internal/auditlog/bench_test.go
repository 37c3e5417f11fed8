package auditlog

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkVerify verifies a log as it is written, and so never has it whole. It
// reports what the heap holds at the end, which does not grow with b.N.
func BenchmarkVerify(b *testing.B) {
	r, w := io.Pipe()
	key := freshKey(b)
	go func() {
		// The size is known beforehand, so the rows can be made one by one.
		var tree Tree
		lives := int64(b.N)
		err := WriteHeader(w, Header{Keys: []PublicKey{key.Public()}, Origin: Origin("default"), Rotations: []string{}, Size: 3 * lives})
		for i := range lives {
			digest := strings.Repeat(fmt.Sprintf("%08x", i), 8)
			for _, e := range []Entry{
				{Intent: i + 1, Digest: digest, StatusTo: statusAllowed, PolicyDecision: decisionAllow},
				{Intent: i + 1, Digest: digest, StatusFrom: statusAllowed, StatusTo: statusExecuting},
				{Intent: i + 1, Digest: digest, StatusFrom: statusExecuting, StatusTo: "succeeded"},
			} {
				e.Account, e.At, e.Verdict, e.Principal, e.Action = 1, 1_700_000_000_000_000+i, verdictDone, "agent:agent", "operator_record_action_intent"
				if leaf, wrong := e.Leaf(); err == nil {
					tree.Append(leaf)
					err = wrong
				}
				if err == nil {
					err = WriteEntry(w, e)
				}
			}
		}
		signed, wrong := Checkpoint{Origin("default"), tree.Size(), tree.Root()}.Sign(key)
		if err == nil && wrong == nil {
			err = WriteCheckpoint(w, signed)
		}
		w.CloseWithError(err)
	}()
	b.ResetTimer()
	report, err := Verify(r, nil)
	if err != nil || report.Executions != int64(b.N) {
		b.Fatal(report, err)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(report.Size)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-held")
}
