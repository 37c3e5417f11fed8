package powers_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// presents holds a try that proves nobody to one refusal, and to one row in the
// record that names nobody.
func (w *world) presents(t *testing.T, name, reason string, in powers.Presented) {
	t.Helper()
	w.presentsAs(t, name, reason, in, "0", "", "")
}

// presentsAs is presents for a credential that was somebody's: a challenge of
// words of ours, and a row in their account's record, where they can find it.
func (w *world) presentsAs(t *testing.T, name, reason string, in powers.Presented, account, principal, kind string) {
	t.Helper()
	in.Face, in.RequestID, in.Action = powers.FaceMCP, "req-9", "POST /mcp"
	before, n := w.digest(), w.lines()
	c, refused := w.Authenticate(t.Context(), in)
	if refused == nil {
		t.Errorf("%s: it was let in as %s", name, c.Principal.ID())
		return
	}
	r := read(t, *refused)
	r.wants(t, reason)
	if c.Principal.Known() {
		t.Errorf("%s: refused, but the caller is %s", name, c.Principal.ID())
	}
	challenge := fmt.Sprintf(`Bearer realm="reeve", error="invalid_token", error_description="%s"`, reason)
	if r.Status != 401 || !r.IsError || r.Challenge != challenge || r.env.Layer != "credential" || r.env.Action != "POST /mcp" {
		t.Errorf("%s: status %d, %q: %s", name, r.Status, r.Challenge, r.JSON)
	}
	want := line{account: account, principal: principal, kind: kind, via: "mcp", action: "POST /mcp", verdict: "deny", reason: reason, layer: "credential", requestID: "req-9"}
	if got := w.since(n); len(got) != 1 || got[0] != want {
		t.Errorf("%s: the record says %+v", name, got)
	}
	if w.digest() != before {
		t.Errorf("%s: something changed", name)
	}
}

func header(values ...string) powers.Presented { return powers.Presented{Authorization: values} }

func TestACredentialIsExactlyOneBearerHeader(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		token := w.token(operator.KindAgent, operator.Scopes()...)
		flipped := token[:len(token)-1] + map[bool]string{true: "A", false: "B"}[token[len(token)-1] != 'A']
		for name, in := range map[string]powers.Presented{
			"no header":                header(),
			"the same header twice":    header("Bearer "+token, "Bearer "+token),
			"another header behind it": header("Bearer "+token, "Basic eDp5"),
			"an empty header first":    header("", "Bearer "+token),
			"an empty header":          header(""),
			"the scheme alone":         header("Bearer"),
			"the scheme and a space":   header("Bearer "),
			"Basic":                    header("Basic " + token),
			"Basic, well-formed":       header("Basic dXNlcjpwYXNz"),
			"no scheme":                header(token),
			"Token":                    header("Token " + token),
			"two spaces":               header("Bearer  " + token),
			"a tab":                    header("Bearer\t" + token),
			"a space behind":           header("Bearer " + token + " "),
			"two in one header":        header("Bearer " + token + ", Bearer " + token),
			"two tokens":               header("Bearer " + token + " " + token),
			"in quotes":                header(`Bearer "` + token + `"`),
			"a line break":             header("Bearer " + token + "\r\nX: y"),
			"NUL":                      header("Bearer " + token + "\x00"),
			"cut":                      header("Bearer " + token[:len(token)-1]),
			"too long":                 header("Bearer " + token + "A"),
			"very long":                header("Bearer " + strings.Repeat(token, 10_000)),
			"of another kind":          header("Bearer " + strings.Replace(token, "_agent_", "_human_", 1)),
			"of no kind":               header("Bearer " + strings.Replace(token, "_agent_", "_admin_", 1)),
			"in capitals":              header("Bearer " + strings.ToUpper(token)),
			"with another character":   header("Bearer " + flipped),
			"its hash":                 header("Bearer " + w.query(`select hash from reeve_credentials order by id desc limit 1`)[0][0]),
			"SQL":                      header("Bearer rv_agent_' or 1=1 --"),
			"full-width":               header("Bearer ｒｖ＿agent_" + token[9:]),
			"a scheme full-width":      header("Ｂearer " + token),
			"a scheme with Kelvin":     header("Bea\u212aer " + token),
		} {
			w.presents(t, name, "unauthenticated", in)
		}
		for _, scheme := range []string{"Bearer", "bearer", "BEARER", "bEaReR"} {
			c, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{scheme + " " + token}, Face: powers.FaceMCP, RequestID: "r"})
			if refused != nil || c.Principal.Kind() != operator.KindAgent || c.Face != powers.FaceMCP || c.RequestID != "r" || c.Principal.Via() != operator.ViaMCP {
				t.Errorf("%s: %+v", scheme, c)
			}
		}
	})
}

