package operator_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// sealedWorld is a world whose record is sealed, and the options by which another
// process has the same key.
func sealedWorld(t testing.TB, store string) (*operatortest.World, *operator.Options) {
	t.Helper()
	opts := &operator.Options{AuditKey: filepath.Join(t.TempDir(), "keys", "audit.key")}
	return operatortest.New(t, store, opts), opts
}

func export(t testing.TB, op *operator.Operator, account string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := op.ExportAudit(context.Background(), account, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// whole fails unless an account's log is exported and found whole, under the key
// that this process seals with.
func whole(t testing.TB, op *operator.Operator, account string) operator.AuditReport {
	t.Helper()
	_, key := op.AuditKey()
	report, err := operator.VerifyAudit(bytes.NewReader(export(t, op, account)),
		&operator.VerifyAuditOptions{Keys: []operator.AuditPublicKey{operator.AuditPublicKey(key)}, Origin: operator.AuditOrigin(account)})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// inOrder fails unless the rows of every log are numbered 1, 2, 3… without a hole,
// and none is left over.
func inOrder(t testing.TB, db *sql.DB) {
	t.Helper()
	if n := count(t, db, `select count(*) from reeve_audit where seq is null`); n != 0 {
		t.Errorf("%d rows are not sealed", n)
	}
	for _, line := range operatortest.Rows(t, db, `select coalesce(account_id, 0), count(*), count(distinct seq), min(seq), max(seq) from reeve_audit group by 1`) {
		c := strings.Split(line, "|")
		if c[1] != c[2] || c[3] != "1" || c[4] != c[1] {
			t.Errorf("log %s has %s rows in %s places from %s to %s", c[0], c[1], c[2], c[3], c[4])
		}
		if size := count(t, db, `select size from reeve_logs where account_id = `+c[0]); fmt.Sprint(size) != c[1] {
			t.Errorf("log %s has %s rows, and says %d", c[0], c[1], size)
		}
	}
}

func TestUnderManyWritersAndTwoSealersEveryRowIsSealedOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, opts := sealedWorld(t, store)
		again := w.Again(t, opts)
		there := w.Elsewhere(t, "other", operator.DefaultSlug)
		stop, stopped := make(chan struct{}), sync.WaitGroup{}
		for _, op := range []*operator.Operator{w.Operator, again} {
			stopped.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if _, err := op.Seal(ctx); err != nil {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		const writers, each = 8, 25
		together(writers, func(i int) error {
			op, agent, person := w.Operator, w.Agent, w.Owner
			if i%2 == 1 {
				op, agent, person = again, there.Agent, there.Person
			}
			for n := range each {
				in, err := op.RecordIntent(ctx, agent, spend(fmt.Sprintf("wish %d of %d", n, i), 100))
				if err == nil && n%5 == 0 {
					_, err = op.Approve(ctx, person, act(in))
				}
				if err != nil {
					t.Error(err)
					return err
				}
			}
			return nil
		})
		close(stop)
		stopped.Wait()
		if _, err := w.Seal(ctx); err != nil {
			t.Fatal(err)
		}
		inOrder(t, operatortest.Database(t, w.Where))
		mine, theirs := whole(t, w.Operator, ""), whole(t, again, "other")
		if mine.Size < writers/2*(each+5) || theirs.Size < writers/2*(each+5) {
			t.Errorf("%d and %d rows", mine.Size, theirs.Size)
		}
	})
}

func TestARowThatIsTouchedInTheDatabaseAfterItWasSealedIsFound(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for name, statement := range map[string]string{
			"altered":                    `update reeve_audit set outcome = outcome || '!' where seq = 4`,
			"moved to another principal": `update reeve_audit set principal = 'human:somebody' where seq = 4`,
			"backdated":                  `update reeve_audit set at = at - 1 where seq = 4`,
			"deleted":                    `delete from reeve_audit where seq = 4`,
			"the last one deleted":       `delete from reeve_audit where seq = (select max(seq) from reeve_audit where account_id = 1)`,
			"altered with its leaf":      `update reeve_audit set outcome = '', leaf = (select leaf from reeve_audit where seq = 5 and account_id = 1) where seq = 4`,
			"two exchanged":              `update reeve_audit set seq = case seq when 4 then 1000 else 4 end where account_id = 1 and seq in (4, 5); update reeve_audit set seq = 5 where seq = 1000`,
			"all of it shortened":        `delete from reeve_audit where seq > 3; update reeve_logs set size = 3`,
		} {
			w, _ := sealedWorld(t, store)
			for i := range int64(3) {
				w.Approved(t, spend("Wish "+itoa(i), 100))
			}
			whole(t, w.Operator, "")
			db := operatortest.Database(t, w.Where)
			for one := range strings.SplitSeq(statement, ";") {
				execute(t, db, one)
			}
			_, err := operator.VerifyAudit(bytes.NewReader(export(t, w.Operator, "")), nil)
			if !errors.Is(err, operator.ErrAuditAltered) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestALogThatIsCutShortOrRewrittenWithTheKeyIsFoundByAnEarlierCheckpoint(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, _ := sealedWorld(t, store)
		w.Approved(t, renewal())
		early, err := w.AuditCheckpoint(ctx, "")
		mustHave(t, err)
		known := &operator.VerifyAuditOptions{Checkpoints: []string{early}}
		w.Approved(t, spend("More", 1))
		if _, err := operator.VerifyAudit(bytes.NewReader(export(t, w.Operator, "")), known); err != nil {
			t.Fatalf("a continuation: %v", err)
		}
		// Whoever holds the key and the database seals what they like.
		db := operatortest.Database(t, w.Where)
		again := func(statement string) error {
			execute(t, db, statement)
			execute(t, db, `update reeve_audit set seq = null`)
			execute(t, db, `delete from reeve_logs`)
			text := export(t, w.Operator, "")
			if _, err := operator.VerifyAudit(bytes.NewReader(text), nil); err != nil {
				t.Errorf("it was sealed again: %v", err)
			}
			_, err := operator.VerifyAudit(bytes.NewReader(text), known)
			return err
		}
		if err := again(`update reeve_audit set request_id = 'x', leaf = '' where id = 2`); !errors.Is(err, operator.ErrAuditForked) {
			t.Errorf("rewritten: %v", err)
		}
		if err := again(`delete from reeve_audit where id > 3`); !errors.Is(err, operator.ErrAuditTruncated) && !errors.Is(err, operator.ErrAuditForked) {
			t.Errorf("cut short: %v", err)
		}
	})
}

func TestASealerThatEndsBetweenTwoBatchesLeavesAWholeLog(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx, kill := context.WithCancel(context.Background())
		w, opts := sealedWorld(t, store)
		db := operatortest.Database(t, w.Where)
		// Rows of before there were leaves: they get theirs when they are sealed.
		execute(t, db, `insert into reeve_audit (account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer,
			digest, policy_version, outcome, request_id) select 1, 1, i, 'x', '', '', 'x', '', 'done', '', '', '', '', '', ''
			from (with recursive n(i) as (select 1 union all select i + 1 from n where i < 1300) select i from n) as s`)
		batches := 0
		w.BetweenBatches(func() {
			if batches++; batches == 3 {
				kill()
			}
		})
		done, err := w.Seal(ctx)
		if !errors.Is(err, context.Canceled) || done.Rows != 1000 {
			t.Fatalf("it sealed %d rows, %v", done.Rows, err)
		}
		again := w.Again(t, opts)
		var out bytes.Buffer
		rest, err := again.Seal(context.Background())
		mustHave(t, err)
		mustHave(t, again.ExportAudit(context.Background(), "", &out))
		if total := done.Rows + rest.Rows; total != int(count(t, db, `select count(*) from reeve_audit`)) {
			t.Errorf("%d rows were sealed", total)
		}
		inOrder(t, db)
		whole(t, again, "")
	})
}

