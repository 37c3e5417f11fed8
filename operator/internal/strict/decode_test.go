package strict

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// cents stands for a type that reads itself and is stricter than an int64.
type cents int64

type centsError struct{ Literal string }

func (e *centsError) Error() string { return "an amount is an integer" }

func (c *cents) UnmarshalJSON(b []byte) error {
	if err := stdjson.Unmarshal(b, (*int64)(c)); err != nil {
		return &centsError{string(b)}
	}
	return nil
}

type count int32

type page struct {
	Limit *int `json:"limit,omitzero" validate:"omitempty,min=1,max=100"`
}

type inner struct {
	Type   string         `json:"type" validate:"required,word"`
	Title  string         `json:"title" validate:"required,max=10,hygienic"`
	Cents  *cents         `json:"amount_cents,omitzero" validate:"omitempty,min=1"`
	Labels []string       `json:"labels,omitzero" validate:"max=3,dive,required,max=5"`
	Data   jsontext.Value `json:"data,omitzero"`
}

type call struct {
	page
	Action inner              `json:"action" validate:"required"`
	ID     int64              `json:"id,omitzero"`
	Small  int8               `json:"small,omitzero"`
	Count  count              `json:"count,omitzero"`
	Size   uint16             `json:"size,omitzero"`
	Ratio  float64            `json:"ratio,omitzero"`
	Flag   *bool              `json:"flag,omitzero"`
	Kind   string             `json:"kind,omitzero" validate:"omitempty,oneof=goal note"`
	When   time.Time          `json:"when,omitzero"`
	On     map[string]bool    `json:"on,omitzero"`
	Many   []inner            `json:"many,omitzero" validate:"dive"`
	Raw    stdjson.RawMessage `json:"raw,omitzero"`
	IDs    []int64            `json:"ids,omitzero"`
	Actor  Discard            `json:"actor,omitzero"`
}

// with makes a valid call with one more member.
func with(member string) []byte {
	return []byte(`{"action":{"type":"spend","title":"t"},` + member + `}`)
}

var plainDecoder = New(Options{})

func ptr[T any](v T) *T { return &v }

