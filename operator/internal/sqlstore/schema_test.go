package sqlstore_test

import (
	"database/sql"
	"strconv"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// row is what an insert sets; every other column of the table has the value that
// the table's good row has.
type row map[string]any

var hash = strings.Repeat("0", 64)

// goodRows are accepted as they stand, which shows that what a bad one is
// refused for is the one column it changes.
var goodRows = []struct {
	table string
	row   row
}{
	{"reeve_accounts", row{"id": 1, "slug": "a", "zone": "UTC", "currency": "USD", "created_at": 1}},
	{"reeve_projects", row{"id": 1, "uid": "u", "account_id": 1, "slug": "p", "created_at": 1}},
	{"reeve_people", row{"id": 1, "account_id": 1, "handle": "ana", "name": "Ana", "role": "owner", "created_at": 1}},
	{"reeve_credentials", row{"id": 1, "uid": "c", "account_id": 1, "project_id": 1, "kind": "agent", "name": "bot", "scopes": "",
		"interactive": 0, "hash": "h", "instance_id": "i", "created_at": 1, "expires_at": 2}},
	{"reeve_intents", row{"id": 1, "project_id": 1, "day": "2026-03-03", "idempotency_key": "k", "digest": "d", "type": "note", "title": "t",
		"recipient": "", "currency": "", "body": "", "labels": "[]", "tainted_by": "[]", "data": "", "status": "allowed",
		"policy_decision": "allow", "policy_reasons": "[]", "policy_rules": "[]", "policy_version": "1", "approvers": "[]",
		"recorded_by": "agent:a", "recorded_kind": "agent", "expires_at": 5, "created_at": 1, "updated_at": 1}},
	{"reeve_decisions", row{"id": 1, "project_id": 1, "title": "t", "status": "pending", "made_by": "agent:a", "updated_by": "agent:a", "via": "mcp", "digest": "",
		"policy_version": "", "note": "", "created_at": 1, "updated_at": 1}},
	{"reeve_comments", row{"id": 1, "project_id": 1, "author": "agent:a", "kind": "agent", "via": "mcp", "body": "x", "created_at": 1}},
	{"reeve_audit", row{"id": 1, "at": 1, "principal": "p", "kind": "", "via": "", "action": "x", "args_digest": "", "verdict": "done",
		"reason": "", "layer": "", "digest": "", "policy_version": "", "outcome": "", "request_id": "", "seq": 7}},
	{"reeve_audit_keys", row{"id": 1, "verifier_key": "a", "added_at": 1, "active": 1}},
	{"reeve_logs", row{"account_id": 1, "size": 1, "edge": "", "checkpoint": "x", "sealed_at": 1}},
	{"reeve_checkpoints", row{"account_id": 1, "size": 1, "note": "x", "from_key": "a", "to_key": "a", "at": 1}},
	{"reeve_idempotency", row{"id": 1, "account_id": 1, "project_id": 1, "principal": "agent:a", "key_digest": hash, "request": hash, "answer": "{}", "status": 200,
		"created_at": 1, "expires_at": 2}},
	{"reeve_outbox", row{"id": 1, "account_id": 1, "project_id": 1, "topic": "t", "message_key": "k", "payload": "{}", "created_at": 1, "next_at": 1}},
}

// impossible rows differ from the good one of their table by what is given.
var impossible = []struct {
	name, table string
	change      row
}{
	{"an evidence level of another name", "reeve_accounts", row{"id": 2, "slug": "b", "evidence_level": "none"}},
	{"a second account of one name", "reeve_accounts", row{"id": 2}},
	{"a project of no account", "reeve_projects", row{"id": 2, "uid": "v", "slug": "q", "account_id": 99}},
	{"a second project of one name", "reeve_projects", row{"id": 2, "uid": "v"}},
	{"a role of another name", "reeve_people", row{"id": 2, "handle": "x", "role": "Owner"}},
	{"a person without a name", "reeve_people", row{"id": 2, "handle": "x", "name": nil}},
	{"a kind of another name", "reeve_credentials", row{"id": 2, "uid": "d", "name": "x", "hash": "g", "instance_id": "j", "kind": "robot"}},
	{"a person's credential without a person", "reeve_credentials", row{"id": 2, "uid": "d", "name": "x", "hash": "g", "instance_id": "j", "kind": "human"}},
	{"a credential that ends before it begins", "reeve_credentials", row{"id": 2, "uid": "d", "name": "x", "hash": "g", "instance_id": "j", "expires_at": 1}},
	{"two live credentials of one name", "reeve_credentials", row{"id": 2, "uid": "d", "hash": "g", "instance_id": "j"}},
	{"two credentials of one hash", "reeve_credentials", row{"id": 2, "uid": "d", "name": "x", "instance_id": "j"}},
	{"a status in capitals", "reeve_intents", row{"id": 2, "day": "x", "status": "Allowed"}},
	{"a decision of no kind", "reeve_intents", row{"id": 2, "day": "x", "policy_decision": "maybe"}},
	{"a second owner of one key and day", "reeve_intents", row{"id": 2}},
	{"an amount of nothing", "reeve_intents", row{"id": 2, "day": "x", "amount_cents": 0, "currency": "USD"}},
	{"an amount beyond exact", "reeve_intents", row{"id": 2, "day": "x", "amount_cents": int64(1) << 53, "currency": "USD"}},
	{"an amount without a currency", "reeve_intents", row{"id": 2, "day": "x", "amount_cents": 1}},
	{"one that is ready and never lapses", "reeve_intents", row{"id": 2, "day": "x", "expires_at": nil}},
	{"one that is pending and never lapses", "reeve_intents", row{"id": 2, "day": "x", "status": "pending_approval", "expires_at": nil}},
	{"one that is open and settled", "reeve_intents", row{"id": 2, "day": "x", "settled_at": 1}},
	{"one that has succeeded and is not settled", "reeve_intents", row{"id": 2, "day": "x", "status": "succeeded"}},
	{"one that was denied and is not settled", "reeve_intents", row{"id": 2, "day": "x", "status": "denied"}},
	{"one that is held without a lease", "reeve_intents", row{"id": 2, "day": "x", "status": "executing"}},
	{"a lease of what nobody holds", "reeve_intents", row{"id": 2, "day": "x", "lease_until": 1}},
	{"a claim from nowhere", "reeve_intents", row{"id": 2, "day": "x", "claimed_from": "pending_approval"}},
	{"a quorum of nobody", "reeve_intents", row{"id": 2, "day": "x", "quorum": 0}},
	{"an intent of no project", "reeve_intents", row{"id": 2, "day": "x", "project_id": 99}},
	{"an edit of nothing", "reeve_intents", row{"id": 2, "day": "x", "supersedes": 99}},
	{"an answer of what still runs", "reeve_idempotency", row{"id": 2, "principal": "agent:b", "runs_until": 2}},
	{"an approval of nobody", "reeve_decisions", row{"id": 2, "status": "approved"}},
	{"a decision on an intent without its digest", "reeve_decisions", row{"id": 2, "intent_id": 1}},
	{"a digest of no intent", "reeve_decisions", row{"id": 2, "digest": "d"}},
	{"a decision of another word", "reeve_decisions", row{"id": 2, "status": "accepted"}},
	{"a person's words of no person", "reeve_comments", row{"id": 2, "kind": "human"}},
	{"a line that is done and has a reason", "reeve_audit", row{"id": 2, "seq": 2, "reason": "x"}},
	{"a refusal without a reason", "reeve_audit", row{"id": 2, "seq": 2, "verdict": "deny"}},
	{"a verdict of another word", "reeve_audit", row{"id": 2, "seq": 2, "verdict": "allow", "reason": "x"}},
	{"a place before the first", "reeve_audit", row{"id": 2, "seq": 0}},
	{"a second row in one place", "reeve_audit", row{"id": 2, "seq": 7, "account_id": nil}},
	{"a leaf that is no hash", "reeve_audit", row{"id": 2, "seq": 2, "leaf": "x"}},
	{"two keys that seal", "reeve_audit_keys", row{"id": 2, "verifier_key": "b"}},
	{"a key that seals and is retired", "reeve_audit_keys", row{"id": 2, "verifier_key": "b", "retired_at": 1}},
	{"a key that neither seals nor is retired", "reeve_audit_keys", row{"id": 2, "verifier_key": "b", "active": nil}},
	{"one key twice", "reeve_audit_keys", row{"id": 2, "active": nil, "retired_at": 1}},
	{"a log with rows and no checkpoint", "reeve_logs", row{"account_id": 2, "checkpoint": ""}},
	{"a second log of one account", "reeve_logs", row{}},
	{"a step from a key that never was", "reeve_checkpoints", row{"size": 2, "from_key": "z"}},
	{"a second answer under one key", "reeve_idempotency", row{"id": 2}},
	{"a key in the clear", "reeve_idempotency", row{"id": 2, "key_digest": "k"}},
	{"an answer that ends before it begins", "reeve_idempotency", row{"id": 2, "principal": "agent:b", "expires_at": 1}},
	{"an answer without a status", "reeve_idempotency", row{"id": 2, "principal": "agent:b", "status": 0}},
	{"a second notice of one key", "reeve_outbox", row{"id": 2}},
	{"a text where a number belongs", "reeve_audit", row{"id": 2, "seq": 2, "at": "yesterday"}},
}

func insert(t *testing.T, db *sql.DB, table string, r row) error {
	t.Helper()
	names, marks, args := []string{}, []string{}, []any{}
	for name, value := range r {
		names, args = append(names, name), append(args, value)
		marks = append(marks, "$"+strconv.Itoa(len(args)))
	}
	_, err := db.Exec(`insert into `+table+` (`+strings.Join(names, ", ")+`) values (`+strings.Join(marks, ", ")+`)`, args...)
	return err
}

func TestARowThatCannotBeIsRefusedByTheDatabaseItself(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		where := operatortest.Where(t, store)
		mustOpen(t, where)
		db := operatortest.Database(t, where)
		good := map[string]row{}
		for _, g := range goodRows {
			if err := insert(t, db, g.table, g.row); err != nil {
				t.Fatalf("%s: the good row is refused: %v", g.table, err)
			}
			good[g.table] = g.row
		}
		before := operatortest.Fingerprint(t, db)
		for _, bad := range impossible {
			r := row{}
			for name, value := range good[bad.table] {
				r[name] = value
			}
			for name, value := range bad.change {
				r[name] = value
			}
			if err := insert(t, db, bad.table, r); err == nil {
				t.Errorf("%s was accepted", bad.name)
			}
		}
		if operatortest.Fingerprint(t, db) != before {
			t.Error("something was written")
		}
	})
}