func TestAPersonsActIsSealedWhenItAnswersAndAWorkerTakesItUpAtOnce(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, _ := sealedWorld(t, store)
		db := operatortest.Database(t, w.Where)
		sealedNow := func(what string) {
			t.Helper()
			if n := count(t, db, `select count(*) from reeve_audit where seq is null and kind = 'human'`); n != 0 {
				t.Errorf("%s answered, and is not sealed", what)
			}
		}
		ready := w.Approved(t, renewal())
		sealedNow("an approval")
		got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		if err != nil || got.Job == nil || got.Job.Intent.ID != ready.ID {
			t.Fatalf("%+v, %v", got, err)
		}
		one := func(title string) operator.Intent { return w.Record(t, spend(title, 5)) }
		must := func(what string, err error) { t.Helper(); mustHave(t, err); sealedNow(what) }
		must("a rejection", errOf(w.Reject(ctx, w.Owner, act(one("a")))))
		must("an ignoring", errOf(w.Ignore(ctx, w.Owner, act(one("b")))))
		must("a revocation", errOf(w.Revoke(ctx, w.Owner, act(one("c")))))
		asked := one("d")
		must("a response", errOf(w.Respond(ctx, w.Owner, operator.RespondInput{ID: asked.ID, Text: "Why?"})))
		edit := spend("d, but less", 4).Action
		must("an edit", errOf(w.Edit(ctx, w.Owner, operator.EditInput{ID: asked.ID, Digest: asked.Digest, Action: edit})))
		lapse(t, db, ready.ID)
		_, err = w.Sweep(ctx)
		mustHave(t, err)
		must("a settlement", errOf(w.Settle(ctx, w.Owner, operator.SettleInput{ID: ready.ID, Status: "failed"})))
		must("a reissue", errOf(w.Reissue(ctx, w.Owner, operator.ReissueInput{ID: ready.ID})))
		_, err = w.Comment(ctx, w.Owner, operator.CommentInput{Text: "So be it."})
		must("a comment", err)
		if report := whole(t, w.Operator, ""); report.Executions != 1 {
			t.Errorf("%d executions", report.Executions)
		}
	})
}

