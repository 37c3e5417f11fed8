package operator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestRecordingAgainAnswersTheSameRowWhateverBecameOfIt(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		m := &makers{w: w, db: operatortest.Database(t, w.Where)}
		for _, status := range gate.Statuses() {
			if status == gate.StatusExpired || status == gate.StatusSuperseded {
				continue // the one lies on another day, the other has a test of its own
			}
			in, _ := m.at(t, status)
			before := operatortest.Fingerprint(t, m.db)
			again, err := w.RecordIntent(ctx, w.Agent, operator.RecordIntentInput{Action: *in.Payload})
			if err != nil || again.ID != in.ID || again.Created || again.Status != status {
				t.Errorf("recording again what is %s: id %d (want %d), created %v, %s, %v", status, again.ID, in.ID, again.Created, again.Status, err)
			}
			if operatortest.Fingerprint(t, m.db) != before {
				t.Errorf("recording again what is %s wrote something", status)
			}
		}
	})
}

func TestAnExpiredIntentIsStillTheAnswerOnItsOwnDay(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Pending: time.Hour})
		first := w.Record(t, renewal())
		w.Clock.Advance(time.Hour)
		_, err := w.Sweep(ctx)
		mustHave(t, err)
		again := w.Record(t, renewal())
		if again.ID != first.ID || again.Created || again.Status != gate.StatusExpired {
			t.Fatalf("again: %+v", again)
		}
	})
}

func TestTheSameKeyWithAnotherPayloadIsAMismatchThatNamesTheRow(t *testing.T) {
	full := gate.Action{Type: "send", Title: "Offer", Recipient: "a@b.example", Body: "Hello", AmountCents: cents(100),
		Currency: "USD", Labels: []string{"x", "y"}, TaintedBy: []string{"o1"}, Data: jsontext.Value(`{"n":1}`)}
	others := map[string]func(*gate.Action){
		"another currency":             func(a *gate.Action) { a.Currency = "EUR" },
		"other labels":                 func(a *gate.Action) { a.Labels = []string{"x"} },
		"the labels in another order":  func(a *gate.Action) { a.Labels = []string{"y", "x"} },
		"no labels":                    func(a *gate.Action) { a.Labels = nil },
		"other data":                   func(a *gate.Action) { a.Data = jsontext.Value(`{"n":2}`) },
		"no data":                      func(a *gate.Action) { a.Data = nil },
		"another taint":                func(a *gate.Action) { a.TaintedBy = []string{"o2"} },
		"no taint (a cleaner version)": func(a *gate.Action) { a.TaintedBy = nil },
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		first := w.Record(t, operator.RecordIntentInput{Action: full})
		before := operatortest.Fingerprint(t, db)
		for name, change := range others {
			a := full
			change(&a)
			_, err := w.RecordIntent(ctx, w.Agent, operator.RecordIntentInput{Action: a})
			r := mustBe(t, err, operator.ErrIdempotencyMismatch)
			if r.Details["intent_id"] != first.ID {
				t.Errorf("%s: the refusal names %v, want %d", name, r.Details, first.ID)
			}
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("a refused recording wrote something")
		}
	})
}

func TestDifferentSpellingsOfOnePayloadAreOneIntent(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		first := w.Record(t, renewal())
		for _, a := range []gate.Action{
			{Type: "spend", Title: "Annual plan renewal", AmountCents: cents(4900), Currency: "USD"},
			{Type: "spend", Title: "Annual plan renewal", Amount: "49.00 USD"},
			{Type: "spend", Title: "Annual plan renewal", AmountCents: cents(4900), Amount: "49.00 USD", Labels: []string{}},
			{Type: "spend", Title: "Annual plan renewal", AmountCents: cents(4900), Data: jsontext.Value(` null `)},
		} {
			if again := w.Record(t, operator.RecordIntentInput{Action: a}); again.ID != first.ID || again.Created {
				t.Errorf("%+v: intent %d, created %v; want %d again", a, again.ID, again.Created, first.ID)
			}
		}
		ordered := gate.Action{Type: "note", Title: "d", Data: jsontext.Value(`{"a":1,"b":[1.0, 2]}`)}
		one := w.Record(t, operator.RecordIntentInput{Action: ordered})
		ordered.Data = jsontext.Value(`{ "b": [1, 2.0], "a": 1 }`)
		if two := w.Record(t, operator.RecordIntentInput{Action: ordered}); two.ID != one.ID {
			t.Errorf("the same data in another order made intent %d beside %d", two.ID, one.ID)
		}
	})
}

