package mcpadapter

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func call(arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"operator_record_action_intent","arguments":` + arguments + `}}`
}

func title(quoted string) string {
	return `{"action":{"type":"note","title":` + quoted + `}}`
}

// untouched serves the schedule and demands afterwards that nothing was called.
func untouched(t *testing.T, opts *Options) *house {
	t.Helper()
	s, agent, person, worker := openSchedule(t)
	f := &faked{schedule: s}
	t.Cleanup(func() {
		if n := f.calls.Load(); n != 0 {
			t.Errorf("%d calls reached the schedule, which none may", n)
		}
	})
	return &house{t: t, schedule: f, url: serve(t, f, opts), agent: agent, person: person, worker: worker}
}

func TestRottenArgumentsAreRefusedAsTheResultOfTheirCall(t *testing.T) {
	h := untouched(t, nil)
	deep := func(n int) string {
		return `{"action":` + strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) + `}`
	}
	for _, c := range []struct{ name, arguments, reason string }{
		{"a repeated key", `{"action":1,"action":2}`, "repeated_key"},
		{"a repeated key deep inside", `{"action":{"data":[{"x":{"y":1,"y":1}}]}}`, "repeated_key"},
		{"a repeated key in two spellings", `{"action":{"type":"note","\u0074ype":"spend"}}`, "repeated_key"},
		{"too deep", deep(64), "too_deep"},
		{"ten thousand deep", deep(10_000), "too_deep"},
		{"a hundred thousand deep", deep(100_000), "too_deep"},
		{"arrays ten thousand deep", `{"action":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, "too_deep"},
		{"a NUL escape", title(`"a\u0000b"`), "bad_text"},
		{"a NUL escape in a key", `{"a\u0000":1}`, "bad_text"},
		{"a raw NUL", title("\"a\x00b\""), "bad_text"},
		{"a lone high surrogate", title(`"a\ud800b"`), "bad_text"},
		{"a lone low surrogate", title(`"\udc00"`), "bad_text"},
		{"invalid UTF-8", title("\"a\xffb\""), "bad_text"},
		{"an overlong encoding", title("\"a\xc0\xafb\""), "bad_text"},
		{"a surrogate in UTF-8", title("\"\xed\xa0\x80\""), "bad_text"},
		{"a raw line feed in a string", title("\"a\nb\""), "not_json"},
		{"a value that is missing", `{"action":}`, "not_json"},
		{"a comma at the end", `{"action":1,}`, "not_json"},
		{"a comment", `{"action":1/**/}`, "not_json"},
		{"NaN", `{"action":NaN}`, "not_json"},
		{"a number with a leading zero", `{"action":01}`, "not_json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, accept := range []string{"application/json", "application/json, text/event-stream"} {
				a := h.post(call(c.arguments), header("Accept", accept))
				if e := a.refused(t, "7", c.reason); e.Verdict != "deny" || e.Action != "operator_record_action_intent" {
					t.Errorf("%s", a.body)
				}
			}
		})
	}
}

func TestRepeatedMembersOfTheRequestAreNeverChosenBetween(t *testing.T) {
	h := untouched(t, nil)
	const args = `{"name":"operator_state","arguments":{}}`
	t.Run("arguments twice", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"operator_state","arguments":{},"arguments":{}}}`).refused(t, "7", "repeated_key")
	})
	t.Run("arguments twice in two spellings", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"operator_state","arguments":{},"\u0061rguments":{}}}`).refused(t, "7", "repeated_key")
	})
	t.Run("the name twice", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"operator_state","name":"x"}}`).refused(t, "7", "repeated_key")
	})
	t.Run("_meta twice", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"operator_state","_meta":{},"_meta":{}}}`).refused(t, "7", "repeated_key")
	})
	t.Run("params twice", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":`+args+`,"params":`+args+`}`).refused(t, "7", "repeated_key")
	})
	t.Run("the method twice", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","method":"tools/list","params":`+args+`}`).failed(t, 400, -32600, "7", "repeated_key")
	})
	t.Run("the id twice", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/call","params":`+args+`}`).failed(t, 400, -32600, "null", "repeated_key")
	})
	t.Run("the version twice", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"tools/call","params":`+args+`}`).failed(t, 400, -32600, "7", "repeated_key")
	})
	t.Run("the params of a listing twice", func(t *testing.T) {
		h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{},"params":{}}`).failed(t, 400, -32600, "7", "repeated_key")
	})
}

