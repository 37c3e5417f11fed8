package operator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

const noSpending = "version: 1\nextends: default\nrules:\n  - {id: no-spending, match: {types: [spend]}, effect: deny, reason: Not this month.}\n"

// loosened is what a load was refused for.
func loosened(t *testing.T, err error) *operator.LoosensError {
	t.Helper()
	var out *operator.LoosensError
	if !errors.Is(err, operator.ErrPolicyLoosens) || !errors.As(err, &out) {
		t.Fatalf("want policy_loosens, got %v", err)
	}
	return out
}

func TestTighteningIsFreeAndLooseningIsAnOwners(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		w.Record(t, note("Something was promised"))
		out, err := w.LoadPolicy(ctx, "", "hard.yaml", []byte(noSpending))
		if err != nil || !out.Changed || out.Sequence != 1 || *out.LoadedBy != "local:database" || *out.File != "hard.yaml" {
			t.Fatalf("%+v, %v", out, err)
		}
		denied := w.Record(t, spend("Desks", 100))
		id := "intent-" + itoa(denied.ID)
		_, err = w.LoadPolicy(ctx, "", "default.yaml", gate.DefaultYAML())
		if got := loosened(t, err); !slices.Equal(got.Missing, []string{"no-spending", id}) {
			t.Errorf("%+v", got)
		}
		in := operator.PolicyInput{Policy: string(gate.DefaultYAML())}
		for _, c := range []struct {
			name             string
			accept           []string
			missing, unknown []string
		}{
			{"nothing", nil, []string{"no-spending", id}, nil},
			{"the rule alone", []string{"no-spending"}, []string{id}, nil},
			{"the denial alone", []string{id}, []string{"no-spending"}, nil},
			{"all, and a typing error", []string{"no-spending", id, "no-spendin"}, nil, []string{"no-spendin"}},
		} {
			in.Accept = c.accept
			_, err := w.ChangePolicy(ctx, w.Owner, in)
			if got := loosened(t, err); !slices.Equal(got.Missing, c.missing) || !slices.Equal(got.Unknown, c.unknown) {
				t.Errorf("%s: %+v", c.name, got)
			}
		}
		if n := count(t, db, `select count(*) from reeve_policies`); n != 1 {
			t.Fatalf("a refused load left %d rows", n)
		}
		in.Accept = []string{id, "no-spending"}
		out, err = w.ChangePolicy(ctx, w.Owner, in)
		if err != nil || out.Sequence != 2 || *out.AcceptedBy != "human:owner" || len(out.Accepted) != 2 {
			t.Fatalf("%+v, %v", out, err)
		}
		rows := operatortest.Rows(t, db, `select principal, outcome from reeve_audit where action = 'set_policy' and verdict = 'done'`)
		if len(rows) != 1 || !strings.Contains(rows[0], "human:owner") || !strings.Contains(rows[0], "accepted: no-spending, "+id) {
			t.Errorf("%q", rows)
		}
		if n := count(t, db, `select count(*) from reeve_audit where seq is null and action in ('set_policy', 'load_policy')`); n != 0 && store == "sqlite" { // there it has the key
			t.Error("a load is not sealed")
		}
		again, err := w.ChangePolicy(ctx, w.Owner, in)
		if err != nil || again.Changed || again.Sequence != 2 {
			t.Errorf("the same again: %+v, %v", again, err)
		}
		if in := w.Record(t, spend("Chairs", 100)); in.Status != gate.StatusPendingApproval || in.PolicyVersion != out.Version {
			t.Errorf("%+v", in)
		}
	})
}

func TestADenialIsAcceptedOnce(t *testing.T) {
	w := operatortest.New(t, "sqlite", nil)
	w.SetPolicy(t, noSpending)
	w.Record(t, spend("Desks", 100))
	w.SetPolicy(t, string(gate.DefaultYAML()))
	_, err := w.LoadPolicy(context.Background(), "", "p.yaml", []byte(smallAllowed))
	if got := loosened(t, err); !slices.Equal(got.Missing, []string{"small"}) {
		t.Errorf("what the present policy does not deny is no denial of its own: %+v", got)
	}
}

