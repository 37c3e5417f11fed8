package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// crash is a server and a worker under load, either of which is killed outright
// again and again. Whoever got no answer asks again, as any client does.
type crash struct {
	t             *testing.T
	place         place
	url           atomic.Pointer[string]
	agent, person string
	effects       string

	mu    sync.Mutex
	acked map[string]intent // by title
}

// TestNothingAcknowledgedIsLostAndNothingIsDoneTwiceWhenProcessesAreKilled kills the
// server or the worker at fifty random moments per store.
func TestNothingAcknowledgedIsLostAndNothingIsDoneTwiceWhenProcessesAreKilled(t *testing.T) {
	if raced || testing.Short() {
		t.Skip("the processes that are killed are not what the race detector looks at; not in a short run either")
	}
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	operatortest.EachStore(t, func(t *testing.T, store string) {
		c := &crash{t: t, place: newPlace(t, store), acked: map[string]intent{}}
		c.effects = filepath.Join(c.place.dir, "effects")
		var made struct {
			Agent  string `json:"agent_token"`
			Person string `json:"person_token"`
		}
		if err := json.Unmarshal([]byte(c.place.ok(t, "init", "--json", "--zone", noon())), &made); err != nil {
			t.Fatal(err)
		}
		c.agent, c.person = made.Agent, made.Person
		s := c.place.serve(t, "--rate", "0")
		c.url.Store(&s.url)
		w := c.work()
		stop := make(chan struct{})
		var clients sync.WaitGroup
		for i := range 4 {
			clients.Go(func() { c.client(i, stop) })
		}
		r := rand.New(rand.NewPCG(seed, 1))
		for range 50 {
			time.Sleep(time.Duration(20+r.IntN(180)) * time.Millisecond)
			if r.IntN(2) == 0 {
				w = c.killed(w, c.work)
			} else {
				s.background = c.killed(s.background, func() *background {
					next := c.place.serve(t, "--rate", "0")
					c.url.Store(&next.url)
					return next.background
				})
			}
		}
		close(stop)
		clients.Wait()
		c.settled()
		w.signal(t, os.Interrupt)
		w.ended(t, 20*time.Second)
		c.check()
		s.signal(t, os.Interrupt)
		s.ended(t, 30*time.Second)
		c.verified(store)
	})
}

// noon is a zone where it is about noon now: a wish that is sent again must not meet
// another day.
func noon() string {
	behind := time.Now().UTC().Hour() - 12 // POSIX counts west of Greenwich as positive
	if behind == 0 {
		return "UTC"
	}
	return fmt.Sprintf("Etc/GMT%+d", behind)
}

// work starts a worker whose effect is a line in a file. A note may be written
// twice under its key; a spend may not.
func (c *crash) work() *background {
	acts := `exec:echo "$REEVE_EXECUTION_KEY" >>` + c.effects
	return c.place.start(c.t, "work", "--lease", "1s", "--idempotent", "note", "--handler", "note="+acts, "--handler", "spend="+acts)
}

// killed ends a process with SIGKILL and starts it again.
func (c *crash) killed(b *background, again func() *background) *background {
	b.signal(c.t, os.Kill)
	<-b.done
	return again()
}

// client records, and approves what waits, until it is told to stop; it never leaves
// a wish without an answer.
func (c *crash) client(i int, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		kind := "note"
		if n%2 == 1 {
			kind = "spend"
		}
		title := fmt.Sprintf("%s %d of client %d", kind, n, i)
		in := c.until("POST", "/v1/intents", c.agent, fmt.Sprintf(`{"action":{"type":%q,"title":%q,"amount_cents":1}}`, kind, title), http.StatusOK, http.StatusCreated)
		if kind == "spend" {
			// Somebody who lost the answer to their yes is told that it is settled.
			c.until("POST", fmt.Sprintf("/v1/intents/%d/approve", in.ID), c.person, fmt.Sprintf(`{"digest":%q}`, in.Digest), http.StatusOK, http.StatusConflict)
		}
		c.mu.Lock()
		c.acked[title] = in
		c.mu.Unlock()
	}
}

