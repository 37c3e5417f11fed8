package auditlog

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"
)

// Entry is everything that one row of the record says. What is empty or zero is
// left out of its text. The fields stand in the order of the canonical form.
//
// A field may be added: what was sealed without it reads and hashes as before.
// None may be renamed or taken away.
type Entry struct {
	Account        int64  `json:"account_id,omitzero"` // internal number; 0: belongs to no account
	Action         string `json:"action,omitzero"`
	ArgsDigest     string `json:"args_digest,omitzero"`
	At             int64  `json:"at,omitzero"` // microseconds since 1970 UTC
	Digest         string `json:"digest,omitzero"`
	Intent         int64  `json:"intent_id,omitzero"`
	Kind           string `json:"kind,omitzero"`
	Layer          string `json:"layer,omitzero"`
	Outcome        string `json:"outcome,omitzero"`
	PolicyDecision string `json:"policy_decision,omitzero"`
	PolicyVersion  string `json:"policy_version,omitzero"`
	Principal      string `json:"principal,omitzero"`
	Project        int64  `json:"project_id,omitzero"`
	Reason         string `json:"reason,omitzero"`
	RequestID      string `json:"request_id,omitzero"`
	StatusFrom     string `json:"status_from,omitzero"`
	StatusTo       string `json:"status_to,omitzero"`
	Verdict        string `json:"verdict,omitzero"`
	Via            string `json:"via,omitzero"`
}

// maxExact is the largest integer that canonical JSON, whose numbers are doubles,
// holds exactly.
const maxExact = 1<<53 - 1

// Canonical is the entry's text: what is hashed, and what stands in an export.
// Numbers beyond 2^53-1 and text that is not UTF-8 are errors.
func (e Entry) Canonical() ([]byte, error) {
	for _, n := range []int64{e.Account, e.At, e.Intent, e.Project} {
		if n > maxExact || n < -maxExact {
			return nil, fmt.Errorf("audit log: canonical JSON does not hold %d exactly", n)
		}
	}
	return canonical(e)
}

func canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("audit log: canonical form: %w", err)
	}
	value := jsontext.Value(text)
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("audit log: canonical form: %w", err)
	}
	return value, nil
}

// Leaf is the RFC 6962 leaf hash of the entry's text.
func (e Entry) Leaf() (Hash, error) {
	text, err := e.Canonical()
	return tlog.RecordHash(text), err
}

// ParseEntry reads an entry's text. Only the canonical form is one: any other
// spelling of the same content would be bytes that nothing vouches for.
func ParseEntry(text []byte) (Entry, error) {
	var e Entry
	err := parse(text, &e)
	return e, err
}

// parse reads the one spelling that a value has.
func parse(text []byte, into any) error {
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("it is not what this log writes: %w", err)
	}
	again, err := canonical(into)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, text) {
		return fmt.Errorf("it is not spelled as this log spells it")
	}
	return nil
}
