package strict

import "strconv"

// child returns the member or element of value that token names.
func child(value []byte, token string) (Member, bool) {
	s := splitter{raw: value}
	if s.peek() == '[' {
		return s.element(token)
	}
	members, _ := Members(value)
	return Find(members, token)
}

// element cuts the array at its commas until the index is reached.
func (s *splitter) element(token string) (Member, bool) {
	index, err := strconv.Atoi(token)
	if err != nil {
		return Member{}, false
	}
	s.at++
	for i := 0; ; i++ {
		s.space()
		from := s.at
		if err := s.value(); err != nil {
			return Member{}, false
		}
		if i == index {
			return Member{Name: token, Value: s.raw[from:s.at:s.at], Offset: from}, true
		}
		if s.peek() != ',' {
			return Member{}, false
		}
		s.at++
	}
}