func TestWhateverBecomesOfIntentsTheLogShowsTheLeaveOfEachExecution(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, _ := sealedWorld(t, store)
		m := &makers{w: w, db: operatortest.Database(t, w.Where)}
		for _, status := range gate.Statuses() {
			m.at(t, status)
		}
		claim := operator.ClaimInput{Types: []string{"note"}, Idempotent: []string{"note"}}
		w.Record(t, note("twice"))
		for range 2 { // taken up, lost, and taken up again
			got, err := w.Claim(ctx, w.Worker, claim)
			mustHave(t, err)
			lapse(t, m.db, got.Job.Intent.ID)
			_, err = w.Sweep(ctx)
			mustHave(t, err)
		}
		claims := count(t, m.db, `select count(*) from reeve_audit where status_to = 'executing'`)
		if report := whole(t, w.Operator, ""); report.Executions != claims || claims < 6 {
			t.Errorf("%d executions of %d were shown to have their leave", report.Executions, claims)
		}
		// An execution that somebody wrote into the database by hand has none.
		execute(t, m.db, `insert into reeve_audit (account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer,
			intent_id, digest, policy_version, outcome, request_id, status_from, status_to)
			select account_id, project_id, at, principal, kind, via, action, args_digest, verdict, reason, layer, 9999, digest,
			policy_version, outcome, request_id, status_from, status_to from reeve_audit where status_to = 'executing' order by id limit 1`)
		_, err := operator.VerifyAudit(bytes.NewReader(export(t, w.Operator, "")), nil)
		if !errors.Is(err, operator.ErrAuditAuthority) {
			t.Errorf("a forged execution: %v", err)
		}
	})
}

func TestAnActWithinAForeignTransactionIsTakenUpOnceItIsSealed(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, _ := sealedWorld(t, store)
		in := w.Record(t, renewal())
		tx, err := operatortest.Database(t, w.Where).BeginTx(ctx, nil)
		mustHave(t, err)
		_, err = w.ApproveTx(ctx, tx, w.Owner, act(in))
		mustHave(t, err)
		mustHave(t, tx.Commit())
		claim := func() *operator.Job {
			got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
			mustHave(t, err)
			return got.Job
		}
		if job := claim(); job != nil {
			t.Error("it was taken up before it was sealed")
		}
		_, err = w.Seal(ctx)
		mustHave(t, err)
		if job := claim(); job == nil || job.Intent.ID != in.ID {
			t.Errorf("it was not taken up: %+v", job)
		}
		whole(t, w.Operator, "")
	})
}

