package hook

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func serving(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

func answering(t *testing.T, status int, body string) string {
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

func TestAStatusSaysWhatCameOfIt(t *testing.T) {
	for _, c := range []struct {
		status int
		means  string
	}{
		{200, "succeeded"}, {201, "succeeded"}, {202, "succeeded"},
		{400, "failed"}, {401, "failed"}, {404, "failed"}, {422, "failed"}, {429, "failed"},
		{301, "failed"}, {307, "failed"}, {308, "failed"},
		{302, "unknown"}, {303, "unknown"},
		{500, "unknown"}, {502, "unknown"}, {503, "unknown"}, {504, "unknown"},
	} {
		t.Run(strconv.Itoa(c.status)+" is "+c.means, func(t *testing.T) {
			out, err := mustParse(t, answering(t, c.status, "card 12"), nil).Run(t.Context(), aJob())
			switch c.means {
			case "succeeded":
				if err != nil || out != "card 12" {
					t.Errorf("%q, %v", out, err)
				}
			case "failed":
				wantFailed(t, err, strconv.Itoa(c.status))
			case "unknown":
				wantUnknown(t, err)
			}
		})
	}
	t.Run("204 without a word says the status", func(t *testing.T) {
		out, err := mustParse(t, answering(t, 204, ""), nil).Run(t.Context(), aJob())
		if err != nil || out != "204 No Content" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestAURLIsGivenTheJob(t *testing.T) {
	var got *http.Request
	var body []byte
	address := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	if _, err := mustParse(t, "http:"+address+"/pay", nil).Run(t.Context(), aJob()); err != nil {
		t.Fatal(err)
	}
	if got.Method != "POST" || got.URL.Path != "/pay" || got.Header.Get("Content-Type") != "application/json" ||
		got.Header.Get("Idempotency-Key") != aJob().IdempotencyKey || got.Header.Get("Reeve-Execution-Key") != aJob().ExecutionKey ||
		got.Header.Get("Reeve-Intent-Id") != "7" || got.Header.Get("Reeve-Digest") != aJob().Intent.Digest {
		t.Errorf("%s %s %v", got.Method, got.URL, got.Header)
	}
	want := `{"type":"spend","title":"Annual plan renewal","amount_cents":4900,"currency":"USD"}`
	if string(body) != want {
		t.Errorf("the body was %s, want %s", body, want)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var followed atomic.Bool
	target := serving(t, func(http.ResponseWriter, *http.Request) { followed.Store(true) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		from := serving(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, status) })
		if _, err := mustParse(t, from, nil).Run(t.Context(), aJob()); err == nil {
			t.Errorf("a %d passed for success", status)
		}
	}
	if followed.Load() {
		t.Error("a redirect was followed")
	}
}

func TestWhatWasNeverSentFailed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	t.Run("a refused connection", func(t *testing.T) {
		_, err := mustParse(t, "http://"+closed+"/", nil).Run(t.Context(), aJob())
		wantFailed(t, err, "nothing was sent")
	})
	t.Run("a name that does not exist", func(t *testing.T) {
		_, err := mustParse(t, "http://nowhere.invalid/", nil).Run(t.Context(), aJob())
		wantFailed(t, err, "nothing was sent")
	})
	t.Run("a certificate that nobody vouches for", func(t *testing.T) {
		s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }))
		defer s.Close()
		_, err := mustParse(t, s.URL, nil).Run(t.Context(), aJob())
		wantFailed(t, err, "nothing was sent")
	})
	t.Run("a password in the address is not repeated", func(t *testing.T) {
		_, err := mustParse(t, "http://me:hunter2@"+closed+"/", nil).Run(t.Context(), aJob())
		wantFailed(t, err, "")
		if strings.Contains(err.Error(), "hunter2") {
			t.Error(err)
		}
	})
}

func TestWhatBrokeOffIsUnknown(t *testing.T) {
	t.Run("a connection closed without an answer, and it is not tried again", func(t *testing.T) {
		var calls atomic.Int64
		address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
		})
		h := mustParse(t, address, nil)
		for range 3 {
			_, err := h.Run(t.Context(), aJob())
			wantUnknown(t, err)
		}
		if n := calls.Load(); n != 3 {
			t.Errorf("3 runs made %d calls", n)
		}
	})
	t.Run("a server that does not answer in time", func(t *testing.T) {
		release := make(chan struct{})
		address := serving(t, func(http.ResponseWriter, *http.Request) { <-release })
		defer close(release)
		_, err := mustParse(t, address, &Options{Timeout: 100 * time.Millisecond}).Run(t.Context(), aJob())
		wantUnknown(t, err)
	})
	t.Run("an answer of 200 whose body breaks off is success all the same", func(t *testing.T) {
		address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "receipt 9")
		})
		out, err := mustParse(t, address, nil).Run(t.Context(), aJob())
		if err != nil || out != "receipt 9" {
			t.Errorf("%q, %v", out, err)
		}
	})
}

func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	address := serving(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 4096)); err != nil {
				return
			}
		}
	})
	out, err := mustParse(t, address, nil).Run(t.Context(), aJob())
	if err != nil || len(out) != maxOutcome {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestANoticeReachesAURL(t *testing.T) {
	var got *http.Request
	var body []byte
	address := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	if err := mustParse(t, address, nil).Notify(t.Context(), aNotice()); err != nil {
		t.Fatal(err)
	}
	if got.Header.Get("Reeve-Message-Key") != "intent.pending:7" || !strings.Contains(string(body), `"key":"intent.pending:7"`) {
		t.Errorf("%v %s", got.Header, body)
	}
	if err := mustParse(t, answering(t, 500, ""), nil).Notify(t.Context(), aNotice()); err == nil {
		t.Error("a notice that failed passed for delivered")
	}
}
