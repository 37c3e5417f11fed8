package mcpadapter

// idFinder finds the id of a request that goes by without being kept. It counts
// brackets and respects strings, as the strict reading does, and remembers a few
// bytes: the name of the member that it is in, and the id.
type idFinder struct {
	depth    int
	inString bool
	escaped  bool // the last byte was a backslash within a string
	named    bool // within the outermost object, past a member's name and colon
	name     []byte
	id       []byte
	ids      int // members of that name
	methods  int
	ended    bool // the outermost object has
	spoilt   bool // it cannot be said any more what is an id and what is not
}

const (
	// longestName tells the names that matter here from every other one.
	longestName = len("method")
	// longestID is the longest id that is answered where the request was too long, in bytes.
	longestID = 256
)

func (f *idFinder) look(part []byte) {
	for _, c := range part {
		if f.spoilt {
			return
		}
		f.one(c)
	}
}

func (f *idFinder) one(c byte) {
	if f.inString {
		f.within(c)
		return
	}
	if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
		return
	}
	if f.depth == 0 {
		f.outside(c)
		return
	}
	if f.depth == 1 && f.named && c != ',' && c != '}' {
		f.value(c)
	}
	switch c {
	case '"':
		f.inString = true
		if f.depth == 1 && !f.named {
			f.name = f.name[:0]
		}
	case '{', '[':
		f.depth++
	case '}', ']':
		f.depth--
		f.ended = f.depth == 0
	case ',':
		if f.depth == 1 {
			f.named = false
		}
	case ':':
		if f.depth == 1 && !f.named {
			f.begin()
		}
	}
}

// outside takes what stands around the object: one may begin, and then nothing.
func (f *idFinder) outside(c byte) {
	if c != '{' || f.ended {
		f.spoilt = true
		return
	}
	f.depth = 1
}

// within takes a byte of a string, its closing quote included.
func (f *idFinder) within(c byte) {
	if f.depth == 1 && f.named {
		f.value(c)
	}
	switch {
	case f.escaped:
		f.escaped = false
	case c == '\\':
		f.escaped = true
		// A name with an escape could be any name.
		f.spoilt = f.spoilt || f.depth == 1 && !f.named
	case c == '"':
		f.inString = false
		return
	}
	if f.depth == 1 && !f.named && len(f.name) <= longestName {
		f.name = append(f.name, c)
	}
}

// begin is the colon after a member's name.
func (f *idFinder) begin() {
	f.named = true
	switch string(f.name) {
	case "id":
		f.ids++
	case "method":
		f.methods++
	}
}

// value takes a byte of a member's value.
func (f *idFinder) value(c byte) {
	if string(f.name) != "id" {
		return
	}
	if len(f.id) == longestID {
		f.spoilt = true
		return
	}
	f.id = append(f.id, c)
}

// found is the id of the one request that went by, or nil where that is not sure.
func (f *idFinder) found() []byte {
	if f.spoilt || !f.ended || f.ids != 1 || f.methods != 1 || !exactID(f.id) {
		return nil
	}
	return f.id
}
