package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// farSide is a server as the bridge meets it.
type farSide func(*http.Request) (*http.Response, error)

func (f farSide) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const someToken = "rv_agent_0000000000000000000000000000000000000000000"

func bridgeTo(t testing.TB, far http.RoundTripper, opts *BridgeOptions) *Bridge {
	t.Helper()
	b, err := NewLocalBridge(nil, someToken, opts)
	if err != nil {
		t.Fatal(err)
	}
	b.transport = far
	return b
}

func response(status int, contentType, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(strings.NewReader(body))}
}

// echo answers every request with an empty result, under its own id.
func echo(r *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var m struct{ ID json.RawMessage }
	if json.Unmarshal(raw, &m) != nil || m.ID == nil {
		return response(http.StatusAccepted, "", ""), nil
	}
	return response(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`), nil
}

// never answers nothing until the request is given up.
func never(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// whole runs a bridge on an input that ends, and gives the lines that it wrote.
func whole(t testing.TB, b *Bridge, input string) []string {
	t.Helper()
	var out strings.Builder
	if err := b.Run(context.Background(), strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	return linesOf(t, out.String())
}

// linesOf demands that every line is a message of its own.
func linesOf(t testing.TB, out string) []string {
	t.Helper()
	if out == "" {
		return nil
	}
	if !strings.HasSuffix(out, "\n") {
		t.Fatalf("the last line has no end: %q", out)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for _, l := range lines {
		var m struct{ JSONRPC string }
		if err := json.Unmarshal([]byte(l), &m); err != nil || m.JSONRPC != "2.0" {
			t.Fatalf("%q is no message: %v", l, err)
		}
	}
	return lines
}

func said(line string) answer { return answer{status: http.StatusOK, body: []byte(line)} }

func ping(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id) + "\n" }

func recordAs(id int) string {
	return strings.Replace(record, `"id":1`, fmt.Sprintf(`"id":%d`, id), 1) + "\n"
}

// hosted is a bridge that runs while its test talks to it.
type hosted struct {
	in    *io.PipeWriter
	out   chan string // closed when the bridge has ended
	ended chan error
}

func hostOf(ctx context.Context, b *Bridge) *hosted {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h := &hosted{in: inW, out: make(chan string, 100), ended: make(chan error, 1)}
	go func() {
		err := b.Run(ctx, inR, outW)
		outW.Close()
		inR.Close()
		h.ended <- err
	}()
	go func() {
		defer close(h.out)
		for r := newLineReader(outR, 1<<20); ; {
			l, err := r.next()
			if err != nil {
				return
			}
			h.out <- string(l.text)
		}
	}()
	return h
}

func (h *hosted) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(h.in, text); err != nil {
		t.Fatal(err)
	}
}

func (h *hosted) ids() (out []string) {
	for l := range h.out {
		var m rpc
		_ = json.Unmarshal([]byte(l), &m) // an empty id is in no list of wanted ones
		out = append(out, string(m.ID))
	}
	return out
}

func TestWhatComesInsteadOfAMessageNeverEndsTheStream(t *testing.T) {
	for way, far := range map[string]farSide{"a server that answers": refuseGarbage, "no server": down} {
		t.Run(way, func(t *testing.T) {
			for name, c := range map[string]struct {
				line string
				code int
				id   string
			}{
				"garbage":                     {"hello?", -32700, "null"},
				"half a message":              {record[:70], -32700, "null"},
				"two messages":                {record + record, -32700, "null"},
				"NUL":                         {"\x00", -32700, "null"},
				"a NUL in a message":          {`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"a":"` + "\x00" + `"}}`, -32700, "4"},
				"a NUL in an escape":          {`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"a":"\u0000"}}`, -32600, "4"},
				"bytes that are no text":      {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}", -32600, "4"},
				"an array":                    {"[" + record + "," + record + "]", -32600, "null"},
				"an empty array":              {"[]", -32600, "null"},
				"a number":                    {"7", -32600, "null"},
				"objects ten thousand deep":   {`{"jsonrpc":"2.0","id":4,"method":"ping","params":` + strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000) + `}`, -32700, "4"},
				"a hundred deep":              {`{"jsonrpc":"2.0","id":4,"method":"ping","params":` + strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100) + `}`, -32600, "4"},
				"arrays ten thousand deep":    {strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), -32600, "null"},
				"brackets without end":        {strings.Repeat("[", 10_000), -32600, "null"},
				"an id that is an object":     {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, "null"},
				"an id beyond a double":       {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, -32600, "9007199254740993"},
				"a byte order mark":           {"\ufeff" + record, -32700, "null"},
				"a message that is too long":  {strings.Replace(record, "Annual", strings.Repeat("x", 1<<20), 1), -32600, "1"},
				"garbage that is too long":    {strings.Repeat("x", 1<<20+1), -32600, "null"},
				"a header of another carrier": {"Content-Length: 52\r", -32700, "null"},
			} {
				t.Run(name, func(t *testing.T) {
					got := map[string]rpc{}
					for _, l := range whole(t, bridgeTo(t, far, nil), c.line+"\n\r\n"+ping(77)) {
						got[string(said(l).rpc(t).ID)] = said(l).rpc(t)
					}
					if got[c.id].Error == nil || got[c.id].Error.Code != c.code || len(got[c.id].Error.Data) == 0 {
						t.Errorf("got %v, want code %d for %s", got, c.code, c.id)
					}
					if _, ok := got["77"]; !ok || len(got) != 2 {
						t.Errorf("the next message was not answered, or too much was: %v", got)
					}
				})
			}
		})
	}
}

// refuseGarbage answers as a server that is not reeve's, to show who says what is
// garbage when nobody else does.
func refuseGarbage(r *http.Request) (*http.Response, error) {
	raw, _ := io.ReadAll(r.Body)
	if _, f := parse(raw); f != nil {
		return response(http.StatusBadGateway, "text/html", "<html>"), nil
	}
	r.Body = io.NopCloser(strings.NewReader(string(raw)))
	return echo(r)
}

func down(*http.Request) (*http.Response, error) { return nil, errors.New("no route to host") }

func TestACallThatCouldNotBeReadIsRefusedAsItsResultWithoutAServer(t *testing.T) {
	for _, params := range []string{`{"name":"operator_state","arguments":{},"arguments":{}}`, `{"name":7}`} {
		got := whole(t, bridgeTo(t, farSide(down), nil), `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":`+params+"}\n")
		if len(got) != 1 {
			t.Fatal(got)
		}
		c := said(got[0]).called(t)
		if e := readEnvelope(t, c.Structured); e.Verdict != "deny" || !c.IsError {
			t.Errorf("%s", got[0])
		}
	}
}

