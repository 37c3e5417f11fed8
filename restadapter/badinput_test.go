package restadapter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
)

// spend is the body of a spend with some members of its action replaced.
func spend(members string) string {
	return `{"action":{"type":"spend","title":"Bad input",` + members + `}}`
}

func title(raw string) string { return `{"action":{"type":"note","title":"` + raw + `"}}` }

func TestABadRecordingIsRefusedAndChangesNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		w := watch(t, h.world)
		h.record(renewal)
		for name, tt := range badRecordings() {
			t.Run(name, func(t *testing.T) {
				w.onlyRefused(t, func() {
					e := h.as(operator.KindAgent, "POST", "/v1/intents", tt.body).refused(t, tt.status, tt.reason)
					if e.Action != "operator_record_action_intent" || e.Verdict != "deny" {
						t.Errorf("action %q, verdict %q", e.Action, e.Verdict)
					}
				})
			})
		}
	})
}

type badRecording struct {
	body   string
	status int
	reason operator.Reason
}

func badRecordings() map[string]badRecording {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	return map[string]badRecording{
		"a status inside the action":                 {spend(`"amount_cents":1,"status":"approved"`), 400, "unknown_key"},
		"a status beside the action":                 {`{"action":{"type":"note","title":"t"},"status":"approved"}`, 400, "unknown_key"},
		"an unknown key":                             {spend(`"amount_cents":1,"priority":1`), 400, "unknown_key"},
		"a key in another case":                      {`{"Action":{"type":"note","title":"t"}}`, 400, "unknown_key"},
		"a repeated key":                             {spend(`"amount_cents":1,"amount_cents":2`), 400, "repeated_key"},
		"a repeated key in an escaped spelling":      {spend(`"amount_cents":1,"\u0061mount_cents":2`), 400, "repeated_key"},
		"a repeated action":                          {`{"action":{"type":"note","title":"a"},"action":{"type":"note","title":"b"}}`, 400, "repeated_key"},
		"an amount of nothing":                       {spend(`"amount_cents":0`), 400, "amount_not_positive"},
		"a negative amount":                          {spend(`"amount_cents":-1`), 400, "amount_not_positive"},
		"an amount of 1e400":                         {spend(`"amount_cents":1e400`), 400, "amount_out_of_range"},
		"an amount with a fraction":                  {spend(`"amount_cents":49.5`), 400, "wrong_type"},
		"an amount in a string":                      {spend(`"amount_cents":"49"`), 400, "wrong_type"},
		"an amount of 2^53":                          {spend(`"amount_cents":9007199254740992`), 400, "amount_out_of_range"},
		"an amount of 2^63":                          {spend(`"amount_cents":9223372036854775808`), 400, "amount_out_of_range"},
		"no amount":                                  {`{"action":{"type":"spend","title":"t"}}`, 400, "amount_missing"},
		"a currency in lower case":                   {spend(`"amount_cents":1,"currency":"usd"`), 400, "unknown_currency"},
		"the currency that stands for none":          {spend(`"amount_cents":1,"currency":"XXX"`), 400, "unknown_currency"},
		"yen restated with a fraction":               {spend(`"amount_cents":4900,"currency":"JPY","amount":"49.00 JPY"`), 400, "amount_mismatch"},
		"yen restated as bare 49.00":                 {spend(`"amount_cents":4900,"currency":"JPY","amount":"49.00"`), 400, "amount_mismatch"},
		"an amount restated ten times too high":      {spend(`"amount_cents":4900,"amount":"490.00 USD"`), 400, "amount_mismatch"},
		"an amount restated ten times too low":       {spend(`"amount_cents":4900,"amount":"4.90 USD"`), 400, "amount_mismatch"},
		"the same key with another currency":         {`{"action":{"type":"spend","title":"Annual plan renewal","amount_cents":4900,"currency":"EUR"}}`, 409, "idempotency_mismatch"},
		"a number in data that a double cannot hold": {spend(`"amount_cents":1,"data":{"n":9007199254740993}`), 400, "number_inexact"},
		"a body of more than a mebibyte":             {title(strings.Repeat("x", 1<<20)), 413, "too_large"},
		"a title of nearly a mebibyte":               {title(strings.Repeat("x", 1<<20-100)), 400, "invalid_value"},
		"NUL in a title":                             {title(`a\u0000b`), 400, "bad_text"},
		"a raw NUL in a title":                       {title("a\x00b"), 400, "bad_text"},
		"a lone surrogate in a title":                {title(`\ud83d`), 400, "bad_text"},
		"bytes that are not UTF-8 in a title":        {title("\xff"), 400, "bad_text"},
		"a bidi override in a title":                 {title("a\u202eb"), 400, "bad_text"},
		"an array of two calls":                      {`[{"jsonrpc":"2.0","id":1,"method":"tools/call"},{"jsonrpc":"2.0","id":2,"method":"tools/call"}]`, 400, "not_an_object"},
		"10,000 levels":                              {`{"action":{"type":"note","title":"t","data":` + deep(10_000) + `}}`, 400, "too_deep"},
		"10,000 levels of arrays":                    {strings.Repeat("[", 10_000), 400, "too_deep"},
		"two objects":                                {`{"action":{"type":"note","title":"t"}}{}`, 400, "not_json"},
		"half an object":                             {`{"action":{"type":"note"`, 400, "not_json"},
		"no JSON":                                    {`action=spend`, 400, "not_json"},
		"nothing":                                    {``, 400, "missing_field"},
		"an empty object":                            {`{}`, 400, "missing_field"},
		"null":                                       {`null`, 400, "not_an_object"},
	}
}