func TestACredentialInTheAddressIsRefusedHoweverItIsSpelled(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	token := w.token(operator.KindAgent, operator.Scopes()...)
	var hex strings.Builder
	for _, b := range []byte(token) {
		fmt.Fprintf(&hex, "%%%02x", b)
	}
	for name, query := range map[string]string{
		"access_token":            "access_token=" + token,
		"access_token, other":     "access_token=abc",
		"access_token, empty":     "access_token",
		"in capitals":             "ACCESS_TOKEN=abc",
		"with a dash":             "access-token=abc",
		"token":                   "token=" + token,
		"Authorization":           "Authorization=Bearer+" + token,
		"authorization, escaped":  "%61uthorization=Bearer%20x",
		"api_key":                 "api_key=abc",
		"X-API-Key":               "X-API-Key=abc",
		"bearer":                  "bearer=abc",
		"a list":                  "access_token[]=abc",
		"a list, escaped":         "access_token%5B0%5D=abc",
		"any name":                "x=" + token,
		"as a name":               token + "=1",
		"alone":                   token,
		"behind others":           "wait=30&x=1&y=" + token,
		"behind a semicolon":      "wait=30;access_token=abc",
		"escaped underscores":     "x=" + strings.ReplaceAll(token, "_", "%5F"),
		"escaped, lower case":     "x=" + strings.ReplaceAll(token, "_", "%5f"),
		"escaped first letter":    "x=" + strings.Replace(token, "r", "%72", 1),
		"every character escaped": "x=" + hex.String(),
		"escaped twice":           "x=" + url.QueryEscape(url.QueryEscape(strings.Replace(token, "_", "%5F", 1))),
		"in a broken query":       "x=%zz&access_token=abc",
		"in a broken value":       "x=%zz" + strings.Replace(token, "r", "%72", 1),
		"cut":                     "x=" + token[:20],
		"of another system":       "x=ghp_" + strings.Repeat("a1", 18),
		"a URL with a password":   "next=https://u:hunter2@host/",
	} {
		for _, auth := range [][]string{{"Bearer " + token}, nil} {
			w.presents(t, name, "credential_in_query", powers.Presented{Authorization: auth, RawQuery: query})
		}
	}
	for _, query := range []string{"", "wait=30", "status=pending_approval&limit=5", "cursor=aS4xLjQy", "q=serv_ices", "title=the+token+of+thanks", "x=%zz", "=", "&&"} {
		if _, refused := w.Authenticate(t.Context(), powers.Presented{Authorization: []string{"Bearer " + token}, RawQuery: query}); refused != nil {
			t.Errorf("%q holds no credential: %s", query, refused.JSON)
		}
	}
}

func TestACredentialThatIsOverIsRefusedAtOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		ctx := t.Context()
		mint := func(name string, life time.Duration) operator.Minted {
			return w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: name, Life: life, Scopes: operator.Scopes()})
		}
		bears := func(m operator.Minted) powers.Presented { return header("Bearer " + m.Token) }
		fine := func(name string, m operator.Minted) {
			t.Helper()
			if _, refused := w.Authenticate(ctx, bears(m)); refused != nil {
				t.Errorf("%s: %s", name, refused.JSON)
			}
		}
		short := mint("short", time.Hour)
		w.Clock.Advance(time.Hour - time.Microsecond)
		fine("a microsecond before its end", short)
		w.Clock.Advance(time.Microsecond)
		w.presentsAs(t, "expired", "credential_expired", bears(short), "1", "agent:short", "agent")

		revoked := mint("revoked", 0)
		fine("before it was revoked", revoked)
		if err := w.RevokeCredential(ctx, "", revoked.ID); err != nil {
			t.Fatal(err)
		}
		w.presentsAs(t, "revoked", "credential_revoked", bears(revoked), "1", "agent:revoked", "agent")

		old := mint("rotated", 0)
		fresh, err := w.RotateCredential(ctx, "", old.ID)
		if err != nil {
			t.Fatal(err)
		}
		w.presentsAs(t, "rotated", "credential_revoked", bears(old), "1", "agent:rotated", "agent")
		fine("the one it was rotated to", fresh)

		_, ana := w.NewPerson(t, "ana", operator.RoleMember)
		fine("before she was removed", ana)
		if err := w.RemovePerson(ctx, "", "ana"); err != nil {
			t.Fatal(err)
		}
		w.presentsAs(t, "a removed person", "credential_revoked", bears(ana), "1", "human:ana", "human")
	})
}

