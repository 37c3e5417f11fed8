package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// TestWhatWasBegunIsAnswered stops a server that callers keep busy. Whatever stands in
// the database afterwards was told to who asked for it.
func TestWhatWasBegunIsAnswered(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		s := p.serve(t, "--rate", "0")
		var callers sync.WaitGroup
		var mu sync.Mutex
		answered, torn := 0, 0
		started := make(chan struct{}, 1000)
		for caller := range 8 {
			callers.Go(func() {
				for n := 0; ; n++ {
					ok, err := s.recordQuietly(fmt.Sprintf(`{"action":{"type":"note","title":"%d of %d"}}`, n, caller))
					mu.Lock()
					if ok {
						answered++
					} else if err == nil {
						torn++
					}
					mu.Unlock()
					if !ok {
						return
					}
					select {
					case started <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 40 {
			<-started
		}
		s.signal(t, syscall.SIGTERM)
		code := s.ended(t, 20*time.Second)
		callers.Wait()
		if code != 0 || torn > 0 {
			t.Errorf("exit %d, %d answers that were none\n%s", code, torn, s.err)
		}
		again := p.serve(t)
		again.agent = s.agent
		if kept := again.countIntents(t); kept != answered {
			t.Errorf("%d were answered and %d were kept", answered, kept)
		}
	})
}

// recordQuietly says whether an intent was recorded. An error is a connection that
// brought no answer.
func (s *server) recordQuietly(body string) (ok bool, err error) {
	req, err := http.NewRequest("POST", s.url+"/v1/intents", bytes.NewBufferString(body))
	if err != nil {
		return false, err
	}
	req.GetBody = nil // it is sent once
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.agent)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return err == nil && resp.StatusCode == 201 && json.Valid(answer), err
}

// countIntents pages through all that there are.
func (s *server) countIntents(t *testing.T) int {
	t.Helper()
	n, cursor := 0, ""
	for {
		_, body := s.send(t, "GET", "/v1/intents?limit=100"+cursor, s.agent, "")
		var page struct {
			Intents    []intent `json:"intents"`
			NextCursor *string  `json:"next_cursor"`
		}
		decode(t, body, &page)
		n += len(page.Intents)
		if page.NextCursor == nil {
			return n
		}
		cursor = "&cursor=" + *page.NextCursor
	}
}

func TestAServerThatStopsSaysSoBeforeItTakesNoMore(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t, "--drain-delay", "2s")
	in := s.record(t, renewal)
	s.signal(t, syscall.SIGTERM)
	eventually(t, "it is not ready", func() bool {
		status, _ := s.send(t, "GET", "/readyz", "", "")
		return status == 503
	})
	if got := s.look(t, in.ID); got.Status != "pending_approval" {
		t.Errorf("it answers %+v", got)
	}
	if status, _ := s.send(t, "GET", "/healthz", "", ""); status != 200 {
		t.Errorf("it says that it does not live: %d", status)
	}
	if code := s.ended(t, 20*time.Second); code != 0 {
		t.Errorf("exit %d\n%s", code, s.err)
	}
	p.run(t, "serve", "--drain-delay", "1h").refused(t, 2, "--drain-delay is from 0s to 5m0s")
}

func TestASecondSignalEndsAServerAtOnce(t *testing.T) {
	s := newPlace(t, "sqlite").serve(t, "--drain-delay", "1m")
	s.signal(t, syscall.SIGTERM)
	eventually(t, "it is not ready", func() bool {
		status, _ := s.send(t, "GET", "/readyz", "", "")
		return status == 503
	})
	s.signal(t, syscall.SIGTERM)
	s.ended(t, 5*time.Second)
}