func TestDecodeAccepts(t *testing.T) {
	tests := map[string]struct {
		member string
		want   func(*call)
	}{
		"an integer":                        {`"id":9223372036854775807`, func(c *call) { c.ID = 9223372036854775807 }},
		"an integer beyond 2^53, exactly":   {`"id":9007199254740993`, func(c *call) { c.ID = 9007199254740993 }},
		"a numeric string for an integer":   {`"id":"41"`, func(c *call) { c.ID = 41 }},
		"a negative numeric string":         {`"id":"-3"`, func(c *call) { c.ID = -3 }},
		"a numeric zero":                    {`"id":"0"`, func(c *call) { c.ID = 0 }},
		"an escaped numeric string":         {`"id":"\u0034\u0031"`, func(c *call) { c.ID = 41 }},
		"a numeric string for a named type": {`"count":"7"`, func(c *call) { c.Count = 7 }},
		"a numeric string for an unsigned":  {`"size":"65535"`, func(c *call) { c.Size = 65535 }},
		"a numeric string behind a pointer": {`"limit":"9"`, func(c *call) { c.Limit = ptr(9) }},
		"numeric strings in a list":         {`"ids":["1",2,"3"]`, func(c *call) { c.IDs = []int64{1, 2, 3} }},
		"null for an optional integer":      {`"id":null`, func(*call) {}},
		"null for an optional pointer":      {`"limit":null`, func(*call) {}},
		"null for an optional string":       {`"kind":null`, func(*call) {}},
		"null for an optional list":         {`"many":null`, func(*call) {}},
		"null for an open object":           {`"raw":null`, func(*call) {}},
		"null for a time":                   {`"when":null`, func(*call) {}},
		"null for the actor":                {`"actor":null`, func(*call) {}},
		"an actor of any type":              {`"actor":{"kind":["human",1,null]}`, func(*call) {}},
		"an actor that is a string":         {`"actor":"me"`, func(*call) {}},
		"an open object as it stands":       {`"raw":{ "a":[1.0,null,{"Z":1}]}`, func(c *call) { c.Raw = stdjson.RawMessage(`{ "a":[1.0,null,{"Z":1}]}`) }},
		"a key spelled with escapes":        {`"\u0069d":5`, func(c *call) { c.ID = 5 }},
		"false for a pointer to a bool":     {`"flag":false`, func(c *call) { c.Flag = ptr(false) }},
		"a map":                             {`"on":{"a":true,"b":false}`, func(c *call) { c.On = map[string]bool{"a": true, "b": false} }},
		"an empty map":                      {`"on":{}`, func(c *call) { c.On = map[string]bool{} }},
		"an empty list":                     {`"many":[]`, func(c *call) { c.Many = []inner{} }},
		"a word of an enumeration":          {`"kind":"goal"`, func(c *call) { c.Kind = "goal" }},
		"a time with an offset":             {`"when":"2026-01-02T03:04:05Z"`, func(c *call) { c.When = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }},
		"a fraction for a fraction":         {`"ratio":0.5e0`, func(c *call) { c.Ratio = 0.5 }},
		"minus zero for an integer":         {`"id":-0`, func(*call) {}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := call{Action: inner{Type: "spend", Title: "t"}}
			tt.want(&want)
			var got call
			if err := plainDecoder.Decode(with(tt.member), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestDecodeRefusesAMember(t *testing.T) {
	tests := map[string]struct {
		member string
		code   Code
		path   string
	}{
		"an unknown key":                         {`"status":"approved"`, UnknownKey, "/status"},
		"a key in another case":                  {`"Id":1`, UnknownKey, "/Id"},
		"a Go name":                              {`"ID":1`, UnknownKey, "/ID"},
		"a key of the embedded struct, wrongly":  {`"page":{"limit":1}`, UnknownKey, "/page"},
		"an unknown key deep inside":             {`"many":[{"type":"a","title":"t","x":1}]`, UnknownKey, "/many/0/x"},
		"a repeated key":                         {`"id":1,"id":1`, RepeatedKey, "/id"},
		"a repeated key in another spelling":     {`"id":1,"\u0069d":1`, RepeatedKey, "/id"},
		"a repeated key in an open object":       {`"raw":{"a":{"b":1,"b":1}}`, RepeatedKey, "/raw/a/b"},
		"a repeated key in what is thrown away":  {`"actor":{"b":1,"b":1}`, RepeatedKey, "/actor/b"},
		"a repeated key in a map":                {`"on":{"b":true,"b":true}`, RepeatedKey, "/on/b"},
		"a whole number with a fraction":         {`"id":49.0`, NotAnInteger, "/id"},
		"a number with a fraction":               {`"id":49.5`, NotAnInteger, "/id"},
		"a whole number with an exponent":        {`"id":4.9e1`, NotAnInteger, "/id"},
		"an exponent without a fraction":         {`"id":1e2`, NotAnInteger, "/id"},
		"an absurd exponent":                     {`"id":1e400`, NotAnInteger, "/id"},
		"one more than an int64":                 {`"id":9223372036854775808`, NumberOutOfRange, "/id"},
		"one less than an int64":                 {`"id":-9223372036854775809`, NumberOutOfRange, "/id"},
		"more than a uint64":                     {`"id":18446744073709551616`, NumberOutOfRange, "/id"},
		"one more than an int8":                  {`"small":128`, NumberOutOfRange, "/small"},
		"a negative number for an unsigned":      {`"size":-1`, NumberOutOfRange, "/size"},
		"a double too large":                     {`"ratio":1e400`, NumberOutOfRange, "/ratio"},
		"a numeric string too large":             {`"id":"9223372036854775808"`, NumberOutOfRange, "/id"},
		"a numeric string too large, named type": {`"count":"2147483648"`, NumberOutOfRange, "/count"},
		"a numeric string, negative, unsigned":   {`"size":"-1"`, NumberOutOfRange, "/size"},
		"a leading zero in a string":             {`"id":"041"`, WrongType, "/id"},
		"a plus in a string":                     {`"id":"+1"`, WrongType, "/id"},
		"a space in a string":                    {`"id":" 1"`, WrongType, "/id"},
		"a fraction in a string":                 {`"id":"1.0"`, WrongType, "/id"},
		"an exponent in a string":                {`"id":"1e3"`, WrongType, "/id"},
		"minus zero in a string":                 {`"id":"-0"`, WrongType, "/id"},
		"an empty string for an integer":         {`"id":""`, WrongType, "/id"},
		"digits of another script":               {`"id":"٤١"`, WrongType, "/id"},
		"hexadecimal":                            {`"id":"0x1f"`, WrongType, "/id"},
		"an underscore":                          {`"id":"1_000"`, WrongType, "/id"},
		"a numeric string for a fraction":        {`"ratio":"0.5"`, WrongType, "/ratio"},
		"true for an integer":                    {`"id":true`, WrongType, "/id"},
		"a list for an integer":                  {`"id":[1]`, WrongType, "/id"},
		"a number for a string":                  {`"kind":1`, WrongType, "/kind"},
		"a string for a bool":                    {`"flag":"true"`, WrongType, "/flag"},
		"a number for a bool":                    {`"flag":1`, WrongType, "/flag"},
		"an object for a list":                   {`"many":{}`, WrongType, "/many"},
		"a string for a list":                    {`"ids":"1"`, WrongType, "/ids"},
		"a list for a struct":                    {`"many":[[]]`, WrongType, "/many/0"},
		"a list for a map":                       {`"on":[]`, WrongType, "/on"},
		"a list for an open object":              {`"raw":[]`, WrongType, "/raw"},
		"a string for an open object":            {`"raw":"{}"`, WrongType, "/raw"},
		"a number for a time":                    {`"when":1`, WrongType, "/when"},
		"null in a list of strings":              {`"many":[{"type":"a","title":"t","labels":[null]}]`, WrongType, "/many/0/labels/0"},
		"null in a list of integers":             {`"ids":[1,null]`, WrongType, "/ids/1"},
		"null in a list of structs":              {`"many":[null]`, WrongType, "/many/0"},
		"null in a map":                          {`"on":{"a":null}`, WrongType, "/on/a"},
		"a wrong type in a map":                  {`"on":{"a":1}`, WrongType, "/on/a"},
		"a time without an offset":               {`"when":"2026-01-02T03:04:05"`, InvalidValue, "/when"},
		"a time that never was":                  {`"when":"2026-02-30T03:04:05Z"`, InvalidValue, "/when"},
		"a word in capitals":                     {`"kind":"Goal"`, InvalidValue, "/kind"},
		"a word with a space":                    {`"kind":"goal "`, InvalidValue, "/kind"},
		"a limit too small":                      {`"limit":0`, InvalidValue, "/limit"},
		"a limit too large, as a string":         {`"limit":"101"`, InvalidValue, "/limit"},
		"NUL in what is thrown away":             {`"actor":"\u0000"`, NULCharacter, "/actor"},
		"a lone surrogate in an open object":     {`"raw":{"a":"\udc00"}`, LoneSurrogate, "/raw/a"},
		"too deep in what is thrown away":        {`"actor":` + nested(64), TooDeep, "/actor" + strings.Repeat("/0", 63)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			raw := with(tt.member)
			e := wantFault(t, plainDecoder.Decode(raw, new(call)), tt.code, tt.path)
			if e.Offset <= 0 || e.Offset >= len(raw) {
				t.Errorf("offset %d is outside the text", e.Offset)
			}
			if len(All(e)) != 1 {
				t.Errorf("All gives %v", All(e))
			}
		})
	}
}

func TestDecodeRefusesAText(t *testing.T) {
	tests := map[string]struct {
		raw  string
		code Code
		path string
	}{
		"nothing":                   {"", NotJSON, ""},
		"null":                      {"null", NotObject, ""},
		"an array":                  {"[{}]", NotObject, ""},
		"a string":                  {`"{}"`, NotObject, ""},
		"rubbish":                   {"}", NotJSON, ""},
		"a second object":           {string(with(`"id":1`)) + "{}", TrailingData, ""},
		"a body without an end":     {`{"id":1,`, NotJSON, ""},
		"a missing object":          {`{}`, MissingField, "/action"},
		"an object that is null":    {`{"action":null}`, MissingField, "/action"},
		"an empty object":           {`{"action":{}}`, MissingField, "/action/type"},
		"a field that is null":      {`{"action":{"type":"a","title":null}}`, MissingField, "/action/title"},
		"a field that is empty":     {`{"action":{"type":"a","title":""}}`, InvalidValue, "/action/title"},
		"a type in capitals":        {`{"action":{"type":"Spend","title":"t"}}`, InvalidValue, "/action/type"},
		"a title too long":          {`{"action":{"type":"a","title":"12345678901"}}`, InvalidValue, "/action/title"},
		"a title with a control":    {`{"action":{"type":"a","title":"a\u0007"}}`, InvalidValue, "/action/title"},
		"too many labels":           {`{"action":{"type":"a","title":"t","labels":["a","b","c","d"]}}`, InvalidValue, "/action/labels"},
		"a label too long":          {`{"action":{"type":"a","title":"t","labels":["a","123456"]}}`, InvalidValue, "/action/labels/1"},
		"an empty label":            {`{"action":{"type":"a","title":"t","labels":["a",""]}}`, InvalidValue, "/action/labels/1"},
		"a fault in a list":         {`{"action":{"type":"a","title":"t"},"many":[{"type":"a","title":"t"},{"type":"a"}]}`, MissingField, "/many/1/title"},
		"a status beside the title": {`{"action":{"type":"a","title":"t","status":"approved"}}`, UnknownKey, "/action/status"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wantFault(t, plainDecoder.Decode([]byte(tt.raw), new(call)), tt.code, tt.path)
		})
	}
}

func TestDecodeReportsEveryFaultOfValidation(t *testing.T) {
	err := plainDecoder.Decode([]byte(`{"action":{"type":"A","labels":["123456"]},"kind":"x","limit":500}`), new(call))
	var got []string
	for _, e := range All(err) {
		got = append(got, fmt.Sprint(e.Code, " ", e.Path))
		wantPlain(t, e)
	}
	want := []string{"invalid_value /limit", "invalid_value /action/type", "missing_field /action/title", "invalid_value /action/labels/0", "invalid_value /kind"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	many := `{"action":{"type":"a","title":"t"},"many":[` + strings.Repeat(`{"type":"A","title":"t"},`, 500) + `{"type":"A","title":"t"}]}`
	if n := len(All(plainDecoder.Decode([]byte(many), new(call)))); n != maxFaults {
		t.Errorf("%d faults, want at most %d", n, maxFaults)
	}
}

func TestAnErrorOfATypeThatReadsItselfIsReachable(t *testing.T) {
	for _, literal := range []string{`"49"`, `49.5`, `1e400`, `true`, `[]`, `9223372036854775808`} {
		err := plainDecoder.Decode([]byte(`{"action":{"type":"a","title":"t","amount_cents":`+literal+`}}`), new(call))
		wantFault(t, err, InvalidValue, "/action/amount_cents")
		var own *centsError
		if !errors.As(err, &own) || own.Literal != literal {
			t.Errorf("%s: the type's own error is not reached: %v", literal, err)
		}
	}
}

func TestAnErrorOfTheTextRuleIsReachable(t *testing.T) {
	rude := errors.New("the text is rude; be polite")
	d := New(Options{Text: func(s string) error {
		if s == "rude" {
			return rude
		}
		return nil
	}})
	err := d.Decode([]byte(`{"action":{"type":"a","title":"rude"}}`), new(call))
	e := wantFault(t, err, InvalidValue, "/action/title")
	if !errors.Is(err, rude) || !strings.Contains(e.Message, "be polite") {
		t.Errorf("the rule's own error is lost: %v", err)
	}
}

func TestDecodeDemandsAPointerToAStruct(t *testing.T) {
	for _, into := range []any{nil, call{}, (*call)(nil), new(int), new(map[string]any)} {
		if err := plainDecoder.Decode([]byte(`{}`), into); err == nil || All(err) != nil {
			t.Errorf("%T: %v, want an error about the program, not about the text", into, err)
		}
	}
}

func TestAnUnknownKeyIsToldWhichKeysThereAre(t *testing.T) {
	e := wantFault(t, plainDecoder.Decode([]byte(`{"action":{"Title":"t"}}`), new(call)), UnknownKey, "/action/Title")
	if !strings.Contains(e.Message, "write title") {
		t.Errorf("no hint at the case: %s", e.Message)
	}
	e = wantFault(t, plainDecoder.Decode([]byte(`{"action":{"name":"t"}}`), new(call)), UnknownKey, "/action/name")
	if !strings.Contains(e.Message, "type, title, amount_cents, labels, data") {
		t.Errorf("no list of keys: %s", e.Message)
	}
}

func TestValidateReportsJSONNames(t *testing.T) {
	type generic[T any] struct {
		Value T `json:"value" validate:"required"`
	}
	err := plainDecoder.Validate(&generic[time.Time]{})
	e := wantFault(t, err, MissingField, "/value")
	if e.Offset != -1 {
		t.Errorf("offset %d of no text", e.Offset)
	}
	type keyed struct {
		M map[string]string `json:"m" validate:"dive,max=1"`
	}
	wantFault(t, plainDecoder.Validate(keyed{M: map[string]string{"a.b[c]/d": "xx"}}), InvalidValue, "/m/a.b[c]~1d")
	if err := plainDecoder.Validate(keyed{}); err != nil {
		t.Error(err)
	}
}

func TestADecoderIsSafeForConcurrentUse(t *testing.T) {
	d := New(Options{})
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for range 200 {
				var c call
				if err := d.Decode(with(`"id":"41"`), &c); err != nil || c.ID != 41 {
					t.Fatal(err, c)
				}
				if err := d.Decode(with(`"id":4.1`), &c); err == nil {
					t.Fatal("accepted a fraction")
				}
			}
		})
	}
}

func TestWords(t *testing.T) {
	for s, want := range map[string]bool{"a": true, "spend": true, "a_1": true, strings.Repeat("a", 40): true,
		"": false, "1a": false, "_a": false, "A": false, "é": false, "a b": false, "a-b": false, strings.Repeat("a", 41): false, "a\n": false} {
		if IsWord(s) != want {
			t.Errorf("IsWord(%q) is %v", s, !want)
		}
	}
}

func TestCodesAreCompleteAndDistinct(t *testing.T) {
	seen := map[Code]bool{}
	for _, c := range Codes() {
		if seen[c] || !IsWord(string(c)) {
			t.Errorf("%q is listed twice or is no word", c)
		}
		seen[c] = true
	}
	if len(seen) != 15 {
		t.Errorf("%d codes", len(seen))
	}
}