func TestOnlyAnOwnerLoosens(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "sqlite", nil)
	w.Record(t, note("Something"))
	in := operator.PolicyInput{Policy: smallAllowed, Accept: []string{"small"}}
	for _, role := range []operator.Role{operator.RoleAdmin, operator.RoleMember} {
		p, _ := w.NewPerson(t, string(role), role)
		_, err := w.ChangePolicy(ctx, p, in)
		mustBe(t, err, operator.ErrRoleNotAllowed)
		if _, err := w.ShowPolicy(ctx, p); err != nil {
			t.Error(err)
		}
	}
	_, err := w.ChangePolicy(ctx, operator.Person{}, in)
	mustBe(t, err, operator.ErrUnauthenticated)
	in.Base = "1-000000000000"
	_, err = w.ChangePolicy(ctx, w.Owner, in)
	mustBe(t, err, operator.ErrVersionConflict)
	in.Base = gate.DefaultPolicy().Version()
	if _, err := w.ChangePolicy(ctx, w.Owner, in); err != nil {
		t.Error(err)
	}
	if _, err = w.LoadPolicy(ctx, "nobody", "p.yaml", []byte(smallAllowed)); !errors.Is(err, operator.ErrNotFound) {
		t.Error(err)
	}
}

func TestWhoSetsAnAccountUpGivesItsFirstPolicy(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		// There is one person yet, and the rule asks for two.
		out, err := w.LoadPolicy(ctx, "", "first.yaml", []byte(quorumOrAllow))
		if err != nil || out.Sequence != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		_, err = w.LoadPolicy(ctx, "", "second.yaml", []byte(smallAllowed))
		loosened(t, err)
	})
}

func TestARuleThatAsksForMorePeopleThanThereAreIsRefusedWithItsPlace(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "sqlite", nil)
	w.Record(t, note("Something"))
	_, err := w.LoadPolicy(ctx, "", "two.yaml", []byte(twoPeople))
	r := mustBe(t, err, operator.ErrQuorum)
	var fault *gate.PolicyError
	if !errors.As(err, &fault) || fault.Line != 5 || fault.Rule != "large" || !strings.Contains(r.Message, "two.yaml:5:5: rule large: it asks for 2 people") {
		t.Errorf("%v, %+v", err, fault)
	}
	w.NewPerson(t, "ana", operator.RoleMember)
	_, err = w.LoadPolicy(ctx, "", "two.yaml", []byte(twoPeople))
	mustBe(t, err, operator.ErrQuorum)
	w.NewPerson(t, "bo", operator.RoleAdmin)
	if _, err := w.LoadPolicy(ctx, "", "two.yaml", []byte(twoPeople)); err != nil {
		t.Fatal(err)
	}
	mustHave(t, w.RemovePerson(ctx, "", "bo"))
	if _, err := w.LoadPolicy(ctx, "", "harder.yaml", []byte(twoPeople+"  - {id: no-sends, match: {types: [send]}, effect: deny, reason: Silence.}\n")); err != nil {
		t.Errorf("who has left keeps nobody from tightening: %v", err)
	}
}

func TestEachAccountHasAPolicyOfItsOwn(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		mustHave(t, w.AddAccount(ctx, "other", "UTC", "USD"))
		_, err := w.LoadPolicy(ctx, "other", "hard.yaml", []byte(noSpending))
		mustHave(t, err)
		m := w.Mint(t, operator.NewCredential{Kind: operator.KindAgent, Name: "theirs", Account: "other", Scopes: operator.Scopes()})
		theirs, err := w.RecordIntent(ctx, w.Principal(t, m.Token), spend("Desks", 100))
		mustHave(t, err)
		if ours := w.Record(t, spend("Desks", 100)); ours.Status != gate.StatusPendingApproval || theirs.Status != gate.StatusDenied {
			t.Errorf("%s, %s", ours.Status, theirs.Status)
		}
	})
}

