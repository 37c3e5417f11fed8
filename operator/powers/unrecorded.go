package powers

import (
	"errors"

	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/strict"
)

// Unrecorded renders a refusal for whoever stands where no schedule can be
// asked, such as a bridge whose server is down. It is in no record and counts as
// nobody's repeat. action is a tool's name as a client wrote it, or a word of the
// adapter's own; err is a refusal, a fault of form, or whatever made the outage.
func Unrecorded(action string, err error) Answer {
	var r *core.Refusal
	if !errors.As(err, &r) {
		if faults := strict.All(err); len(faults) > 0 {
			r = inputRefusal(faults, err)
		} else {
			r = core.Outage(err)
		}
	}
	asWritten := func(name string) string { return name }
	return refusalAnswer(r, unknownName(action), repeats{}, asWritten, "", nil)
}
