package gate

import "slices"

// roles are a set of the three standings that a person has in an account.
type roles uint8

const (
	owner roles = 1 << iota
	admin
	member
	anybody = owner | admin | member
)

// roleNames stands in the order of the bits.
var roleNames = [...]string{"owner", "admin", "member"}

// rolesOf reads the names of a rule. No name at all means anybody; a name that
// is no role stands for nobody.
func rolesOf(names []string) roles {
	if len(names) == 0 {
		return anybody
	}
	var set roles
	for i, name := range roleNames {
		if slices.Contains(names, name) {
			set |= 1 << i
		}
	}
	return set
}

func (set roles) names() []string {
	if set == anybody {
		return nil
	}
	var out []string
	for i, name := range roleNames {
		if set&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return out
}

// approvers returns the roles that satisfy every rule that still asks.
// possible is false where there are none.
func approvers(matched []*Rule) (set roles, possible bool) {
	set = anybody
	for _, r := range matched {
		if len(r.Approval.From) > 0 && asks(r, matched) {
			set &= rolesOf(r.Approval.From)
		}
	}
	return set, set != 0
}

// approval joins what every rule that still asks demands: the largest quorum,
// the roles in common, the shortest expiry.
func approval(matched []*Rule) Approval {
	out := Approval{Quorum: 1}
	for _, r := range matched {
		if !asks(r, matched) {
			continue
		}
		out.Quorum = max(out.Quorum, r.Approval.Quorum)
		if e := r.Approval.Expires; e > 0 && (out.Expires == 0 || e < out.Expires) {
			out.Expires = e
		}
	}
	if out.Expires == 0 {
		out.Expires = DefaultExpiry
	}
	set, _ := approvers(matched)
	out.From = set.names()
	return out
}
