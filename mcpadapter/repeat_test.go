package mcpadapter

import (
	"fmt"
	"testing"
)

// Three different mistakes are not one mistake made three times, also where the
// message was refused before the schedule saw the call.
func TestDifferentRottenCallsAreNotRepeats(t *testing.T) {
	h := newHouse(t, nil)
	call := func(arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_record_action_intent","arguments":%s}}`, arguments)
	}
	for _, rotten := range []struct{ arguments, reason string }{
		{`{"a":1,"a":2}`, "repeated_key"}, {`{"a":1,"a":3}`, "repeated_key"}, {`{"b":1,"b":2}`, "repeated_key"},
		{`{"action":{"title":"\u0000x"}}`, "bad_text"}, {`{"action":{"title":"\ud800"}}`, "bad_text"},
	} {
		if got := h.post(call(rotten.arguments)).refused(t, "1", rotten.reason).Repeat; got != 1 {
			t.Errorf("%s: repeat %d", rotten.arguments, got)
		}
	}
	if got := h.post(call(`{"a":1,"a":2}`)).refused(t, "1", "repeated_key").Repeat; got != 2 {
		t.Errorf("the same again: repeat %d", got)
	}
}
