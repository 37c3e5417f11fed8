package powers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// fresh is a caller of one call, as an adapter has it: its credential was read, and the
// body of its request is on its way.
func (w *world) fresh(kind operator.Kind) (powers.Caller, operator.Minted) {
	w.t.Helper()
	w.count++
	in := operator.NewCredential{Kind: kind, Name: fmt.Sprintf("once%d", w.count), Scopes: operator.Scopes(), Life: time.Hour}
	if kind == operator.KindHuman {
		in.Person, in.Interactive = "owner", true
	}
	m := w.Mint(w.t, in)
	c, refused := w.Authenticate(w.t.Context(), powers.Presented{Authorization: []string{"Bearer " + m.Token}, Face: powers.FaceREST, RequestID: "req-1", Once: true})
	if refused != nil {
		w.t.Fatalf("%s", refused.JSON)
	}
	return c, m
}

// Every row of both tables, and everybody who may call it: however soon the body comes
// after the credential was taken back, nothing is carried out and nothing is shown.
func TestNoCallIsCarriedOutOnceItsCredentialWasTakenBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		refused := func(name string, m operator.Minted, call func() reply) {
			t.Helper()
			if err := w.RevokeCredential(t.Context(), "", m.ID); err != nil {
				t.Fatal(err)
			}
			before := w.digest()
			r := call()
			if r.OK || r.Status != 401 || r.env.Reason != "credential_revoked" || r.Challenge == "" {
				t.Errorf("%s: %s", name, r.JSON)
			}
			if w.digest() != before {
				t.Errorf("%s: something changed", name)
			}
		}
		for _, tool := range w.Tools() {
			for _, kind := range tool.Kinds {
				c, m := w.fresh(kind)
				// Another caller makes ready what the call is about, so that this one has its look left.
				raw := text(w.args(powers.Caller{Principal: w.Principal(t, m.Token), Face: powers.FaceREST}, tool))
				refused(fmt.Sprint(tool.Name, " by ", kind), m, func() reply { return w.call(c, tool, raw) })
			}
		}
		for _, a := range w.Acts() {
			for _, kind := range a.Kinds {
				raw := text(w.actArgs(a))
				c, m := w.fresh(kind)
				refused(fmt.Sprint(a.Name, " by ", kind), m, func() reply { return w.do(c, a, raw) })
			}
		}
	})
}

// The answer of before is not given again, either.
func TestNoAnswerIsRepeatedToACredentialThatWasTakenBack(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c, m := w.fresh(operator.KindAgent)
		tool := w.recording()
		raw := []byte(text(w.args(c, tool)))
		ctx := operator.WithIdempotencyKey(t.Context(), "k")
		if a := w.Call(ctx, c, tool.Name, raw); !a.OK {
			t.Fatalf("%s", a.JSON)
		}
		if err := w.RevokeCredential(t.Context(), "", m.ID); err != nil {
			t.Fatal(err)
		}
		read(t, w.Call(ctx, c, tool.Name, raw)).wants(t, "credential_revoked")
	})
}