func TestAfterAnEditAReSendAnswersTheEdit(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, &operator.Options{Policy: policy(t, twoPeople)})
		original := spend("Desks", 200000)
		old := w.Record(t, original)
		latest := old
		for n := range 3 { // a chain of edits: at a quorum of two each waits again
			a := gate.Action{Type: "spend", Title: "Desks", AmountCents: cents(190000 - int64(n))}
			edited, err := w.Edit(ctx, w.Owner, operator.EditInput{ID: latest.ID, Digest: latest.Digest, Action: a})
			mustHave(t, err)
			if edited.Status != gate.StatusPendingApproval || !edited.Created || edited.Supersedes == nil || *edited.Supersedes != latest.ID {
				t.Fatalf("edit %d: %+v", n, edited)
			}
			latest = edited
			again := w.Record(t, original)
			if again.ID != edited.ID || again.Created {
				t.Fatalf("after edit %d a re-send answers %d, want %d", n, again.ID, edited.ID)
			}
		}
		shown, err := w.ShowIntent(ctx, w.Owner, old.ID)
		if err != nil || shown.Status != gate.StatusSuperseded || shown.SupersededBy == nil {
			t.Fatalf("the original: %+v, %v", shown, err)
		}
	})
}

func TestAnEditIntoWhatIsOpenAlreadyIsRefused(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		taken := w.Record(t, spend("Desks", 100))
		other := w.Record(t, spend("Chairs", 100))
		same := operator.EditInput{ID: other.ID, Digest: other.Digest, Action: spend("Desks", 100).Action}
		_, err := w.Edit(ctx, w.Owner, same)
		if r := mustBe(t, err, operator.ErrTwin); r.Details["intent_id"] != taken.ID {
			t.Errorf("%v", r.Details)
		}
		// Once that one has ended without being carried out, nothing stands in the way.
		_, err = w.Reject(ctx, w.Owner, act(taken))
		mustHave(t, err)
		edited, err := w.Edit(ctx, w.Owner, same)
		if err != nil || edited.Status != gate.StatusApproved || edited.IdempotencyKey != taken.IdempotencyKey || edited.ID == taken.ID {
			t.Fatalf("edit: %+v, %v", edited, err)
		}
		// Whoever asks for it again is told of the newest that does it.
		if again := w.Record(t, spend("Desks", 100)); again.ID != edited.ID || again.Created {
			t.Fatalf("a re-send answers %d, created %v, want %d", again.ID, again.Created, edited.ID)
		}
	})
}

func TestARaceOfIdenticalRecordingsOverTwoProcessesMakesOneRow(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		other := w.Again(t, nil)
		db := operatortest.Database(t, w.Where)
		type answer struct {
			in  operator.Intent
			err error
		}
		answers := together(32, func(i int) answer {
			op := w.Operator
			if i%2 == 1 {
				op = other
			}
			in, err := op.RecordIntent(ctx, w.Agent, renewal())
			return answer{in, err}
		})
		created := 0
		for _, a := range answers {
			mustHave(t, a.err)
			if a.in.ID != answers[0].in.ID {
				t.Errorf("intent %d beside %d", a.in.ID, answers[0].in.ID)
			}
			if a.in.Created {
				created++
			}
		}
		if created != 1 {
			t.Errorf("%d callers were told that they made it", created)
		}
		for _, table := range []string{"reeve_intents", "reeve_outbox", "reeve_audit where action = 'record_intent'"} {
			if n := count(t, db, `select count(*) from `+table); n != 1 {
				t.Errorf("%d rows in %s", n, table)
			}
		}
	})
}

func TestTheLocalDayOfTheAccountDecidesWhatIsTheSameAgain(t *testing.T) {
	type day struct {
		zone  string
		first string // the first instant of a local day, in UTC
		why   string
	}
	days := []day{
		{"America/New_York", "2026-03-08T05:00:00Z", "the day on which clocks go forward"},
		{"America/New_York", "2026-03-09T04:00:00Z", "that day has 23 hours"},
		{"America/New_York", "2026-11-02T05:00:00Z", "the day before has 25 hours"},
		{"America/Havana", "2026-03-08T05:00:00Z", "midnight does not exist: the day begins at 01:00"},
		{"America/Havana", "2026-11-01T04:00:00Z", "the hour after midnight comes twice"},
		{"Australia/Lord_Howe", "2026-10-03T13:30:00Z", "clocks go by half an hour: before"},
		{"Australia/Lord_Howe", "2026-10-04T13:00:00Z", "clocks go by half an hour: after"},
		{"Asia/Kathmandu", "2026-03-03T18:15:00Z", "an offset of 5:45"},
		{"Pacific/Apia", "2026-03-03T11:00:00Z", "far ahead of UTC"},
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "the 30th was left out"},
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		for i, d := range days {
			execute(t, db, `update reeve_accounts set zone = $1`, d.zone)
			midnight, err := time.Parse(time.RFC3339, d.first)
			mustHave(t, err)
			in := note(fmt.Sprintf("day %d", i))
			at := func(after time.Duration) operator.Intent {
				w.Clock.Set(midnight.Add(after))
				return w.Record(t, in)
			}
			evening, late := at(-2*time.Hour), at(-time.Microsecond)
			morning, start := at(20*time.Hour), at(0)
			sub := at(999 * time.Nanosecond) // less than is stored
			if late.ID != evening.ID || late.Created {
				t.Errorf("%s, %s: one microsecond before midnight is another day than the evening", d.zone, d.why)
			}
			if morning.ID == evening.ID || !morning.Created {
				t.Errorf("%s, %s: the day did not change", d.zone, d.why)
			}
			if start.ID != morning.ID || sub.ID != morning.ID {
				t.Errorf("%s, %s: the first instant is another day than the one it begins", d.zone, d.why)
			}
		}
	})
}

