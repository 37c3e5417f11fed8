package strict

import (
	"github.com/go-json-experiment/json/jsontext"
)

// Member is one top-level member of an object.
type Member struct {
	Name   string // as it decodes
	Value  []byte // the value as it stands in the text, without white space around it; it shares the text's memory
	Offset int    // where Value begins, in bytes from the start of the text
}

// usualMembers is room for the ordinary request without growing the slice.
const usualMembers = 8

// Members cuts the one object in raw into its top-level members, in the order
// in which they stand. It counts brackets and respects strings, and looks at
// nothing else inside a value: a value may be too deep, hold bad UTF-8 or not be
// JSON at all, and its neighbours are still found. Judge each value with [Check]
// before it is used.
//
// The time is linear in len(raw) and there is no recursion.
//
// A fault is a [*Error] with one of the codes not_json, not_object,
// trailing_data and repeated_key. The members found up to there are returned
// with it, and with repeated_key all of them, every occurrence of a key
// included, so that a caller can still tell whom to answer.
func Members(raw []byte) ([]Member, error) {
	s := splitter{raw: raw}
	if err := s.open(); err != nil {
		return nil, err
	}
	s.found = make([]Member, 0, usualMembers)
	if err := s.members(); err != nil {
		return s.found, err
	}
	if s.space(); s.at < len(raw) {
		return s.found, fault(TrailingData, "", s.at, "There is something after the object; send exactly one object.")
	}
	if err := repeated(s.found); err != nil {
		return s.found, err
	}
	return s.found, nil
}

// Find returns the only member of that name, or false where there is none or
// more than one: of two that disagree neither may be believed.
func Find(members []Member, name string) (Member, bool) {
	var found Member
	count := 0
	for _, m := range members {
		if m.Name == name {
			found = m
			count++
		}
	}
	return found, count == 1
}

type splitter struct {
	raw   []byte
	at    int
	found []Member
}

func (s *splitter) space() {
	for s.at < len(s.raw) && isSpace(s.raw[s.at]) {
		s.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// peek skips white space and returns the next byte, or 0 at the end.
func (s *splitter) peek() byte {
	if s.space(); s.at < len(s.raw) {
		return s.raw[s.at]
	}
	return 0
}

func (s *splitter) open() *Error {
	if err := mustBeObject(s.raw); err != nil {
		return err
	}
	s.peek()
	s.at++
	return nil
}

// mustBeObject judges the first character alone, which tells the type of a JSON
// value.
func mustBeObject(raw []byte) *Error {
	s := splitter{raw: raw}
	switch c := s.peek(); {
	case c == '{':
		return nil
	case c == '[' || c == '"' || c == '-' || c == 't' || c == 'f' || c == 'n' || '0' <= c && c <= '9':
		return fault(NotObject, "", s.at, "A JSON object was expected; send {…}.")
	case s.at == len(raw):
		return fault(NotJSON, "", s.at, "The text is empty; send a JSON object.")
	default:
		return s.broken("The text is not JSON")
	}
}

func (s *splitter) broken(what string) *Error {
	return fault(NotJSON, "", s.at, what+"; send one JSON object as RFC 8259 has it.")
}

func (s *splitter) members() *Error {
	if s.peek() == '}' {
		s.at++
		return nil
	}
	for {
		if err := s.member(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.at++
		case '}':
			s.at++
			return nil
		default:
			return s.broken("A comma or the end of the object is missing")
		}
	}
}

func (s *splitter) member() *Error {
	if s.peek() != '"' {
		return s.broken("A key in double quotes is missing")
	}
	from := s.at
	if !s.skipString() {
		return s.broken("A string has no end")
	}
	name := decodeName(s.raw[from:s.at])
	if s.peek() != ':' {
		return s.broken("A colon after a key is missing")
	}
	s.at++
	s.space()
	from = s.at
	if err := s.value(); err != nil {
		return err
	}
	s.found = append(s.found, Member{Name: name, Value: s.raw[from:s.at:s.at], Offset: from})
	return nil
}

func (s *splitter) value() *Error {
	switch c := s.peek(); c {
	case '"':
		if !s.skipString() {
			return s.broken("A string has no end")
		}
	case '{', '[':
		if !s.skipBrackets() {
			return s.broken("An array or object has no end")
		}
	default:
		if !s.skipLiteral() {
			return s.broken("A value is missing")
		}
	}
	return nil
}

// skipString moves behind the string that opens here, and says whether it ends.
func (s *splitter) skipString() bool {
	for i := s.at + 1; i < len(s.raw); i++ {
		switch s.raw[i] {
		case '\\':
			i++
		case '"':
			s.at = i + 1
			return true
		}
	}
	s.at = len(s.raw)
	return false
}

// skipBrackets moves behind the array or object that opens here. Only the count
// of brackets is kept: which of them match is for [Check] to say.
func (s *splitter) skipBrackets() bool {
	depth := 0
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case '"':
			if !s.skipString() {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.at++; depth == 0 {
			return true
		}
	}
	return false
}

// skipLiteral moves behind a number, a word, or whatever stands in its place.
func (s *splitter) skipLiteral() bool {
	from := s.at
	for s.at < len(s.raw) {
		switch c := s.raw[s.at]; c {
		case ',', ':', '"', '{', '}', '[', ']':
			return s.at > from
		default:
			if isSpace(c) {
				return s.at > from
			}
		}
		s.at++
	}
	return s.at > from
}

// decodeName decodes a quoted key. The keys of JSON-RPC 2.0 and of a tool call
// are named here so that the ordinary request costs no allocation for them. A
// key that cannot be decoded keeps its raw spelling, quotes included, so that it
// is never taken for one that a caller looks for.
func decodeName(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	switch string(inner) {
	case "jsonrpc":
		return "jsonrpc"
	case "id":
		return "id"
	case "method":
		return "method"
	case "params":
		return "params"
	case "name":
		return "name"
	case "arguments":
		return "arguments"
	case "_meta":
		return "_meta"
	}
	if plain(inner) {
		return string(inner)
	}
	b, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return string(quoted)
	}
	return string(b)
}

func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// repeated finds the first key that stands twice. Few members are compared with
// each other, many by a set, so that the time stays linear.
func repeated(members []Member) *Error {
	const few = 12
	if len(members) > few {
		return repeatedInSet(members)
	}
	for i := range members {
		for j := range i {
			if members[i].Name == members[j].Name {
				return repeatedFault(members[i])
			}
		}
	}
	return nil
}

func repeatedInSet(members []Member) *Error {
	seen := make(map[string]struct{}, len(members))
	for _, m := range members {
		if _, ok := seen[m.Name]; ok {
			return repeatedFault(m)
		}
		seen[m.Name] = struct{}{}
	}
	return nil
}

func repeatedFault(m Member) *Error {
	path := string(jsontext.Pointer("").AppendToken(m.Name))
	return fault(RepeatedKey, path, m.Offset, "The key "+quote(m.Name)+" stands more than once; send it once.")
}
