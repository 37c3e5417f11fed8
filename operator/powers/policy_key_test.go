package powers_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// An act whose row is not sealed stands: its key is not given back for another try.
func TestAPolicyThatStandsUnsealedIsNotLoadedAgainUnderItsKey(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, &operator.Options{AuditKey: filepath.Join(t.TempDir(), "audit.key")})
		owner := w.full(operator.KindHuman)
		var put *powers.Act
		for _, a := range w.Acts() {
			if a.Method == "PUT" && a.Path == "/v1/policy" {
				put = a
			}
		}
		hard := text(map[string]any{"policy": "version: 1\nextends: default\nrules:\n  - {id: never, match: {types: [spend]}, effect: deny, reason: Not this month.}\n"})
		soft := text(map[string]any{"policy": "version: 1\nextends: default\n", "accept": []string{"never"}})
		if a := w.CallAct(t.Context(), owner, put, []byte(hard)); !a.OK {
			t.Fatalf("%s", a.JSON)
		}
		other := w.Again(t, &operator.Options{Keyless: true, Patience: 2 * time.Second})
		s, err := powers.New(other)
		if err != nil {
			t.Fatal(err)
		}
		if a := s.CallAct(keyed(t, "k"), owner, put, []byte(soft)); a.Reason != "audit_unsealed" {
			t.Fatalf("%s", a.JSON)
		}
		if a := w.CallAct(t.Context(), owner, put, []byte(hard)); !a.OK { // a colleague tightens again
			t.Fatalf("%s", a.JSON)
		}
		if a := w.CallAct(keyed(t, "k"), owner, put, []byte(soft)); a.OK || a.Reason != "may_have_been_carried_out" {
			t.Errorf("%s", a.JSON)
		}
		rows := w.query(`select seq from reeve_policies order by seq`)
		if len(rows) != 3 {
			t.Errorf("the same call under one key was done twice: %d rows", len(rows))
		}
	})
}