func TestOfTwoWhoLoadAtOnceOneComesAfterTheOther(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		w.Record(t, note("Something"))
		errs := together(8, func(i int) error {
			text := strings.ReplaceAll(noSpending, "no-spending", "no-spending-"+itoa(int64(i)))
			_, err := w.LoadPolicy(ctx, "", "p.yaml", []byte(text))
			return err
		})
		loaded := int64(0)
		for _, err := range errs {
			// A rule of another's takes the place of one's own: that loosens, and is seen.
			switch {
			case err == nil:
				loaded++
			case errors.Is(err, operator.ErrPolicyLoosens), errors.Is(err, operator.ErrVersionConflict):
			default:
				t.Error(err)
			}
		}
		if n := count(t, db, `select count(*) from reeve_policies where seq <= $1`, loaded); n != loaded || loaded == 0 {
			t.Errorf("%d loads, %d rows", loaded, n)
		}
	})
}

func TestAPolicyThatTheServiceGaveIsChangedByNobody(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "sqlite", &operator.Options{Policy: policy(t, noSpending)})
	_, err := w.ChangePolicy(ctx, w.Owner, operator.PolicyInput{Policy: smallAllowed})
	mustBe(t, err, operator.ErrPolicyFixed)
	if out, err := w.ShowPolicy(ctx, w.Owner); err != nil || !out.Fixed || !strings.Contains(out.Text, "no-spending") {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAPolicyFileThatIsNoneIsRefusedWithEveryPlace(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "sqlite", nil)
	_, err := w.ChangePolicy(ctx, w.Owner, operator.PolicyInput{Policy: "version: 1\nrules:\n  - {id: x, effect: maybe}\n  - {id: x, effect: deny, reason: R., zzz: 1}\n"})
	r := mustBe(t, err, operator.ErrPolicyInvalid)
	faults, _ := r.Details["faults"].([]operator.PolicyFault)
	var all gate.PolicyErrors
	if len(faults) < 2 || faults[0].Line != 3 || !errors.As(err, &all) || len(all) != len(faults) {
		t.Errorf("%+v, %v", faults, err)
	}
	_, err = w.ChangePolicy(ctx, w.Owner, operator.PolicyInput{Policy: noSpending + "# rv_human_" + strings.Repeat("x", 43) + "\n"})
	mustBe(t, err, operator.ErrPolicyInvalid)
}

// TestTheStoredPolicyOfBeforeBecomesEveryAccounts takes a database back to schema 5.
func TestTheStoredPolicyOfBeforeBecomesEveryAccounts(t *testing.T) {
	for name, settings := range map[string]struct{ sum, text string }{
		"as it was loaded": {"", noSpending}, "one that was spoiled": {"x", noSpending}, "a sum alone": {strings.Repeat("0", 64), ""},
	} {
		t.Run(name, func(t *testing.T) {
			operatortest.EachStore(t, func(t *testing.T, store string) {
				ctx := context.Background()
				w := operatortest.New(t, store, nil)
				mustHave(t, w.AddAccount(ctx, "other", "UTC", "USD"))
				db := operatortest.Database(t, w.Where)
				mustHave(t, w.Close())
				for _, q := range []string{`drop index reeve_decisions_vote`, `alter table reeve_decisions drop column member_from`,
					`create unique index reeve_decisions_vote on reeve_decisions (intent_id, person_id) where status = 'approved' and intent_id is not null`,
					`alter table reeve_idempotency drop column runs_until`, `drop table reeve_policies`, `drop index reeve_intents_denied`, `delete from reeve_schema where version >= 6`} {
					execute(t, db, q)
				}
				sum := settings.sum
				if sum == "" {
					sum = sha256Hex(settings.text)
				}
				execute(t, db, `insert into reeve_settings (name, value, updated_at) values ('policy_sha256', $1, 7), ('policy', $2, 7)`, sum, settings.text)
				op := operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock})
				for _, account := range []string{"", "other"} {
					p, err := op.Policy(ctx, account)
					if settings.sum != "" {
						mustBe(t, err, operator.ErrUnavailable)
						continue
					}
					if _, found := p.Rule("no-spending"); err != nil || !found {
						t.Errorf("%q: %v", account, err)
					}
				}
				if settings.sum == "" {
					out, err := op.StoredPolicy(ctx, "")
					if err != nil || out.Version != policy(t, noSpending).Version() || out.Text != noSpending || out.Sequence != 1 {
						t.Errorf("%+v, %v", out, err)
					}
				} else if op.Ping(ctx) == nil {
					t.Error("it says that it is ready")
				}
			})
		})
	}
}