// What is taken back through one process is taken back in every other.
func TestARevocationHoldsInEveryProcess(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		there := operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock})
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindWorker, Name: "w", Scopes: operator.Scopes()})
		if _, refused := w.Authenticate(t.Context(), header("Bearer "+m.Token)); refused != nil {
			t.Fatalf("%s", refused.JSON)
		}
		if err := there.RevokeCredential(t.Context(), "", m.ID); err != nil {
			t.Fatal(err)
		}
		w.presentsAs(t, "revoked elsewhere", "credential_revoked", header("Bearer "+m.Token), "1", "worker:w", "worker")
	})
}

func TestPermitJudgesWhatCallWillJudgeAgain(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, kind := range kinds() {
		for _, c := range []powers.Caller{w.full(kind), w.as(kind)} {
			for _, tool := range w.Tools() {
				w.permits(t, w.call(c, tool, garbage), func() *powers.Answer { return w.Permit(t.Context(), c, tool) })
			}
			for _, a := range w.Acts() {
				w.permits(t, w.do(c, a, garbage), func() *powers.Answer { return w.PermitAct(t.Context(), c, a) })
			}
		}
	}
}

func (w *world) permits(t *testing.T, called reply, try func() *powers.Answer) {
	t.Helper()
	n := w.lines()
	permit := try()
	if permitted := called.env.Layer == "input"; permitted != (permit == nil) {
		t.Errorf("%s: permitted %v, but the call says %s", called.env.Action, permit == nil, called.env.Reason)
	}
	if permit == nil {
		if w.lines() != n {
			t.Errorf("%s: a permission is on record", called.env.Action)
		}
		return
	}
	read(t, *permit).wants(t, called.env.Reason)
	if got := w.since(n); len(got) != 1 || got[0].reason != called.env.Reason {
		t.Errorf("%s: the record says %+v", called.env.Action, got)
	}
}

// Whether an adapter asks first or calls at once, it is the same refusal, and the
// third of them is the third.
func TestARefusalByPermitAndByCallIsOneAndTheSame(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	c := w.as(operator.KindAgent)
	for _, tool := range w.Tools() {
		for n := 1; n <= 6; n++ {
			if n%2 == 0 {
				w.call(c, tool, fmt.Sprintf(`{"n":%d}`, n)).isTime(t, n, n >= 3)
			} else {
				read(t, *w.Permit(t.Context(), c, tool)).isTime(t, n, n >= 3)
			}
		}
	}
	for _, a := range w.Acts() {
		for n := 1; n <= 4; n++ {
			if n%2 == 0 {
				w.do(w.as(a.Kinds[0]), a, fmt.Sprintf(`{"n":%d}`, n)).isTime(t, n, n >= 3)
			} else {
				read(t, *w.PermitAct(t.Context(), w.as(a.Kinds[0]), a)).isTime(t, n, n >= 3)
			}
		}
	}
}

// The way in is stamped by the face that took the call, not by whoever resolved
// the credential.
func TestTheRecordSaysWhichWayACallCame(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	for _, face := range []powers.Face{powers.FaceMCP, powers.FaceREST, powers.FaceLibrary} {
		c := powers.Caller{Principal: w.Agent, Face: face}
		owner := w.full(operator.KindHuman)
		owner.Face = face
		in := w.intent(c)
		n := w.lines()
		if r := w.call(c, w.moving(), fmt.Sprintf(`{"id":%d,"status":"cancelled","outcome":"no"}`, in.ID)); !r.OK {
			t.Fatalf("%s", r.JSON)
		}
		w.call(c, w.moving(), `{}`)
		w.do(owner, w.act("/comments"), `{"text":"Thanks."}`)
		for _, l := range w.since(n) {
			if l.via != string(face) {
				t.Errorf("by %s: the record says %+v", face, l)
			}
		}
	}
}
