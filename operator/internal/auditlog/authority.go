package auditlog

import (
	"golang.org/x/mod/sumdb/tlog"
)

// The words by which an entry says that an intent moved, that a person moved it,
// and that the log's key changes. They are those of the record.
const (
	statusPending   = "pending_approval"
	statusApproved  = "approved"
	statusAllowed   = "allowed"
	statusExecuting = "executing"
	kindHuman       = "human"
	verdictDone     = "done"
	decisionAllow   = "allow"

	// ActionRotate is the action of an entry that announces the next key, in its
	// outcome.
	ActionRotate = "rotate_audit_key"
	// ActionReplace announces a key in the place of one that was lost, which could
	// not sign the step.
	ActionReplace = "replace_audit_key"
	// LocalPrincipal is who does what is done on the database itself.
	LocalPrincipal = "local:database"
)

// endings are the statuses that nothing leaves.
var endings = map[string]bool{"denied": true, "rejected": true, "expired": true, "cancelled": true, "superseded": true,
	"succeeded": true, "failed": true}

// isExecution says that the entry is of an intent that a worker took up.
func (e Entry) isExecution() bool { return e.Verdict == verdictDone && e.StatusTo == statusExecuting }

// announces is the key that the entry hands the log over to, if it does.
func (e Entry) announces() (PublicKey, bool) {
	step := e.Action == ActionRotate || e.Action == ActionReplace
	return PublicKey(e.Outcome), step && e.Verdict == verdictDone && e.Principal == LocalPrincipal
}

// authority knows, for each intent that may be carried out, what of it and on
// whose word. An intent that has come to its end is forgotten.
type authority map[int64]leave

type leave struct {
	digest Hash   // of the intent's digest
	status string // approved or allowed
}

// follow takes an entry in, and says what is wrong where it is an execution that
// nothing allowed.
func (a authority) follow(e Entry) (wrong string) {
	if e.Verdict != verdictDone {
		return ""
	}
	digest := tlog.RecordHash([]byte(e.Digest))
	switch {
	case e.Intent == 0 && e.StatusTo == statusExecuting:
		return "it does not say what was carried out"
	case e.StatusTo == statusApproved && e.StatusFrom == statusPending && e.Kind == kindHuman:
		a[e.Intent] = leave{digest, statusApproved}
	case e.StatusTo == statusAllowed && e.StatusFrom == "" && e.PolicyDecision == decisionAllow:
		a[e.Intent] = leave{digest, statusAllowed}
	case endings[e.StatusTo]:
		delete(a, e.Intent)
	case e.StatusTo == statusExecuting:
		had, ok := a[e.Intent]
		switch {
		case !ok:
			return "the intent was neither approved by a person nor allowed by the policy before"
		case had.digest != digest:
			return "what was carried out is not what was approved or allowed"
		case had.status != e.StatusFrom:
			return "it was taken up as " + e.StatusFrom + ", and was " + had.status
		}
	}
	return ""
}
