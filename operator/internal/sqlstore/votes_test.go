package sqlstore_test

import (
	"testing"
	"testing/fstest"

	"github.com/reeve-go/reeve/operator/internal/sqlstore"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// TestVotesOfBeforeKeepWhatTheyCounted: a vote of an older database counts afterwards
// exactly where it counted before.
func TestVotesOfBeforeKeepWhatTheyCounted(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		where := operatortest.Where(t, store)
		db := mustOpen(t, where)
		handle := operatortest.Database(t, where)
		for _, query := range []string{
			`delete from reeve_schema where version >= 7`,
			`drop index reeve_decisions_vote`, `alter table reeve_decisions drop column member_from`,
			`create unique index reeve_decisions_vote on reeve_decisions (intent_id, person_id) where status = 'approved' and intent_id is not null`,
			`alter table reeve_idempotency drop column runs_until`,
		} {
			if _, err := handle.Exec(query); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		for _, g := range goodRows[:5] {
			if err := insert(t, handle, g.table, g.row); err != nil {
				t.Fatal(err)
			}
		}
		// Ana was removed and came back after decision 5; Bea never left.
		for _, query := range []string{`update reeve_people set votes_from = 5 where id = 1`,
			`insert into reeve_people (id, account_id, handle, name, role, created_at) values (2, 1, 'bea', 'Bea', 'owner', 1)`,
			`insert into reeve_intents (id, project_id, day, idempotency_key, digest, type, title, recipient, currency, body, labels, tainted_by, data, status, policy_decision,
				policy_reasons, policy_rules, policy_version, approvers, recorded_by, recorded_kind, expires_at, created_at, updated_at)
				select 2, project_id, '2026-03-04', idempotency_key, digest, type, title, recipient, currency, body, labels, tainted_by, data, status, policy_decision,
				policy_reasons, policy_rules, policy_version, approvers, recorded_by, recorded_kind, expires_at, created_at, updated_at from reeve_intents where id = 1`} {
			if _, err := handle.Exec(query); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		for id, v := range map[int][2]int{3: {1, 1}, 4: {2, 1}, 7: {1, 2}} { // a decision: its person, its intent
			if err := insert(t, handle, "reeve_decisions", row{"id": id, "project_id": 1, "intent_id": v[1], "person_id": v[0], "title": "t", "status": "approved",
				"made_by": "x", "updated_by": "x", "via": "x", "digest": "d", "policy_version": "", "note": "", "created_at": 1, "updated_at": 1}); err != nil {
				t.Fatal(err)
			}
		}
		upTo := fstest.MapFS{}
		for name, file := range files(t, nil).(fstest.MapFS) {
			if name < "migrations/0008" {
				upTo[name] = file
			}
		}
		if err := sqlstore.Migrate(t.Context(), db, upTo); err != nil {
			t.Fatal(err)
		}
		const counting = `from reeve_decisions d join reeve_people h on h.id = d.person_id where `
		if n := get(t, db, `select count(*) `+counting+`(d.id > h.votes_from) <> (d.member_from = h.votes_from)`); n != 0 {
			t.Errorf("%d votes count otherwise than before", n)
		}
		if n := get(t, db, `select sum(d.id) `+counting+`d.member_from = h.votes_from`); n != 11 {
			t.Errorf("votes 4 and 7 count, and not %d", n)
		}
	})
}