func TestALineOf64MiBCostsAFewBuffers(t *testing.T) {
	const size = 64 << 20
	piece := strings.Repeat("x", 1<<16)
	var parts []io.Reader
	parts = append(parts, strings.NewReader(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"`))
	for range size / len(piece) {
		parts = append(parts, strings.NewReader(piece))
	}
	parts = append(parts, strings.NewReader(`"},"id":"late"}`+"\n"+ping(2)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out strings.Builder
	if err := bridgeTo(t, farSide(echo), nil).Run(t.Context(), io.MultiReader(parts...), &out); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 12<<20 {
		t.Errorf("it took %d bytes", cost)
	}
	lines := linesOf(t, out.String())
	if len(lines) != 2 {
		t.Fatal(lines)
	}
	said(lines[0]).failedAs(t, -32600, `"late"`, "too_large")
	if r := said(lines[1]).rpc(t); string(r.ID) != "2" || r.Result == nil {
		t.Errorf("the next line: %s", lines[1])
	}
}

// failedAs demands a JSON-RPC error that holds the envelope.
func (a answer) failedAs(t *testing.T, code int, id, reason string) envelope {
	t.Helper()
	return a.failed(t, http.StatusOK, code, id, reason)
}

func TestNotificationsAreSentOnAndAnsweredByNothing(t *testing.T) {
	var got sync.Map
	far := farSide(func(r *http.Request) (*http.Response, error) {
		raw, _ := io.ReadAll(r.Body)
		got.Store(string(raw), true)
		return response(http.StatusUnauthorized, "application/json", `{"ok":false,"verdict":"deny","reason":"unauthenticated"}`), nil
	})
	notes := []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":2}}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"operator_state"}}`,
	}
	if out := whole(t, bridgeTo(t, far, nil), strings.Join(notes, "\n")); out != nil {
		t.Errorf("answered %q", out)
	}
	for _, n := range notes {
		if _, ok := got.Load(n); !ok {
			t.Errorf("%s was not sent on", n)
		}
	}
	response := `{"jsonrpc":"2.0","id":3,"result":{}}`
	if out := whole(t, bridgeTo(t, far, nil), response); out != nil {
		t.Errorf("a response was answered: %q", out)
	}
	if _, ok := got.Load(response); ok {
		t.Error("a response was sent on")
	}
}

func TestARequestThatIsTakenBackIsGivenUpAndNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Int64
		far := farSide(func(r *http.Request) (*http.Response, error) {
			raw, _ := io.ReadAll(r.Body)
			if strings.Contains(string(raw), "ping") {
				r.Body = io.NopCloser(strings.NewReader(string(raw)))
				return echo(r)
			}
			<-r.Context().Done()
			gone.Add(1)
			return nil, r.Context().Err()
		})
		h := hostOf(t.Context(), bridgeTo(t, far, nil))
		h.say(t, recordAs(1)+strings.Replace(recordAs(1), `"id":1`, `"id":"1"`, 1))
		synctest.Wait()
		h.say(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"\u0031","reason":"no"}}`+"\n")
		synctest.Wait()
		if gone.Load() != 1 {
			t.Errorf("%d requests were given up, want the one of id \"1\"", gone.Load())
		}
		h.say(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`+"\n"+ping(5))
		h.in.Close()
		if got := fmt.Sprint(h.ids()); got != "[5]" || gone.Load() != 2 {
			t.Errorf("answered %s, gave up %d", got, gone.Load())
		}
		if err := <-h.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAtMostSixteenMessagesAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		release := make(chan struct{})
		far := farSide(func(r *http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), now.Add(1)))
			<-release
			now.Add(-1)
			return echo(r)
		})
		h := hostOf(t.Context(), bridgeTo(t, far, nil))
		go func() {
			for i := range 40 {
				_, _ = io.WriteString(h.in, ping(i+1))
			}
			h.in.Close()
		}()
		synctest.Wait()
		if now.Load() != 16 {
			t.Errorf("%d are under way", now.Load())
		}
		close(release)
		if got := h.ids(); len(got) != 40 || most.Load() != 16 {
			t.Errorf("%d answers, %d at once", len(got), most.Load())
		}
	})
}