func TestNoSpellingOfApprovedMovesAnIntent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		w, id := watch(t, h.world), h.record(renewal).ID
		for _, word := range []string{
			`"approved"`, `"Approved"`, `"APPROVED"`, `" approved"`, `"approved "`, `"approved\n"`, `"\tapproved"`, `"approve"`, `"accept"`,
			`"accepted"`, `"\u0061pproved"`, `"approv\u0065d"`, `"аpproved"`, `"ａｐｐｒｏｖｅｄ"`, `"approved\u0000"`, `"approved\u200b"`,
			`"\u202edevorppa"`, `"executing"`, `"allowed"`, `["approved"]`, `{"status":"approved"}`, `1`, `true`, `null`,
		} {
			for _, more := range []string{"", `,"actor":"human:owner"`, `,"actor":{"kind":"human","id":"human:owner"}`} {
				w.onlyRefused(t, func() {
					r := h.as(operator.KindAgent, "PATCH", fmt.Sprintf("/v1/intents/%d", id), `{"status":`+word+more+`}`,
						header("X-Forwarded-User", "human:owner"), header("X-Actor", "human:owner"), header("X-HTTP-Method-Override", "POST"))
					if e := readEnvelope(t, r.body); r.status != 400 || e.Layer != "input" {
						t.Errorf("%s%s: %d %s", word, more, r.status, r.body)
					}
				})
			}
		}
	})
}

func TestABadMoveIsRefusedAndChangesNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		w, id := watch(t, h.world), h.record(renewal).ID
		for name, tt := range map[string]badRecording{
			"a status in another case":            {`{"Status":"cancelled"}`, 400, "unknown_key"},
			"the path's id again in the body":     {fmt.Sprintf(`{"id":%d,"status":"cancelled"}`, id), 400, "repeated_key"},
			"the path's id, in another spelling":  {fmt.Sprintf(`{"status":"cancelled","\u0069d":%d}`, id), 400, "repeated_key"},
			"another id in the body":              {`{"id":77,"status":"cancelled"}`, 400, "repeated_key"},
			"an array, in which an id could hide": {fmt.Sprintf(`[{"id":%d,"status":"cancelled"}]`, id), 400, "not_an_object"},
			"white space alone":                   {" \n", 400, "not_json"},
			"two objects":                         {`{"status":"cancelled"}{}`, 400, "not_json"},
			"a comma first":                       {`{,"status":"cancelled"}`, 400, "not_json"},
			"a byte order mark":                   {"\ufeff" + `{"status":"cancelled"}`, 400, "not_json"},
			"a report without a token":            {`{"status":"succeeded"}`, 400, "missing_field"},
			"nothing":                             {"", 400, "missing_field"},
		} {
			t.Run(name, func(t *testing.T) {
				w.onlyRefused(t, func() {
					h.as(operator.KindAgent, "PATCH", fmt.Sprintf("/v1/intents/%d", id), tt.body).refused(t, tt.status, tt.reason)
				})
			})
		}
	})
}