func TestALongOrShortDayIsOneDayToItsLastMicrosecond(t *testing.T) {
	spans := []struct {
		zone, from string
		length     time.Duration
	}{
		{"America/New_York", "2026-03-08T05:00:00Z", 23 * time.Hour},
		{"America/New_York", "2026-11-01T04:00:00Z", 25 * time.Hour},
		{"America/Havana", "2026-03-08T05:00:00Z", 23 * time.Hour},
		{"America/Havana", "2026-11-01T04:00:00Z", 25 * time.Hour},
		{"Australia/Lord_Howe", "2026-10-03T13:30:00Z", 23*time.Hour + 30*time.Minute},
		{"Australia/Lord_Howe", "2026-04-04T13:00:00Z", 24*time.Hour + 30*time.Minute},
		{"Pacific/Apia", "2011-12-29T10:00:00Z", 24 * time.Hour},
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		for i, s := range spans {
			execute(t, db, `update reeve_accounts set zone = $1`, s.zone)
			from, err := time.Parse(time.RFC3339, s.from)
			mustHave(t, err)
			in := note(fmt.Sprintf("span %d", i))
			ids := map[time.Duration]int64{}
			for _, after := range []time.Duration{0, s.length - time.Microsecond, s.length, -time.Microsecond} {
				w.Clock.Set(from.Add(after))
				ids[after] = w.Record(t, in).ID
			}
			if ids[0] != ids[s.length-time.Microsecond] || ids[s.length] == ids[0] || ids[-time.Microsecond] == ids[0] {
				t.Errorf("%s from %s: %v", s.zone, s.from, ids)
			}
		}
	})
}

func TestAnActionThatIsNotWellFormedLeavesNoRow(t *testing.T) {
	bad := map[string]gate.Action{
		"no type":                   {Title: "x"},
		"no title":                  {Type: "note"},
		"a spend without an amount": {Type: "spend", Title: "x"},
		"amounts that disagree":     {Type: "spend", Title: "x", AmountCents: cents(4900), Amount: "490.00 USD"},
		"an amount of nothing":      {Type: "spend", Title: "x", AmountCents: cents(0)},
		"an amount below nothing":   {Type: "spend", Title: "x", AmountCents: cents(-1)},
		"an amount beyond exact":    {Type: "spend", Title: "x", AmountCents: cents(1 << 53)},
		"a currency in small":       {Type: "spend", Title: "x", AmountCents: cents(1), Currency: "usd"},
		"a currency of no country":  {Type: "spend", Title: "x", AmountCents: cents(1), Currency: "XXX"},
		"yen with decimals":         {Type: "spend", Title: "x", Amount: "49.00 JPY"},
		"NUL in the title":          {Type: "note", Title: "a\x00b"},
		"invalid UTF-8":             {Type: "note", Title: "a\xffb"},
		"a reversed title":          {Type: "note", Title: "a\u202eb"},
		"an inexact number":         {Type: "note", Title: "x", Data: jsontext.Value(`{"n":9007199254740993}`)},
		"data that is no object":    {Type: "note", Title: "x", Data: jsontext.Value(`[1]`)},
		"a repeated key in data":    {Type: "note", Title: "x", Data: jsontext.Value(`{"a":1,"a":2}`)},
	}
	operatortest.EachStore(t, func(t *testing.T, store string) {
		ctx := context.Background()
		w := operatortest.New(t, store, nil)
		db := operatortest.Database(t, w.Where)
		before := operatortest.Fingerprint(t, db)
		for name, a := range bad {
			_, err := w.RecordIntent(ctx, w.Agent, operator.RecordIntentInput{Action: a})
			r := mustBe(t, err, err)
			if r.Info().Layer != "input" {
				t.Errorf("%s: refused at %s with %s", name, r.Info().Layer, r.Reason)
			}
		}
		for name, run := range map[string]string{"NUL": "a\x00b", "invalid UTF-8": "\xff", "a long one": string(make([]byte, 65))} {
			in := note("with a run")
			in.RunID = &run
			if _, err := w.RecordIntent(ctx, w.Agent, in); err == nil || mustBe(t, err, err).Info().Layer != "input" {
				t.Errorf("a run id with %s: %v", name, err)
			}
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was written")
		}
	})
}