func TestTheEndOfTheInputWaitsForWhatIsUnderWay(t *testing.T) {
	for how, end := range map[string]func(h *hosted, stop context.CancelFunc){
		"the input ends":   func(h *hosted, _ context.CancelFunc) { h.in.Close() },
		"the context does": func(_ *hosted, stop context.CancelFunc) { stop() },
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				release := make(chan struct{})
				h := hostOf(ctx, bridgeTo(t, farSide(func(r *http.Request) (*http.Response, error) {
					<-release
					return echo(r)
				}), nil))
				for i := range 8 {
					h.say(t, recordAs(i+1))
				}
				synctest.Wait()
				end(h, stop)
				synctest.Wait()
				time.Sleep(29 * time.Second) // of the bubble's clock
				close(release)
				if got := h.ids(); len(got) != 8 {
					t.Errorf("answered %v", got)
				}
				if err := <-h.ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWhatOutlastsTheGraceIsCutOffAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hostOf(t.Context(), bridgeTo(t, farSide(never), &BridgeOptions{Grace: 5 * time.Second}))
		begun := time.Now()
		h.say(t, recordAs(1)+ping(2))
		h.in.Close()
		for l := range h.out {
			a := said(l)
			if string(a.rpc(t).ID) == "1" {
				a.refused(t, "1", "unavailable")
			} else {
				a.failedAs(t, -32603, "2", "unavailable")
			}
		}
		if err := <-h.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAServerThatNeverAnswersIsGivenUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hostOf(t.Context(), bridgeTo(t, farSide(never), &BridgeOptions{AnswerTimeout: time.Minute}))
		begun := time.Now()
		h.say(t, recordAs(1))
		e := said(<-h.out).refused(t, "1", "unavailable")
		if took := time.Since(begun); took != time.Minute || !strings.Contains(e.Message, "1m0s") || e.Action != "operator_record_action_intent" {
			t.Errorf("after %s: %+v", took, e)
		}
		h.in.Close()
		<-h.ended
	})
}

func TestAnOutputThatBreaksEndsTheBridge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		in, feed := io.Pipe()
		defer in.Close()
		var stopped atomic.Bool
		far := farSide(func(r *http.Request) (*http.Response, error) {
			raw, _ := io.ReadAll(r.Body)
			if strings.Contains(string(raw), "ping") {
				r.Body = io.NopCloser(strings.NewReader(string(raw)))
				return echo(r)
			}
			defer stopped.Store(true)
			return never(r)
		})
		ended := make(chan error)
		go func() { ended <- bridgeTo(t, far, nil).Run(t.Context(), in, failing{broken}) }()
		begun := time.Now()
		_, _ = io.WriteString(feed, recordAs(1)+ping(2))
		if err := <-ended; !errors.Is(err, broken) || time.Since(begun) != 0 {
			t.Errorf("ended with %v after %s", err, time.Since(begun))
		}
		if !stopped.Load() {
			t.Error("the call under way was left behind")
		}
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestAnOutputThatNobodyReadsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread, out := io.Pipe()
		err := bridgeTo(t, farSide(echo), nil).Run(t.Context(), strings.NewReader(ping(1)+ping(2)), out)
		if err == nil || !strings.Contains(err.Error(), "nobody reads") {
			t.Errorf("ended with %v", err)
		}
		unread.Close()
	})
}

