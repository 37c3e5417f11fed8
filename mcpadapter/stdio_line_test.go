package mcpadapter

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/reeve-go/reeve/operator/powers"
)

// cutUp is every line of an input, a line that was too long as "!" and its id.
func cutUp(t *testing.T, in io.Reader, limit int) []string {
	t.Helper()
	r := newLineReader(in, limit)
	var out []string
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if l.tooLong != nil {
			out = append(out, "!"+string(l.tooLong.found()))
			continue
		}
		out = append(out, string(l.text))
	}
}

func TestTheInputIsCutAtLineFeedsWithinTheLimit(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                         {"", ""},
		"one line":                        {"abc\n", "abc"},
		"the last line needs no end":      {"abc\ndef", "abc|def"},
		"a carriage return is no content": {"abc\r\ndef\r\n", "abc|def"},
		"one in the middle is content":    {"a\rc\n", "a\rc"},
		"blank lines are lines":           {"\n\r\n \n", "|| "},
		"a line of the limit":             {"12345678\nx\n", "12345678|x"},
		"of the limit and CR LF":          {"12345678\r\nx\n", "12345678|x"},
		"of the limit and no end":         {"12345678", "12345678"},
		"a line of one more":              {"123456789\nx\n", "!|x"},
		"of one more and CR LF":           {"123456789\r\nx\n", "!|x"},
		"of one more and no end":          {"123456789", "!"},
		"a carriage return too many":      {"12345678\r\r\nx\n", "!|x"},
		"a much longer line":              {strings.Repeat("x", 300_000) + "\ny\n", "!|y"},
		"NUL and bytes that are no text":  {"a\x00b\xff\n", "a\x00b\xff"},
	} {
		t.Run(name, func(t *testing.T) {
			for way, in := range map[string]io.Reader{
				"at once":           strings.NewReader(c.in),
				"a byte at a time":  iotest.OneByteReader(strings.NewReader(c.in)),
				"with the end":      iotest.DataErrReader(strings.NewReader(c.in)),
				"by halves of what": iotest.HalfReader(strings.NewReader(c.in)),
			} {
				if got := strings.Join(cutUp(t, in, 8), "|"); got != c.want {
					t.Errorf("%s: got %q, want %q", way, got, c.want)
				}
			}
		})
	}
}

func TestAnErrorOfTheInputComesAfterWhatWasRead(t *testing.T) {
	broken := errors.New("broken")
	r := newLineReader(io.MultiReader(strings.NewReader("abc\nde"), iotest.ErrReader(broken)), 8)
	for _, want := range []string{"abc", "de"} {
		if l, err := r.next(); err != nil || string(l.text) != want {
			t.Fatalf("got %q, %v; want %q", l.text, err, want)
		}
	}
	if _, err := r.next(); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestTheIDOfALongMessageIsFoundWhereItIsSure(t *testing.T) {
	long := `"` + strings.Repeat("x", 100) + `"`
	for name, c := range map[string]struct{ in, want string }{
		"in front":                     {`{"jsonrpc":"2.0","id":7,"method":"m","params":` + long + `}`, "7"},
		"at the end":                   {`{"method":"m","params":{"a":` + long + `},"jsonrpc":"2.0","id":"q-1"}`, `"q-1"`},
		"with white space":             {"\t{ \"method\" : \"m\" , \"id\" : 12 \r, \"params\" : " + long + " } ", "12"},
		"a string with escapes":        {`{"method":"m","id":"a\"\\","params":` + long + `}`, `"a\"\\"`},
		"one within params is not it":  {`{"method":"m","params":{"id":9,"x":` + long + `}}`, ""},
		"nor one within a string":      {`{"method":"m","params":` + strings.Repeat("x", 60) + `"\"id\":5,","id":6}`, "6"},
		"nor one in an array":          {`{"method":"m","params":[{"id":9},"id",` + long + `]}`, ""},
		"a value that is called id":    {`{"method":"id","params":` + long + `}`, ""},
		"two of them":                  {`{"method":"m","id":1,"id":1,"params":` + long + `}`, ""},
		"one in an escape":             {`{"method":"m","id":1,"\u0069d":2,"params":` + long + `}`, ""},
		"null":                         {`{"method":"m","id":null,"params":` + long + `}`, ""},
		"a fraction":                   {`{"method":"m","id":1.5,"params":` + long + `}`, ""},
		"beyond a double":              {`{"method":"m","id":9007199254740993,"params":` + long + `}`, ""},
		"an object":                    {`{"method":"m","id":{"a":1},"params":` + long + `}`, ""},
		"a very long one":              {`{"method":"m","params":1,"id":"` + strings.Repeat("x", 300) + `"}`, ""},
		"without a method":             {`{"id":1,"result":` + long + `}`, ""},
		"an array of requests":         {`[{"method":"m","id":1,"params":` + long + `}]`, ""},
		"an object without an end":     {`{"method":"m","id":1,"params":` + long, ""},
		"something after the object":   {`{"method":"m","id":1,"params":` + long + `}x`, ""},
		"two objects":                  {`{"method":"m","id":1}{"method":"m","id":1,"params":` + long + `}`, ""},
		"garbage":                      {strings.Repeat("x", 100), ""},
		"brackets within a string":     {`{"method":"m","params":"}}]]{{` + strings.Repeat("x", 60) + `","id":4}`, "4"},
		"a name as long as the others": {`{"` + strings.Repeat("k", 90) + `":1,"method":"m","id":3}`, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := cutUp(t, strings.NewReader(c.in+"\nnext\n"), 50); len(got) != 2 || got[0] != "!"+c.want || got[1] != "next" {
				t.Errorf("got %q, want %q", got, "!"+c.want)
			}
		})
	}
}

// FuzzLines holds the cutting to the plainest one, and the id of what was too long
// to the strict reading of the whole.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a\n\r\nb", "123456789\n", record + "\n" + record, `{"method":"m","id":"\"","params":[{"id":1}]}`, "{\"id\":1,\"method\":\"\xff\"}\r\r\n"} {
		f.Add([]byte(s), 8)
	}
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		if limit < 1 || limit > 1<<10 {
			return
		}
		got := cutUp(t, iotest.HalfReader(bytes.NewReader(in)), limit)
		whole := bytes.Split(in, []byte("\n"))
		if len(whole[len(whole)-1]) == 0 {
			whole = whole[:len(whole)-1]
		}
		if len(got) != len(whole) {
			t.Fatalf("%d lines, want %d", len(got), len(whole))
		}
		for i, text := range whole {
			text = bytes.TrimSuffix(text, []byte("\r"))
			if len(text) <= limit {
				if got[i] != string(text) {
					t.Fatalf("line %d is %q, want %q", i, got[i], text)
				}
				continue
			}
			if got[i] == "" || got[i][0] != '!' {
				t.Fatalf("line %d was kept", i)
			}
			sameSender(t, got[i][1:], text)
		}
	})
}

// sameSender demands that an id was found if and only if the strict reading of the
// whole request has it. Nothing is demanded of what that cannot read, and less of
// names with escapes.
func sameSender(t *testing.T, found string, raw []byte) {
	t.Helper()
	members, err := powers.Members(raw)
	if err != nil || powers.CheckJSON(raw) != nil {
		return
	}
	id, ok := only(members, "id")
	_, asks := only(members, "method")
	want := ""
	if ok && asks && exactID(id) && len(id) <= longestID {
		want = string(id)
	}
	if found != want && (found != "" || !bytes.Contains(raw, []byte(`\`))) {
		t.Fatalf("found %q in %q, want %q", found, raw, want)
	}
}
