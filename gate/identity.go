package gate

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Key returns the idempotency key of an action: the first 32 hex digits of
// SHA-1 over
//
//	type|title|recipient|amount|body
//
// where amount is the decimal of the minor units, or empty, and every `|` and
// `\` inside a field is written with a `\` before it. So no two different
// splits of a text share a key.
//
// The key is for looking a repeated action up. It is not a proof of equality:
// currency, labels and data are outside of it. Compare the [Digest] for that.
//
// Published vectors, as sha1sum prints them (more in testdata/vectors.json):
//
//	note|Buy milk|||                  ce4710cad43e3e37d8cda7ec3c2ebad3
//	spend|Annual plan renewal||4900|  eda5f4d3e25d47e92b81a5a7d27064d1
//	send|a\|b|c||                     3a061610da98344b864350cf87db251b
//	send|a|b\|c||                     07da3b63bd0c916622120e6a332307b6
func Key(a Action) string {
	var b strings.Builder
	b.Grow(len(a.Type) + len(a.Title) + len(a.Recipient) + len(a.Body) + 24)
	amount := ""
	if a.AmountCents != nil {
		amount = strconv.FormatInt(int64(*a.AmountCents), 10)
	} else if cents, _, err := parseAmount(a.Amount); err == nil {
		amount = strconv.FormatInt(int64(cents), 10)
	}
	for i, field := range [...]string{a.Type, a.Title, a.Recipient, amount, a.Body} {
		if i > 0 {
			b.WriteByte('|')
		}
		escapeInto(&b, field)
	}
	sum := sha1.Sum([]byte(b.String()))
	return hex.EncodeToString(sum[:16])
}

func escapeInto(b *strings.Builder, field string) {
	for i := range len(field) {
		if field[i] == '|' || field[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(field[i])
	}
}

// digestVersion is the "v" of the canonical form. It changes when the form does.
const digestVersion = 1

// Canonical returns the canonical JSON (RFC 8785) of everything that will be
// carried out:
//
//	{v, account, project, type, title, recipient, amount_cents, currency,
//	 body, labels, tainted_by, data}
//
// with v = 1. Absent and empty fields are omitted; lists keep their order. The
// decimal Amount is not part of it, so an action that states one must have been
// [Action.Restated] first, else this fails with a [*FieldError]. It fails too
// for text that is not valid UTF-8, and for data that RFC 8785 cannot carry
// exactly.
func Canonical(account, project string, a Action) ([]byte, error) {
	if err := a.canonicalizable(account, project); err != nil {
		return nil, err
	}
	var out []byte
	out = append(out, '{')
	text := func(name, value string) error {
		if value == "" {
			return nil
		}
		var err error
		out, err = appendMember(out, name, value)
		return err
	}
	list := func(name string, values []string) error {
		if len(values) == 0 {
			return nil
		}
		var err error
		out, err = appendListMember(out, name, values)
		return err
	}
	out = strconv.AppendInt(append(out, `"v":`...), digestVersion, 10)
	if a.AmountCents != nil {
		out = strconv.AppendInt(append(out, `,"amount_cents":`...), int64(*a.AmountCents), 10)
	}
	if a.hasData() {
		out = append(append(out, `,"data":`...), trimJSONSpace(a.Data)...)
	}
	for _, err := range []error{
		text("account", account), text("project", project), text("type", a.Type), text("title", a.Title),
		text("recipient", a.Recipient), text("currency", a.Currency), text("body", a.Body),
		list("labels", a.Labels), list("tainted_by", a.TaintedBy),
	} {
		if err != nil {
			return nil, fmt.Errorf("gate: canonical form: %w", err)
		}
	}
	value := jsontext.Value(append(out, '}'))
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("gate: canonical form: %w", err)
	}
	return value, nil
}

// canonicalizable refuses what the canonical form would silently lose.
func (a Action) canonicalizable(account, project string) error {
	restated, err := a.Restated(a.Currency)
	if a.Amount != "" {
		if err != nil {
			return err
		}
		if a.AmountCents == nil || restated.Currency != a.Currency {
			return fieldError("amount", CodeAmountMismatch,
				"restate the action first, so that its minor units and currency are in the digest")
		}
	}
	if a.AmountCents != nil && (*a.AmountCents > MaxCents || *a.AmountCents < -MaxCents) {
		return fieldError("amount_cents", CodeAmountOutOfRange,
			"the amount is beyond %d minor units", MaxCents)
	}
	if !a.hasData() {
		return nil
	}
	if ferr := checkData(a.Data); ferr != nil {
		return ferr
	}
	return nil
}

func appendMember(out []byte, name, value string) ([]byte, error) {
	out = append(out, `,"`...)
	out = append(out, name...)
	out = append(out, `":`...)
	return jsontext.AppendQuote(out, value)
}

func appendListMember(out []byte, name string, values []string) ([]byte, error) {
	out = append(out, `,"`...)
	out = append(out, name...)
	out = append(out, `":[`...)
	for i, value := range values {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = jsontext.AppendQuote(out, value); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// Digest returns 64 lower-case hex digits: SHA-256 over [Canonical]. It is what
// a person approves: change anything that would be carried out, and the digest
// changes.
//
// Published vectors for the account and project "default" (more in
// testdata/vectors.json), as sha256sum prints them:
//
//	{"account":"default","project":"default","title":"Buy milk","type":"note","v":1}
//	050d34b24ec3f4bacc5b47d18ffa9e24defc8117b9cfc3e65fd10b2b25fe419b
//
//	{"account":"default","amount_cents":4900,"currency":"USD","project":"default","title":"Annual plan renewal","type":"spend","v":1}
//	d5b47c0d8ccf0c2ec43120210e1644c00b235130e064d3117a3e10150c7e83e5
func Digest(account, project string, a Action) (string, error) {
	canonical, err := Canonical(account, project, a)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
