package powers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
)

// badActions are actions that are not well-formed, by the members of the action.
func badActions() map[string][2]string {
	spend := func(more string) string { return `"type":"spend","title":"Renewal",` + more }
	cents := func(n string) string { return spend(`"amount_cents":` + n) }
	both := func(n, amount string) string { return cents(n) + `,"amount":"` + amount + `"` }
	data := func(d string) string { return cents("4900") + `,"data":` + d }
	title := func(s string) string { return `"type":"spend","amount_cents":4900,"title":"` + s + `"` }
	return map[string][2]string{
		"an amount of nothing":                        {cents(`0`), "amount_not_positive"},
		"an amount of minus nothing":                  {cents(`-0`), "amount_not_positive"},
		"a negative amount":                           {cents(`-1`), "amount_not_positive"},
		"an amount that no double holds":              {cents(`1e400`), "amount_out_of_range"},
		"an amount with a huge exponent":              {cents(`1e999999999`), "amount_out_of_range"},
		"half a minor unit":                           {cents(`49.5`), "wrong_type"},
		"a whole amount with a point":                 {cents(`4900.0`), "wrong_type"},
		"a whole amount with an exponent":             {cents(`49e2`), "wrong_type"},
		"an amount as a string":                       {cents(`"49"`), "wrong_type"},
		"an amount as a long string":                  {cents(`"4900"`), "wrong_type"},
		"an amount as an empty string":                {cents(`""`), "wrong_type"},
		"an amount that is true":                      {cents(`true`), "wrong_type"},
		"an amount in a list":                         {cents(`[4900]`), "wrong_type"},
		"an amount in an object":                      {cents(`{"n":4900}`), "wrong_type"},
		"one more than the largest amount":            {cents(`9007199254740992`), "amount_out_of_range"},
		"one more than 64 bits":                       {cents(`9223372036854775808`), "amount_out_of_range"},
		"an amount of a hundred digits":               {cents(strings.Repeat("9", 100)), "amount_out_of_range"},
		"the largest amount, negative, and one":       {cents(`-9007199254740992`), "amount_out_of_range"},
		"a spend without an amount":                   {`"type":"spend","title":"Renewal"`, "amount_missing"},
		"a spend whose amount is null":                {cents(`null`), "amount_missing"},
		"a currency in lower case":                    {cents(`4900,"currency":"usd"`), "unknown_currency"},
		"a currency in mixed case":                    {cents(`4900,"currency":"Usd"`), "unknown_currency"},
		"no currency at all":                          {cents(`4900,"currency":"XXX"`), "unknown_currency"},
		"the currency of tests":                       {cents(`4900,"currency":"XTS"`), "unknown_currency"},
		"gold":                                        {cents(`4900,"currency":"XAU"`), "unknown_currency"},
		"a currency with a space":                     {cents(`4900,"currency":"US "`), "unknown_currency"},
		"a currency of four letters":                  {cents(`4900,"currency":"USDT"`), "invalid_value"},
		"a currency that is a number":                 {cents(`4900,"currency":840`), "wrong_type"},
		"yen restated with decimals":                  {both(`4900`, `49.00 JPY`) + `,"currency":"JPY"`, "amount_mismatch"},
		"yen restated with decimals, no currency":     {both(`49`, `49.00 JPY`), "amount_mismatch"},
		"restated ten times as much":                  {both(`4900`, `490.00 USD`), "amount_mismatch"},
		"restated a tenth of it":                      {both(`4900`, `4.90 USD`), "amount_mismatch"},
		"restated as minor units":                     {both(`4900`, `4900 USD`), "amount_mismatch"},
		"restated in another currency":                {both(`4900`, `49.00 EUR`) + `,"currency":"USD"`, "amount_mismatch"},
		"restated with a comma":                       {both(`4900`, `49,00 USD`), "amount_mismatch"},
		"restated with grouping":                      {both(`490000`, `4,900.00 USD`), "amount_mismatch"},
		"restated with a sign":                        {both(`4900`, `+49.00 USD`), "amount_mismatch"},
		"restated with two spaces":                    {both(`4900`, `49.00  USD`), "unknown_currency"},
		"restated without a currency":                 {both(`4900`, `49.00`), "amount_mismatch"},
		"restated the other way round":                {both(`4900`, `USD 49.00`), "unknown_currency"},
		"restated as a number":                        {cents(`4900,"amount":49.00`), "wrong_type"},
		"restated as nothing":                         {spend(`"amount":"0.00 USD"`), "amount_not_positive"},
		"a number that a double rounds":               {data(`{"n":9007199254740993}`), "number_inexact"},
		"a number that no double holds":               {data(`{"a":[{"n":1e400}]}`), "number_inexact"},
		"a fraction of thirty digits":                 {data(`{"n":0.123456789012345678901234567890}`), "number_inexact"},
		"data that is a list":                         {data(`[1]`), "wrong_type"},
		"data that is a string":                       {data(`"{}"`), "wrong_type"},
		"data with a key twice, deep inside":          {data(`{"a":{"b":[{"c":1,"c":1}]}}`), "repeated_key"},
		"data nested deeper than it may be":           {data(`{"a":` + nested("[", "]", 32) + `}`), "too_deep"},
		"a title with NUL":                            {title(`Re\u0000newal`), "bad_text"},
		"a title with half a surrogate":               {title(`Re\ud800newal`), "bad_text"},
		"a title with the other half":                 {title(`\udc00`), "bad_text"},
		"a title that is not UTF-8":                   {title("Re\xffnewal"), "bad_text"},
		"a title with an overlong sequence":           {title("Re\xc0\xafnewal"), "bad_text"},
		"a title with a bidi override":                {title("Pay \u202e00.94"), "bad_text"},
		"a title with a bidi override, escaped":       {title(`Pay \u202e00.94`), "bad_text"},
		"a title with a zero-width space":             {title("Re\u200bnewal"), "bad_text"},
		"a title with a line break":                   {title(`Re\nnewal`), "bad_text"},
		"a title with an escape sequence":             {title(`\u001b[2JRenewal`), "bad_text"},
		"a title with tag characters":                 {title("Renewal\U000E0041"), "bad_text"},
		"a title of 301 characters":                   {title(strings.Repeat("x", 301)), "invalid_value"},
		"a title of a megabyte":                       {title(strings.Repeat("x", 1<<20)), "too_large"},
		"a title of half a megabyte":                  {title(strings.Repeat("x", 1<<19)), "invalid_value"},
		"an empty title":                              {title(``), "invalid_value"},
		"no title":                                    {`"type":"spend","amount_cents":1`, "missing_field"},
		"a title that is null":                        {`"type":"spend","amount_cents":1,"title":null`, "missing_field"},
		"a type in capitals":                          {`"type":"Spend","title":"Renewal","amount_cents":1`, "invalid_value"},
		"a type with a space":                         {`"type":"spend ","title":"Renewal","amount_cents":1`, "invalid_value"},
		"a full-width type":                           {`"type":"ｓｐｅｎｄ","title":"Renewal","amount_cents":1`, "invalid_value"},
		"an empty type":                               {`"type":"","title":"Renewal","amount_cents":1`, "invalid_value"},
		"an unknown key":                              {cents(`4900,"note":"x"`), "unknown_key"},
		"a status inside of the action":               {cents(`4900,"status":"approved"`), "unknown_key"},
		"a key in another case":                       {`"type":"spend","Title":"Renewal","amount_cents":4900`, "unknown_key"},
		"a key twice":                                 {cents(`4900,"amount_cents":1`), "repeated_key"},
		"a key twice, once escaped":                   {cents(`4900,"\u0061mount_cents":1`), "repeated_key"},
		"labels that are one string":                  {cents(`4900,"labels":"a"`), "wrong_type"},
		"a label that is null":                        {cents(`4900,"labels":[null]`), "wrong_type"},
		"an empty label":                              {cents(`4900,"labels":[""]`), "missing_field"},
		"21 labels":                                   {cents(`4900,"labels":["a"` + strings.Repeat(`,"a"`, 20) + `]`), "invalid_value"},
		"a label with a zero-width joiner at its end": {cents(`4900,"labels":["a\u200d"]`), "bad_text"},
		"a recipient with a bidi mark":                {cents(`4900,"recipient":"a@b.example\u200f"`), "bad_text"},
		"a recipient of two lines":                    {cents(`4900,"recipient":"a@b.example\nbcc: c@d.example"`), "bad_text"},
		"a body with a lone carriage return":          {cents(`4900,"body":"a\rb"`), "bad_text"},
		"a body longer than it may be":                {cents(`4900,"body":"` + strings.Repeat("x", 65_537) + `"`), "invalid_value"},
	}
}