// TestAnActThatIsNotSealedYetSaysWhatOfItWaits: an approval is not carried out before
// its seal. Whatever stops or refuses something holds from its commit, and says so.
func TestAnActThatIsNotSealedYetSaysWhatOfItWaits(t *testing.T) {
	const waits, holds = "no worker carries it out before that is done", "holds already"
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w, _ := sealedWorld(t, store)
		ctx, keyless := context.Background(), operatortest.Open(t, w.Where, &operator.Options{Clock: w.Clock, Keyless: true})
		keyless.Hurry(10)
		for _, c := range []struct {
			name, words string
			do          func(in operator.Intent) error
			stands      func(in operator.Intent) bool
		}{
			{"approve", waits, func(in operator.Intent) error { _, err := keyless.Approve(ctx, w.Owner, act(in)); return err }, func(operator.Intent) bool {
				got, err := keyless.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
				return err == nil && got.Job == nil // it waits
			}},
			{"reject", holds, func(in operator.Intent) error { _, err := keyless.Reject(ctx, w.Owner, act(in)); return err }, func(in operator.Intent) bool {
				now, err := w.ShowIntent(ctx, w.Owner, in.ID)
				return err == nil && now.Status == gate.StatusRejected
			}},
			{"freeze", holds, func(operator.Intent) error {
				_, err := keyless.Freeze(ctx, w.Owner, operator.FreezeInput{Scope: "account", Reason: "Stop."})
				return err
			}, func(operator.Intent) bool {
				got, err := keyless.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
				return err == nil && got.Frozen
			}},
		} {
			in := w.Record(t, spend(c.name, 1))
			if r := mustBe(t, c.do(in), operator.ErrAuditUnsealed); !strings.Contains(r.Message, c.words) || !c.stands(in) {
				t.Errorf("%s: %s", c.name, r.Message)
			}
		}
	})
}

func TestWhoHasNoKeyWaitsForWhoHas(t *testing.T) {
	ctx := context.Background()
	w, _ := sealedWorld(t, "postgres")
	keyless := w.Again(t, nil)
	if file, key := keyless.AuditKey(); file != "" || key != "" {
		t.Fatalf("it has a key: %s %s", file, key)
	}
	if done, err := keyless.Seal(ctx); err != nil || done.Rows != 0 {
		t.Errorf("it sealed %d rows, %v", done.Rows, err)
	}
	claim := func() *operator.Job {
		got, err := keyless.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
		mustHave(t, err)
		return got.Job
	}
	keyless.Hurry(50 * time.Millisecond)
	in := w.Record(t, renewal())
	out, err := keyless.Approve(ctx, w.Owner, act(in))
	r := mustBe(t, err, operator.ErrAuditUnsealed)
	if out.Status != gate.StatusApproved || !strings.Contains(r.Message, "recorded") || r.Info().Verdict != "unavailable" {
		t.Errorf("%s, %+v", out.Status, r)
	}
	if job := claim(); job != nil {
		t.Error("it was taken up before it was sealed")
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := keyless.Comment(gone, w.Owner, operator.CommentInput{Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has gone: %v", err)
	}
	_, err = w.Seal(ctx)
	mustHave(t, err)
	if job := claim(); job == nil || job.Intent.ID != in.ID {
		t.Errorf("it was not taken up: %+v", job)
	}
	keyless.Hurry(time.Minute)
	tend, stop := context.WithCancel(ctx)
	var tending sync.WaitGroup
	tending.Go(func() { w.Tend(tend, 10*time.Millisecond) })
	_, err = keyless.Approve(ctx, w.Owner, act(w.Record(t, spend("Another", 1))))
	mustHave(t, err)
	stop()
	tending.Wait()
	whole(t, w.Operator, "")
}

func TestWithoutAnyKeyNothingWaits(t *testing.T) {
	ctx := context.Background()
	w := operatortest.New(t, "postgres", nil)
	in := w.Approved(t, renewal())
	got, err := w.Claim(ctx, w.Worker, operator.ClaimInput{Types: []string{"spend"}})
	if err != nil || got.Job == nil || got.Job.Intent.ID != in.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	mustBe(t, w.ExportAudit(ctx, "", &bytes.Buffer{}), operator.ErrNotFound)
	// Whoever brings a key later seals what was before as well.
	later := w.Again(t, &operator.Options{AuditKey: filepath.Join(t.TempDir(), "audit.key")})
	if report := whole(t, later, ""); report.Executions != 1 {
		t.Errorf("%+v", report)
	}
}

func TestAWorkerSealsWhatItDid(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, opts := sealedWorld(t, store)
		w.Approved(t, renewal())
		handlers := map[string]operator.Handler{"spend": {Run: func(context.Context, operator.Job) (string, error) { return "done", nil }}}
		mustHave(t, w.Again(t, opts).Work(ctx, w.Worker, handlers, &operator.WorkOptions{Once: true}))
		inOrder(t, operatortest.Database(t, w.Where))
	})
}

