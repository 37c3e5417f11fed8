package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/reeve-go/reeve/operator"
)

// Beyond these something is worth a line.
const (
	mostSkew       = 5 * time.Second     // of two clocks
	worstSkew      = time.Minute         // from here on windows and leases are wrong
	mostSealLag    = time.Minute         // of a record that is sealed every second
	mostNoticeWait = 30 * time.Minute    // twice the longest pause of the relay
	expiresSoon    = 14 * 24 * time.Hour // of a credential
	neverUsed      = 30 * 24 * time.Hour // since a credential was made
	mostNamed      = 5                   // names in one line
)

// clock compares the clocks by which windows, leases and the record are judged.
func (r *report) clock(e operator.Examination) {
	skew, ahead := e.Skew.Abs().Round(time.Millisecond), e.Ahead.Round(time.Second)
	const set = "Set the clocks by NTP. Windows are judged by this machine's clock, and leases by the database's."
	switch {
	case skew > worstSkew:
		r.found(fail, "clock", set, "The database's clock and this machine's are %s apart.", skew)
	case skew > mostSkew:
		r.found(warn, "clock", set, "The database's clock and this machine's are %s apart.", skew)
	case ahead > mostSkew:
		r.found(fail, "clock", "See which machine's clock is wrong before you go on: this one's may have been set back.", "The newest row of the record is %s ahead of this machine's clock.", ahead)
	default:
		r.ok("clock", "The database's and this machine's agree, and the record is not ahead of them.")
	}
}

// record looks at the key that seals the record, and how far behind the seal is.
func (r *report) record(e operator.Examination, key string) {
	if e.Key == "" {
		r.found(warn, "audit key", "Start \"reeve serve\" once, which makes one, or name its file with --audit-key.", "None was registered: the record is not sealed.")
		return
	}
	if e.KeyFault != nil {
		r.found(fail, "audit key", "Nothing can be sealed from here, and what a person approves is not carried out before it is. \"reeve audit rotate\" puts another key in a lost one's place.", "%s", e.KeyFault)
	} else {
		r.ok("audit key", "%s is the database's, and can be read by its owner alone. Keep a copy elsewhere.", key)
	}
	if e.SealLag > mostSealLag {
		// Where no server runs, nobody seals, and nothing is wrong with that.
		r.found(warn, "seal", "Start a server that has the audit key; where one runs, its log says why it does not seal.", "%d rows of the record are not sealed, the oldest for %s.", e.Unsealed, inWords(e.SealLag))
		return
	}
	r.ok("seal", "The record is sealed up to the last minute.")
}

// notices looks whether anybody is told.
func (r *report) notices(e operator.Examination, told bool) {
	switch {
	case told && e.NoticesSince > mostNoticeWait:
		r.found(warn, "notices", "Look in the server's log for why they are not delivered.", "%d notices are queued, the oldest for %s.", e.Undelivered, inWords(e.NoticesSince))
	case !told && e.Undelivered > 0:
		r.ok("notices", "%d are queued. Where no server has --notify they stay so, and harm nobody.", e.Undelivered)
	default:
		r.ok("notices", "%d are queued.", e.Undelivered)
	}
}

// policy looks whether each account's policy can be read, and what it asks for can
// be had.
func (r *report) policy(e operator.Examination) {
	for _, a := range e.Accounts {
		switch {
		case a.PolicyFault != nil:
			r.found(fail, "policy", "Load it again with a program of the version that loaded it: until then nothing is judged.", "Account %s: %s.", a.Account, a.PolicyFault)
		case len(a.Unreachable) > 0:
			for _, f := range a.Unreachable {
				r.found(fail, "policy", "Add people (reeve people add), or change the rule: what it asks for is approved by nobody.",
					"Account %s, rule %s: %s.", a.Account, f.Rule, f.Message)
			}
		default:
			r.ok("policy", "Account %s: version %s can be read, and what it asks of people can be had.", a.Account, a.Policy)
		}
	}
}

func (r *report) people(e operator.Examination) {
	for _, a := range e.Accounts {
		switch owners := a.People[operator.RoleOwner]; {
		case owners == 0:
			r.found(fail, "people", "Add one: reeve people add HANDLE --role owner.", "The account %s has no owner.", a.Account)
		case owners == 1:
			r.found(warn, "people", "Add somebody who can act when that person cannot: reeve people add HANDLE --role owner.", "The account %s has one owner.", a.Account)
		default:
			r.ok("people", "The account %s has %d owners.", a.Account, owners)
		}
	}
}

// credentials looks for those that end soon, and those that nobody ever used.
func (r *report) credentials(e operator.Examination) {
	var ending, idle []string
	for _, c := range e.Credentials {
		if left := c.ExpiresAt.Sub(r.now); left < expiresSoon {
			ending = append(ending, fmt.Sprintf("%s (in %s)", c.Principal, inWords(left)))
		}
		if c.LastUsedAt == nil && r.now.Sub(c.CreatedAt) > neverUsed {
			idle = append(idle, c.Principal)
		}
	}
	if len(ending) > 0 {
		r.found(warn, "credentials", "Replace them before: reeve token rotate KIND:NAME.", "These end soon: %s.", named(ending))
	}
	if len(idle) > 0 {
		r.found(warn, "credentials", "Take them back where nobody needs them: reeve token revoke KIND:NAME.", "These were made more than 30 days ago and never used: %s.", named(idle))
	}
	if len(ending)+len(idle) == 0 {
		r.ok("credentials", "%d are live; none ends within 14 days, and none lies unused.", len(e.Credentials))
	}
}

func named(all []string) string {
	if more := len(all) - mostNamed; more > 0 {
		return strings.Join(all[:mostNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(all, ", ")
}