func TestABodyThatIsNotOneRequestIsAnErrorOfHTTP(t *testing.T) {
	h := untouched(t, nil)
	for _, c := range []struct {
		name, body string
		code       int
		id, reason string
	}{
		{"an array of two calls", `[` + record + `,` + record + `]`, -32600, "null", "batch_not_supported"},
		{"an array of one call", ` [` + record + `]`, -32600, "null", "batch_not_supported"},
		{"an empty array", `[]`, -32600, "null", "batch_not_supported"},
		{"an array without end", `[` + record, -32600, "null", "batch_not_supported"},
		{"nothing", ``, -32700, "null", "not_json"},
		{"white space", " \n", -32700, "null", "not_json"},
		{"a string", `"tools/call"`, -32600, "null", "not_an_object"},
		{"a number", `7`, -32600, "null", "not_an_object"},
		{"null", `null`, -32600, "null", "not_an_object"},
		{"half a request", record[:60], -32700, "null", "not_json"},
		{"a request and a half", record + record[:10], -32700, "null", ""},
		{"two requests in a row", record + record, -32700, "null", ""},
		{"a byte order mark", "\ufeff" + record, -32700, "null", "not_json"},
		{"a form", `action=approve`, -32700, "null", "not_json"},
		{"another version", strings.Replace(record, "2.0", "1.0", 1), -32600, "1", "invalid_value"},
		{"no version", strings.Replace(record, `"jsonrpc":"2.0",`, ``, 1), -32600, "1", "invalid_value"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, -32600, "1", "missing_field"},
		{"a method that is no string", `{"jsonrpc":"2.0","id":1,"method":["tools/call"]}`, -32600, "1", "missing_field"},
		{"a response to nothing", `{"jsonrpc":"2.0","id":1,"result":{}}`, -32600, "1", "missing_field"},
		{"an id in capitals", strings.Replace(record, `"id"`, `"ID"`, 1), -32600, "null", "unknown_key"},
		{"a method in capitals", strings.Replace(record, `"method"`, `"Method"`, 1), -32600, "1", "unknown_key"},
		{"params in two cases", strings.Replace(record, `"params"`, `"Params":{},"params"`, 1), -32600, "1", "unknown_key"},
		{"a rotten listing", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"x\":\"\xff\"}}", -32600, "1", "bad_text"},
		{"a broken listing", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":}}`, -32700, "1", "not_json"},
		{"a rotten id", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"tools/call\",\"params\":{}}", -32600, "null", "bad_text"},
		{"a rotten notification", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"x\":\"\xff\"}}", -32600, "null", "bad_text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := h.post(c.body)
			if c.reason == "" {
				// What follows a whole request is one of two faults, by where it begins.
				c.reason = readEnvelope(t, a.rpc(t).Error.Data).Reason
			}
			a.failed(t, http.StatusBadRequest, c.code, c.id, c.reason)
		})
	}
}

func TestACallWhoseParamsAreWrongIsRefusedAsItsResult(t *testing.T) {
	h := untouched(t, nil)
	for _, c := range []struct{ name, params, reason string }{
		{"no params", ``, "missing_field"},
		{"params of null", `,"params":null`, "missing_field"},
		{"params in an array", `,"params":["operator_state"]`, "wrong_type"},
		{"no name", `,"params":{"arguments":{}}`, "missing_field"},
		{"a name that is no string", `,"params":{"name":7}`, "missing_field"},
		{"a name of null", `,"params":{"name":null}`, "missing_field"},
		{"a name in capitals", `,"params":{"Name":"operator_state"}`, "unknown_key"},
		{"arguments in capitals", `,"params":{"name":"operator_state","Arguments":{}}`, "unknown_key"},
		{"_meta that is no object", `,"params":{"name":"operator_state","_meta":[]}`, "wrong_type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call"`+c.params+`}`).refused(t, "7", c.reason)
		})
	}
}

func TestABodyBeyondTheLimitIsRefusedBeforeItIsRead(t *testing.T) {
	h := untouched(t, nil)
	h.post(call(title(`"`+strings.Repeat("x", 1<<20)+`"`))).failed(t, http.StatusRequestEntityTooLarge, -32600, "null", "too_large")
	t.Run("also without a length", func(t *testing.T) {
		endless := io.MultiReader(strings.NewReader(`{"a":"`), neverending('x'))
		send(t, h.url, h.agent, endless).failed(t, http.StatusRequestEntityTooLarge, -32600, "null", "too_large")
	})
	t.Run("at once where its length says so", func(t *testing.T) {
		a := send(t, h.url, h.agent, neverendingAfter(strings.NewReader(record)), func(r *http.Request) { r.ContentLength = 2 << 20 })
		a.failed(t, http.StatusRequestEntityTooLarge, -32600, "null", "too_large")
	})
	t.Run("below the default, where a lower one is set", func(t *testing.T) {
		small := untouched(t, &Options{MaxBody: 100})
		small.post(record).failed(t, http.StatusRequestEntityTooLarge, -32600, "null", "too_large")
	})
}

func TestABodyOfExactlyTheLimitIsRead(t *testing.T) {
	h := newHouse(t, &Options{MaxBody: int64(len(record))})
	h.post(record).called(t)
}

type neverending byte

func (n neverending) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(n)
	}
	return len(p), nil
}

func TestABodyWithoutEndIsGivenUpInTime(t *testing.T) {
	h := untouched(t, &Options{BodyTimeout: 50 * time.Millisecond})
	for name, feed := range map[string]func(*io.PipeWriter){
		"that says nothing": func(w *io.PipeWriter) { <-t.Context().Done() },
		"that stops halfway": func(w *io.PipeWriter) {
			_, _ = io.WriteString(w, record[:40])
			<-t.Context().Done()
		},
		"that trickles": func(w *io.PipeWriter) {
			for range 500 {
				if _, err := io.WriteString(w, " "); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			defer w.Close()
			go feed(w)
			a := send(t, h.url, h.agent, r)
			a.failed(t, http.StatusRequestTimeout, -32600, "null", "too_slow")
		})
	}
}