func TestAnActionThatIsNotWellFormedIsRefusedAndLeavesNoRow(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c := w.full(operator.KindAgent)
		for name, bad := range badActions() {
			raw := `{"action":{` + bad[0] + `}}`
			r := w.refuses(t, name, c, bad[1], nil, func() reply { return w.call(c, w.recording(), raw) })
			wantInput(t, name, r)
		}
		if rows := w.query(`select 1 from reeve_intents union all select 1 from reeve_outbox`); len(rows) != 0 {
			t.Errorf("%d rows were stored", len(rows))
		}
	})
}

func wantInput(t *testing.T, name string, r reply) {
	t.Helper()
	status := 400
	if r.env.Reason == "too_large" {
		status = 413
	}
	if r.env.Layer != "input" || r.env.Verdict != "deny" || !r.IsError || r.Status != status {
		t.Errorf("%s: status %d, %s", name, r.Status, r.JSON)
	}
	if next := r.env.Recovery[0].Kind; next != "correct_arguments" && next != "escalate_to_human" {
		t.Errorf("%s: it offers %s", name, next)
	}
	if len(r.env.Message) > 700 {
		t.Errorf("%s: a message of %d bytes", name, len(r.env.Message))
	}
}

func TestTheSameKeyWithAnotherCurrencyIsAnotherAction(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		w := newWorld(t, store, nil)
		c := w.full(operator.KindAgent)
		record := func(more string) reply {
			return w.call(c, w.recording(), `{"action":{"type":"spend","title":"Renewal","amount_cents":4900`+more+`}}`)
		}
		var first operator.Intent
		decode(t, record(``).JSON, &first)
		for name, more := range map[string]string{"currency": `,"currency":"EUR"`, "labels": `,"labels":["a"]`, "data": `,"data":{"a":1}`,
			"restated currency": `,"amount":"49.00 EUR"`, "taint": `,"tainted_by":["o1"]`} {
			r := w.refuses(t, name, c, "idempotency_mismatch", nil, func() reply { return record(more) })
			if r.Status != 409 || r.env.Layer != "state" || r.env.Error.Details["intent_id"] != float64(first.ID) {
				t.Errorf("%s: %s", name, r.JSON)
			}
		}
		for _, more := range []string{`,"currency":"USD"`, `,"amount":"49.00 USD"`, `,"amount":"49 USD"`, `,"labels":[]`, `,"data":null`, `,"recipient":""`} {
			var again operator.Intent
			decode(t, record(more).JSON, &again)
			if again.ID != first.ID || again.Created {
				t.Errorf("%s is the same action, but answered %+v", more, again)
			}
		}
	})
}

