package strict

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/go-playground/validator/v10"
)

func TestEveryRuleIsWordedForAPerson(t *testing.T) {
	type rules struct {
		Min    string            `json:"min" validate:"min=2"`
		Max    []string          `json:"max" validate:"max=1"`
		Len    string            `json:"len" validate:"len=3"`
		Gt     int               `json:"gt" validate:"gt=5"`
		Lt     *int              `json:"lt" validate:"omitempty,lt=5"`
		OneOf  string            `json:"one_of" validate:"oneof=a b"`
		Word   string            `json:"word" validate:"word"`
		Number int               `json:"number" validate:"word"`
		Clean  string            `json:"clean" validate:"hygienic"`
		Unique []string          `json:"unique" validate:"unique"`
		ID     string            `json:"id" validate:"uuid"`
		Email  string            `json:"email" validate:"email"`
		Map    map[string]string `json:"map" validate:"min=1"`
		Names  []string          `json:"names" validate:"dive,max=1"`
	}
	v := rules{Max: []string{"a", "b"}, Lt: ptr(9), Clean: "a\x01", Unique: []string{"a", "a"}, ID: "x", Email: "x", Names: []string{"a", "bb"}}
	want := []string{
		"The field min must be at least 2 characters.",
		"The field max must be at most 1 elements.",
		"The field len must have exactly 3 characters.",
		"The field gt must be more than 5.",
		"The field lt must be less than 5.",
		"The field one_of must be one of a, b, in exactly this case.",
		"The field word must be a lower-case word of letters, digits and underscores, at most 40, beginning with a letter.",
		"The field number must be a lower-case word of letters, digits and underscores, at most 40, beginning with a letter.",
		"The field clean: the control character U+0001 is not allowed.",
		"The field unique must not hold the same element twice.",
		"The field id must be a UUID.",
		"The field email is not valid (email).",
		"The field map must be at least 1 elements.",
		"Element 1 of names must be at most 1 characters.",
	}
	found := All(plainDecoder.Validate(&v))
	if len(found) != len(want) {
		t.Fatalf("%d faults, want %d: %v", len(found), len(want), found)
	}
	for i, e := range found {
		if e.Message != want[i] {
			t.Errorf("got  %s\nwant %s", e.Message, want[i])
		}
	}
}

func TestTypesAreNamedInWordsOfJSON(t *testing.T) {
	for member, want := range map[string]string{
		`"id":true`:     "A value of type integer was expected here, not a boolean.",
		`"ratio":[]`:    "A value of type number was expected here, not an array.",
		`"kind":{}`:     "A value of type string was expected here, not an object.",
		`"flag":1`:      "A value of type boolean was expected here, not a number.",
		`"on":"x"`:      "A value of type object was expected here, not a string.",
		`"ids":1`:       "A value of type array was expected here, not a number.",
		`"raw":1`:       "A JSON object was expected here, not a number.",
		`"raw":[null]`:  "A JSON object was expected here, not an array.",
		`"id":"x"`:      `An integer was expected here, not the string "x"; send a number without quotes.`,
		`"id":1.5`:      `An integer was expected here, not "1.5"; send digits without a fraction or an exponent.`,
		`"small":300`:   `The number "300" does not fit this field; send one that does.`,
		`"size":-1`:     `The number "-1" does not fit this field; send one that does.`,
		`"when":"noon"`: "This value is not a valid time (RFC 3339).",
	} {
		e := All(plainDecoder.Decode(with(member), new(call)))
		if len(e) != 1 || e[0].Message != want {
			t.Errorf("%s: got  %v\nwant %s", member, e, want)
		}
	}
}

func TestATypeReadFromTextTakesOnlyStrings(t *testing.T) {
	type host struct {
		Addr  netip.Addr `json:"addr,omitzero"`
		Bytes []byte     `json:"bytes,omitzero"`
	}
	for raw, want := range map[string]Code{
		`{"addr":"::1","bytes":"AAE="}`: "",
		`{"addr":1}`:                    WrongType,
		`{"addr":{}}`:                   WrongType,
		`{"addr":"nowhere"}`:            InvalidValue,
		`{"bytes":"!"}`:                 InvalidValue,
		`{"bytes":1}`:                   WrongType,
	} {
		err := plainDecoder.Decode([]byte(raw), new(host))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", raw, err)
			}
			continue
		}
		if e := All(err); len(e) != 1 || e[0].Code != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		} else {
			wantPlain(t, e[0])
		}
	}
}