func TestTheServerGoesOnAfterABodyWithoutEnd(t *testing.T) {
	h := newHouse(t, &Options{BodyTimeout: 30 * time.Millisecond})
	r, w := io.Pipe()
	defer w.Close()
	send(t, h.url, h.agent, r).failed(t, http.StatusRequestTimeout, -32600, "null", "too_slow")
	for range 3 {
		h.post(record).called(t)
		time.Sleep(40 * time.Millisecond) // longer than the timeout, on a kept connection
	}
}

func TestOnlyUncompressedJSONInUTF8IsRead(t *testing.T) {
	h := untouched(t, nil)
	for _, c := range []change{
		header("Content-Type"),
		header("Content-Type", "text/plain"),
		header("Content-Type", "application/x-www-form-urlencoded"),
		header("Content-Type", "multipart/form-data; boundary=x"),
		header("Content-Type", "application/json; charset=utf-16"),
		header("Content-Type", "application/jsonrpc"),
		header("Content-Type", "application/json, text/plain"),
		header("Content-Encoding", "gzip"),
	} {
		h.post(record, c).barred(t, http.StatusUnsupportedMediaType, "unsupported_media_type")
	}
}

func TestJSONInUTF8ByAnotherSpellingIsRead(t *testing.T) {
	h := newHouse(t, nil)
	for _, c := range []string{"application/json; charset=utf-8", "Application/JSON;charset=UTF-8", "application/json;"} {
		h.post(record, header("Content-Type", c)).called(t)
	}
}

func TestNothingInTheRequestCanNameSomebodyElse(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	f := &faked{schedule: s}
	url := serve(t, f, nil)
	send(t, url, agent, strings.NewReader(record)).called(t)
	want := *f.last.Load()
	meta := `"_meta":{"principal":"human:ana","actor":"human:ana","user":{"id":1},"io.modelcontextprotocol/clientInfo":{"name":"human:ana","version":"1"},"progressToken":1},"name":"operator_record_action_intent"`
	body := strings.Replace(record, `"name":"operator_record_action_intent"`, meta, 1)
	send(t, url, agent, strings.NewReader(body),
		header("X-User", "human:ana"), header("X-Forwarded-User", "human:ana"), header("X-Principal", "human:ana"),
		header("Mcp-Session-Id", "human:ana"), header("Cookie", "session=human"), header("Last-Event-ID", "x_1"),
		header("Forwarded", "for=127.0.0.1"), header("X-Real-Ip", "127.0.0.1"), header("From", "ana@example.org")).called(t)
	if got := *f.last.Load(); got != want {
		t.Errorf("the schedule got %+v, want %+v", got, want)
	}
}

func TestTheSDKNeverSeesTheCredentialNorTheArguments(t *testing.T) {
	m, fail := parse([]byte(record))
	if fail != nil {
		t.Fatal(fail)
	}
	in := &inbound{}
	if in.tool, in.arguments, fail = m.callOf(); fail != nil {
		t.Fatal(fail)
	}
	params, fail := m.sdkParams(in, "2025-11-25")
	if fail != nil {
		t.Fatal(fail)
	}
	const want = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"operator_record_action_intent"}}`
	if got := string(sdkBody(m.id, m.method, params)); got != want {
		t.Errorf("the SDK gets %s, want %s", got, want)
	}
}

func TestManyRequestsOnOneConnectionAnswerEach(t *testing.T) {
	h := newHouse(t, nil)
	for i := range 50 {
		a := h.post(strings.Replace(record, `"id":1`, fmt.Sprintf(`"id":%d`, i), 1))
		if got := string(a.rpc(t).ID); got != fmt.Sprint(i) {
			t.Fatalf("request %d was answered as %s", i, got)
		}
	}
}

// neverendingAfter sends some text and then never ends.
func neverendingAfter(r io.Reader) io.Reader {
	pr, _ := io.Pipe()
	return io.MultiReader(r, pr)
}

func TestARefusedConnectionIsLetGoThoughItsBodyNeverEnds(t *testing.T) {
	h := untouched(t, &Options{BodyTimeout: time.Minute})
	address := strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp")
	for name, headers := range map[string]string{
		"a stranger's":      "Content-Type: application/json\r\nAuthorization: Bearer nonsense\r\n",
		"of a foreign page": "Content-Type: application/json\r\nOrigin: https://evil.example\r\n",
		"of another type":   "Content-Type: text/plain\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"+headers+"\r\n1\r\n{\r\n"); err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(conn)
			if err != nil {
				t.Fatalf("the connection is still open: %v", err)
			}
			if !strings.HasPrefix(string(raw), "HTTP/1.1 4") {
				t.Errorf("%s", raw)
			}
		})
	}
}