func TestWhatBelongsToNoAccountHasALogOfItsOwn(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w, _ := sealedWorld(t, store)
		mustBe(t, w.ExportAudit(ctx, operator.NoAccount, &bytes.Buffer{}), operator.ErrNotFound)
		mustBe(t, w.ExportAudit(ctx, "nobody", &bytes.Buffer{}), operator.ErrNotFound)
		_, err := w.RecordRefusal(ctx, operator.RefusalRow(operator.Principal{}))
		mustHave(t, err)
		if report := whole(t, w.Operator, operator.NoAccount); report.Size != 1 || report.Origin != "reeve" {
			t.Errorf("%+v", report)
		}
	})
}

func TestOfAThousandTamperingsOfARealExportAThousandAreFound(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		ctx := context.Background()
		w, _ := sealedWorld(t, store)
		there := w.Elsewhere(t, "other", operator.DefaultSlug)
		for i := range int64(8) {
			w.Approved(t, spend("Wish "+itoa(i), 100))
			in, err := w.RecordIntent(ctx, there.Agent, spend("Theirs "+itoa(i), 100))
			mustHave(t, err)
			_, err = w.Approve(ctx, there.Person, act(in))
			mustHave(t, err)
		}
		mine, theirs := export(t, w.Operator, ""), export(t, w.Operator, "other")
		checkpoint, err := w.AuditCheckpoint(ctx, "")
		mustHave(t, err)
		_, key := w.AuditKey()
		known := &operator.VerifyAuditOptions{Keys: []operator.AuditPublicKey{operator.AuditPublicKey(key)}, Checkpoints: []string{checkpoint}}
		if _, err := operator.VerifyAudit(bytes.NewReader(mine), known); err != nil {
			t.Fatal(err)
		}
		lines, other := bytes.SplitAfter(bytes.TrimSuffix(mine, []byte("\n")), []byte("\n")), bytes.SplitAfter(theirs, []byte("\n"))
		lines[len(lines)-1] = append(slices.Clone(lines[len(lines)-1]), '\n')
		ways := []func(all [][]byte, i, j int) [][]byte{
			func(all [][]byte, i, _ int) [][]byte { return slices.Delete(all, i, i+1) },
			func(all [][]byte, i, j int) [][]byte { return slices.Insert(all, i, all[j]) },
			func(all [][]byte, i, j int) [][]byte { all[i], all[j] = all[j], all[i]; return all },
			func(all [][]byte, i, _ int) [][]byte { return all[:i] },
			func(all [][]byte, i, _ int) [][]byte { all[i] = other[i]; return all },
			func([][]byte, int, int) [][]byte { return other },
			func(all [][]byte, i, _ int) [][]byte {
				all[i] = slices.Clone(all[i])
				all[i][r.IntN(len(all[i]))] ^= byte(1 + r.IntN(255))
				return all
			},
		}
		found := 0
		for n := range 1000 {
			i, j := r.IntN(len(lines)), r.IntN(len(lines))
			for bytes.Equal(lines[i], lines[j]) {
				j = r.IntN(len(lines))
			}
			text := bytes.Join(ways[n%len(ways)](slices.Clone(lines), i, j), nil)
			if _, err := operator.VerifyAudit(bytes.NewReader(text), known); err == nil {
				t.Errorf("way %d at lines %d and %d is not found", n%len(ways), i+1, j+1)
				continue
			}
			found++
		}
		t.Logf("%d of 1000 found", found)
	})
}
