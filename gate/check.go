package gate

import (
	"unicode"
	"unicode/utf8"
)

// Check reports everything that is malformed about an action, all at once, as
// [FieldErrors]. It judges form only: whether the action may happen is for
// [Policy.Evaluate]. An action that fails belongs back with its author and
// leaves no record.
func (a Action) Check() error {
	var errs FieldErrors
	errs.checkType(a.Type)
	errs.checkTitle(a.Title)
	errs.checkLine("recipient", a.Recipient, MaxRecipient)
	errs.checkEdges("recipient", a.Recipient)
	errs.checkMoney(a)
	errs.checkBody(a.Body)
	errs.checkList("labels", a.Labels, MaxLabels)
	errs.checkList("tainted_by", a.TaintedBy, MaxTaints)
	if a.hasData() {
		if ferr := checkData(a.Data); ferr != nil {
			errs = append(errs, ferr)
		}
	}
	return errs.orNil()
}

func (es *FieldErrors) checkType(t string) {
	switch {
	case t == "":
		es.add("type", CodeMissing, "say what kind of action this is, such as spend, send or note")
	case len(t) > MaxType:
		es.add("type", CodeTextTooLong, "a type is limited to %d characters", MaxType)
	case !isTypeName(t):
		es.add("type", CodeInvalidType,
			"write a type in lower_snake: a letter a to z, then letters, digits and underscores")
	}
}

// isTypeName reports whether t is a lower_snake name.
func isTypeName(t string) bool {
	if t == "" || t[0] < 'a' || t[0] > 'z' {
		return false
	}
	for i := range len(t) {
		c := t[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

func (es *FieldErrors) checkTitle(title string) {
	if title == "" {
		es.add("title", CodeMissing, "give the action a title that a person can recognise it by")
		return
	}
	es.checkLine("title", title, MaxTitle)
	es.checkEdges("title", title)
}

func (es *FieldErrors) checkBody(body string) {
	if len(body) > MaxBody {
		es.add("body", CodeTextTooLong, "body is limited to %d bytes", MaxBody)
		return
	}
	es.checkHygiene("body", body, Block)
}

// checkLine limits code points. The byte length is looked at first, so that a
// megabyte of text is not decoded to be refused.
func (es *FieldErrors) checkLine(field, s string, limit int) {
	if len(s) > limit*utf8.UTFMax || utf8.RuneCountInString(s) > limit {
		es.add(field, CodeTextTooLong, "%s is limited to %d characters", field, limit)
		return
	}
	es.checkHygiene(field, s, Line)
}

// checkEdges refuses white space around a line: two that differ in nothing else
// look the same to a person. A title of white space alone says nothing.
func (es *FieldErrors) checkEdges(field, s string) {
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	if s != "" && (blank(first) || blank(last)) {
		es.add(field, CodeTextUnhygienic, "take the white space off both ends of %s", field)
	}
}

// blank knows white space, and the Braille pattern that looks like it.
func blank(r rune) bool { return unicode.IsSpace(r) || r == 0x2800 }

func (es *FieldErrors) checkHygiene(field, s string, kind TextKind) {
	if plainASCII(s) {
		return
	}
	if ferr := unhygienic(s, kind); ferr != nil {
		ferr.Field = field
		*es = append(*es, ferr)
	}
}

func (es *FieldErrors) checkList(field string, values []string, limit int) {
	if len(values) > limit {
		es.add(field, CodeTooMany, "%s is limited to %d entries", field, limit)
		return
	}
	for _, v := range values {
		if v == "" {
			es.add(field, CodeMissing, "leave empty entries out")
			continue
		}
		es.checkLine(field, v, MaxLabel)
	}
}

func (es *FieldErrors) checkMoney(a Action) {
	if a.AmountCents != nil {
		switch {
		case *a.AmountCents > MaxCents:
			es.add("amount_cents", CodeAmountOutOfRange,
				"the amount is beyond %d minor units; split it, or hand it to a person", MaxCents)
		case *a.AmountCents <= 0:
			es.add("amount_cents", CodeAmountNotPositive, "the amount must be at least 1 minor unit")
		}
	}
	if a.Currency != "" {
		if _, ok := Exponent(a.Currency); !ok {
			*es = append(*es, unknownCurrency("currency"))
		}
	}
	if a.Amount != "" {
		es.checkRestatement(a)
	}
}

func (es *FieldErrors) checkRestatement(a Action) {
	if len(a.Amount) > MaxAmount {
		es.add("amount", CodeTextTooLong, "amount is limited to %d characters", MaxAmount)
		return
	}
	cents, code, ferr := parseAmount(a.Amount)
	if ferr == nil {
		ferr = a.disagrees(cents, code)
	}
	if ferr == nil && cents == 0 {
		ferr = fieldError("amount", CodeAmountNotPositive, "the amount must be at least 1 minor unit")
	}
	if ferr != nil {
		*es = append(*es, ferr)
	}
}