func TestTheWordsOfATypeAreRepeatedOnlyWhenShort(t *testing.T) {
	type loud struct {
		V shouting `json:"v"`
	}
	for literal, want := range map[string]string{
		`"short"`:                              "This value is not acceptable: no \"short\".",
		`"` + strings.Repeat("long", 30) + `"`: "This value is not a valid string.",
	} {
		e := wantFault(t, plainDecoder.Decode([]byte(`{"v":`+literal+`}`), new(loud)), InvalidValue, "/v")
		if e.Message != want {
			t.Errorf("got  %s\nwant %s", e.Message, want)
		}
	}
}

type shouting string

func (*shouting) UnmarshalJSON(b []byte) error { return errors.New("no " + string(b)) }

func TestErrorsAreTakenApart(t *testing.T) {
	one := &Error{Code: TooDeep, Message: "Flatter."}
	if one.Error() != "too_deep: Flatter." {
		t.Error(one.Error())
	}
	one.Path = "/a"
	if one.Error() != "too_deep at /a: Flatter." {
		t.Error(one.Error())
	}
	var many Errors
	for range 10 {
		many = append(many, one)
	}
	if s := many.Error(); strings.Count(s, "Flatter.") != 8 || !strings.HasSuffix(s, "; and 2 more") {
		t.Error(s)
	}
	if !errors.Is(many, one) || len(All(many)) != 10 || len(All(one)) != 1 || All(errors.New("x")) != nil || All(nil) != nil {
		t.Error("All or Unwrap loses faults")
	}
}

func TestLongTextIsCutBetweenCharacters(t *testing.T) {
	key := strings.Repeat("é", 300)
	e := All(plainDecoder.Decode([]byte(`{"`+key+`":1}`), new(call)))[0]
	if !strings.Contains(e.Message, strings.Repeat("é", 20)+`…"`) || strings.Contains(e.Message, strings.Repeat("é", 21)) {
		t.Error(e.Message)
	}
	if !strings.HasSuffix(e.Path, "é…") || len(e.Path) > maxPath+len("…") {
		t.Error(e.Path)
	}
}

func TestAWideStructDoesNotListItsKeys(t *testing.T) {
	type wide struct {
		A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q int
		hidden                                            int
		Skipped                                           int `json:"-"`
	}
	e := wantFault(t, plainDecoder.Decode([]byte(`{"zz":1}`), &wide{hidden: 1}), UnknownKey, "/zz")
	if e.Message != `The key "zz" is not known here; leave it out.` {
		t.Error(e.Message)
	}
	e = wantFault(t, plainDecoder.Decode([]byte(`{"lImit":1}`), new(call)), UnknownKey, "/lImit")
	if !strings.Contains(e.Message, "write limit,") {
		t.Errorf("the keys of an embedded struct are forgotten: %s", e.Message)
	}
}

func TestARuleThatDoesNotExistIsAMistakeOfTheProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("registering nothing passed")
		}
	}()
	register(validator.New(), "", func(validator.FieldLevel) bool { return true })
}

func TestDiscardHasNothingToWrite(t *testing.T) {
	b, err := json.Marshal(struct {
		Actor Discard `json:"actor"`
	}{})
	if err != nil || string(b) != `{"actor":null}` {
		t.Errorf("%s %v", b, err)
	}
	if len(Discard{}.JSONSchema()) != 0 {
		t.Error("its schema says more than anything")
	}
}

func TestAnOffsetPointsAtTheValue(t *testing.T) {
	raw := []byte(` {"action" : {"type":"a", "title": "12345678901", "labels":["x",["[,]"],"toolong"]}} `)
	offset, sent := locate(raw, "/action/labels/2")
	if !sent || !strings.HasPrefix(string(raw[offset:]), `"toolong"`) {
		t.Errorf("offset %d, sent %v", offset, sent)
	}
	for _, absent := range []string{"/action/labels/3", "/action/labels/x", "/action/none", "/action/type/x"} {
		if _, sent := locate(raw, absent); sent {
			t.Errorf("%s is not there", absent)
		}
	}
}