// until sends a request until it is answered with one of the statuses.
func (c *crash) until(method, path, token, body string, want ...int) intent {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		status, in, err := c.try(method, path, token, body)
		for _, s := range want {
			if err == nil && status == s {
				return in
			}
		}
		if time.Now().After(deadline) {
			c.t.Errorf("%s %s: %d, %v for a minute", method, path, status, err)
			return in
		}
	}
}

func (c *crash) try(method, path, token, body string) (int, intent, error) {
	var in intent
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, *c.url.Load()+path, bytes.NewBufferString(body))
	if err != nil {
		return 0, in, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, in, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		return resp.StatusCode, in, err
	}
	if err := json.Unmarshal(raw, &in); err != nil || in.ID == 0 {
		return resp.StatusCode, in, errors.New("a success that is no intent")
	}
	return resp.StatusCode, in, nil
}

// settled waits until nothing is under way any more.
func (c *crash) settled() {
	ends := map[string]bool{"succeeded": true, "unknown": true}
	deadline := time.Now().Add(2 * time.Minute)
	for title, in := range c.acked {
		for {
			status, now, err := c.look(in.ID)
			if err == nil && status == http.StatusOK && ends[now.Status] {
				break
			}
			if time.Now().After(deadline) {
				c.t.Fatalf("%s is %s still (%v)", title, now.Status, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (c *crash) look(id int64) (int, intent, error) {
	var in intent
	req, err := http.NewRequestWithContext(c.t.Context(), "GET", *c.url.Load()+"/v1/intents/"+number(id), nil)
	if err != nil {
		return 0, in, err
	}
	req.Header.Set("Authorization", "Bearer "+c.agent)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, in, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, in, json.NewDecoder(resp.Body).Decode(&in)
}

// check holds what was acknowledged, and what was done, against what is there.
func (c *crash) check() {
	lines := map[string]int{}
	if raw, err := os.ReadFile(c.effects); err == nil {
		for _, key := range strings.Fields(string(raw)) {
			lines[key]++
		}
	}
	unknown := 0
	for title, in := range c.acked {
		status, now, err := c.look(in.ID)
		if err != nil || status != http.StatusOK || now.ID != in.ID || now.Digest != in.Digest {
			c.t.Fatalf("%s was acknowledged as intent %d, which is %+v (%v)", title, in.ID, now, err)
		}
		if !strings.Contains(title, "spend") && now.Status != "succeeded" {
			c.t.Errorf("%s may run twice, and is %s", title, now.Status)
		}
		key := fmt.Sprintf("%s-%d", now.IdempotencyKey, now.ID)
		switch did := lines[key]; {
		case now.Status == "unknown":
			unknown++
			if did > 1 {
				c.t.Errorf("%s was done %d times", title, did)
			}
		case did == 0:
			c.t.Errorf("%s succeeded, and was never done", title)
		case did > 1 && strings.Contains(title, "spend"):
			c.t.Errorf("%s was done %d times", title, did)
		}
		delete(lines, key)
	}
	if len(lines) > 0 {
		c.t.Errorf("%d effects of what nobody was told of", len(lines))
	}
	if len(c.acked) < 50 {
		c.t.Errorf("only %d intents: there was no load", len(c.acked))
	}
	c.t.Logf("%d intents were acknowledged, %d of them ended as unknown", len(c.acked), unknown)
}

// verified exports the record and shows that it is whole, executions included.
func (c *crash) verified(store string) {
	if store == "postgres" {
		c.place = c.place.with("REEVE_AUDIT_KEY=" + filepath.Join(c.place.dir, "reeve-data", "audit.key"))
	}
	file := filepath.Join(c.place.dir, "record.jsonl")
	c.place.ok(c.t, "audit", "export", "--out", file)
	c.place.ok(c.t, "audit", "verify", file)
}