func TestAnInputThatCannotBeReadIsAnError(t *testing.T) {
	broken := errors.New("broken")
	in, feed := io.Pipe()
	go func() {
		_, _ = io.WriteString(feed, ping(1))
		feed.CloseWithError(broken)
	}()
	var out strings.Builder
	if err := bridgeTo(t, farSide(echo), nil).Run(t.Context(), in, &out); !errors.Is(err, broken) {
		t.Errorf("ended with %v", err)
	}
	if len(linesOf(t, out.String())) != 1 {
		t.Errorf("wrote %q", out.String())
	}
}

func TestMessagesThatWaitForRoomAreAnsweredWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		h := hostOf(ctx, bridgeTo(t, farSide(never), nil))
		for i := range 17 {
			h.say(t, ping(i+1))
		}
		synctest.Wait()
		stop()
		if got := h.ids(); len(got) != 17 || got[0] != "17" {
			t.Errorf("answered %v", got)
		}
		h.in.Close()
		if err := <-h.ended; err != nil {
			t.Error(err)
		}
	})
}

// Whatever is under way, the input is read on.
func TestARequestThatWaitsForRoomCanBeTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var sent atomic.Int64
		h := hostOf(t.Context(), bridgeTo(t, farSide(func(r *http.Request) (*http.Response, error) {
			sent.Add(1)
			select {
			case <-release:
				return echo(r)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}), nil))
		for i := range 40 {
			h.say(t, ping(i+1))
		}
		for _, id := range []int{1, 20, 39} { // one under way, two that wait
			h.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id)+"\n")
		}
		synctest.Wait()
		close(release)
		h.in.Close()
		got := h.ids()
		if len(got) != 37 || slices.Contains(got, "1") || slices.Contains(got, "20") || slices.Contains(got, "39") || sent.Load() != 38 {
			t.Errorf("%d were sent on, answered were %v", sent.Load(), got)
		}
	})
}

func TestTheEndOfAFullInputTakesOneGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now() // of the bubble's clock
		h := hostOf(t.Context(), bridgeTo(t, farSide(never), nil))
		for i := range 300 {
			h.say(t, ping(i+1))
		}
		h.in.Close()
		if got := h.ids(); len(got) != 300 {
			t.Errorf("%d were answered", len(got))
		}
		if err := <-h.ended; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > DefaultGrace+lastWords {
			t.Errorf("the end took %s", took)
		}
	})
}

func TestWhatThereIsNoRoomForIsRefusedAndCostsNothing(t *testing.T) {
	big := strings.Replace(ping(7), `"ping"`, `"ping","params":{"x":"`+strings.Repeat("x", 1<<20-200)+`"}`, 1)
	for name, c := range map[string]struct {
		message string
		waiting int
	}{"many messages": {ping(7), maxWaiting}, "large messages": {big, 4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				h := hostOf(ctx, bridgeTo(t, farSide(never), nil))
				for range maxUnderWay + c.waiting + 5 {
					h.say(t, c.message)
				}
				synctest.Wait()
				for range 5 {
					if l := <-h.out; !strings.Contains(l, "was not sent on") || !strings.Contains(l, `"id":7`) {
						t.Errorf("it is answered %s", l)
					}
				}
				if n := len(h.out); n != 0 {
					t.Errorf("%d more were answered", n)
				}
				stop()
				if got := h.ids(); len(got) != maxUnderWay+c.waiting {
					t.Errorf("%d were answered at the end", len(got))
				}
				h.in.Close()
			})
		})
	}
}

func TestABridgeLeavesNothingRunning(t *testing.T) {
	s, agent, _, _ := openSchedule(t)
	url := serve(t, s, nil)
	run := func() {
		b, err := NewBridge(url, agent, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := whole(t, b, ping(1)+"garbage\n"+recordAs(2)+`{"jsonrpc":"2.0","method":"notifications/initialized"}`); len(got) != 3 {
			t.Fatal(got)
		}
	}
	run()
	before := settledGoroutines()
	for range 20 {
		run()
	}
	for range 100 {
		if settledGoroutines() <= before+2 {
			return
		}
	}
	buf := make([]byte, 1<<16)
	t.Fatalf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
}

// FuzzBridge demands of any input that the bridge ends without an error, that
// whatever it writes is a message, and that it never says more than it was asked.
func FuzzBridge(f *testing.F) {
	for _, s := range []string{"", "garbage\n", record, "[" + record + "]\r\n\r\n" + ping(1), ping(1) + ping(1), "{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"m\"}\x00",
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, newer("tools/call", "\"name\":\"a\\nb\"")} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, way uint8) {
		far := []farSide{refuseGarbage, down, echo}[way%3]
		out := whole(t, bridgeTo(t, far, nil), string(in))
		asked := 0
		for _, l := range strings.Split(string(in), "\n") {
			if strings.Trim(l, " \t\r") != "" {
				asked++
			}
		}
		if len(out) > asked {
			t.Errorf("%d lines were answered with %q", asked, out)
		}
	})
}
