package mcpadapter

import (
	"strings"

	"github.com/reeve-go/reeve/operator/powers"
)

// instructions is what a client reads before its first call.
func (c *catalog) instructions() string {
	record := "the intent tool"
	for _, r := range c.rows {
		if r.tool.Class == powers.Gate {
			record = r.name
		}
	}
	return strings.Join([]string{
		"Whatever reaches the outside world (spending, sending, publishing, deleting, deploying) you record as an intent with " + record + "; recording it does not do it.",
		"A fixed policy judges the intent at once: it is allowed, denied, or waits for a person, who decides somewhere else; no tool here approves anything, so do not look for one.",
		"Recording the same action again on the same day gives back the same intent, so a repeated call is safe.",
		"A refusal is an object with \"ok\": false: read \"verdict\" first, then \"reason\" and \"message\", then do what \"recovery\" says, and call again unchanged only where \"retryable\" is true.",
		"Tools that you do not see are not yours to call, and the list can change between two calls.",
	}, " ")
}