// wholes are arguments that are wrong as a whole, whatever the tool.
func wholes() map[string][2]string {
	return map[string][2]string{
		"nothing":                       {``, "not_json"},
		"white space":                   {" \n", "not_json"},
		"null":                          {`null`, "not_an_object"},
		"a list":                        {`[]`, "not_an_object"},
		"a list of two calls":           {`[{"id":1},{"id":2}]`, "not_an_object"},
		"a string":                      {`"{}"`, "not_an_object"},
		"a number":                      {`1`, "not_an_object"},
		"true":                          {`true`, "not_an_object"},
		"two objects":                   {`{}{}`, "not_json"},
		"something behind it":           {`{} x`, "not_json"},
		"half an object":                {`{"id":`, "not_json"},
		"a comment":                     {`{/* */}`, "not_json"},
		"single quotes":                 {`{'id':1}`, "not_json"},
		"a comma too many":              {`{"id":1,}`, "not_json"},
		"a byte order mark":             {"\ufeff{}", "not_json"},
		"UTF-16":                        {"\xff\xfe{\x00}\x00", "bad_text"},
		"NaN":                           {`{"id":NaN}`, "not_json"},
		"a leading zero":                {`{"id":01}`, "not_json"},
		"a raw line break in a string":  {"{\"id\":\"\n\"}", "not_json"},
		"an unknown key":                {`{"zz_unknown":1}`, "unknown_key"},
		"a key of a prototype":          {`{"__proto__":{}}`, "unknown_key"},
		"an empty key":                  {`{"":1}`, "unknown_key"},
		"an unknown key twice":          {`{"zz_unknown":1,"zz_unknown":2}`, "repeated_key"},
		"a repeated key, deep inside":   {`{"zz":[{"a":{"b":1,"b":1}}]}`, "repeated_key"},
		"NUL in a key":                  {`{"a\u0000":1}`, "bad_text"},
		"half a surrogate in a key":     {`{"\ud800":1}`, "bad_text"},
		"a key that is not UTF-8":       {"{\"\xff\":1}", "bad_text"},
		"a list nested 10,000 deep":     {`{"zz":` + nested("[", "]", 10_000) + `}`, "too_deep"},
		"an object nested 10,000 deep":  {strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat("}", 10_000), "too_deep"},
		"brackets without an end":       {strings.Repeat("[", 1<<20), "too_deep"},
		"more than a megabyte":          {`{"zz":"` + strings.Repeat("x", 1<<20) + `"}`, "too_large"},
		"a megabyte of white space":     {strings.Repeat(" ", 1<<20+1), "too_large"},
		"a key of half a megabyte":      {`{"` + strings.Repeat("k", 1<<19) + `":1}`, "unknown_key"},
		"a hundred thousand of one key": {`{` + strings.Repeat(`"a":1,`, 100_000) + `"a":1}`, "repeated_key"},
	}
}

func TestArgumentsThatAreWrongAsAWholeAreRefusedByEveryRow(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	try := func(name, reason string, call func() reply) {
		n := w.lines()
		r := call()
		r.wants(t, reason)
		wantInput(t, name, r)
		if got := w.since(n); len(got) != 1 || got[0].reason != reason || len(got[0].argsDigest) != 64 {
			t.Errorf("%s: the record says %+v", name, got)
		}
	}
	for _, tool := range w.Tools() {
		c := w.full(tool.Kinds[0])
		before := w.digest()
		for name, whole := range wholes() {
			try(fmt.Sprint(tool.Name, ": ", name), whole[1], func() reply { return w.call(c, tool, whole[0]) })
		}
		if w.digest() != before {
			t.Errorf("%s: something changed", tool.Name)
		}
	}
	for _, a := range w.Acts() {
		c := w.full(a.Kinds[0])
		before := w.digest()
		for name, whole := range wholes() {
			try(fmt.Sprint(a.Name, ": ", name), whole[1], func() reply { return w.do(c, a, whole[0]) })
		}
		if w.digest() != before {
			t.Errorf("%s: something changed", a.Name)
		}
	}
}