func TestOnePersonsApprovalOfOneIntentIsOneRow(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		where := operatortest.Where(t, store)
		mustOpen(t, where)
		db := operatortest.Database(t, where)
		for _, g := range goodRows[:5] {
			if err := insert(t, db, g.table, g.row); err != nil {
				t.Fatal(err)
			}
		}
		vote := row{"id": 1, "project_id": 1, "intent_id": 1, "person_id": 1, "title": "t", "status": "approved", "made_by": "human:ana", "updated_by": "human:ana",
			"via": "x", "digest": "d", "policy_version": "", "note": "", "created_at": 1, "updated_at": 1}
		if err := insert(t, db, "reeve_decisions", vote); err != nil {
			t.Fatal(err)
		}
		vote["id"] = 2
		if err := insert(t, db, "reeve_decisions", vote); err == nil {
			t.Error("the second vote was accepted")
		}
		vote["member_from"] = 1
		if err := insert(t, db, "reeve_decisions", vote); err != nil {
			t.Errorf("the vote of somebody who came back: %v", err)
		}
		delete(vote, "member_from")
		vote["id"], vote["status"] = 3, "rejected"
		if err := insert(t, db, "reeve_decisions", vote); err != nil {
			t.Errorf("a change of mind: %v", err)
		}
	})
}
