package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is clients that send a byte a second and never an end.
type crowd struct {
	t       *testing.T
	address string
	stop    chan struct{}
	writers sync.WaitGroup
	conns   []net.Conn
}

func newCrowd(t *testing.T, s *server) *crowd {
	c := &crowd{t: t, address: strings.TrimPrefix(s.url, "http://"), stop: make(chan struct{})}
	t.Cleanup(func() {
		close(c.stop)
		for _, conn := range c.conns {
			_ = conn.Close()
		}
		c.writers.Wait()
	})
	return c
}

// join opens n connections that begin with some text.
func (c *crowd) join(n int, begin string) {
	c.t.Helper()
	for range n {
		conn, err := net.Dial("tcp", c.address)
		if err != nil {
			c.t.Fatal(err)
		}
		c.conns = append(c.conns, conn)
		c.writers.Go(func() {
			text := begin
			for {
				if _, err := io.WriteString(conn, text); err != nil {
					return // the server has had enough of it
				}
				text = "x"
				select {
				case <-c.stop:
					return
				case <-time.After(time.Second):
				}
			}
		})
	}
}

// ended waits until the server has let go of every connection, and counts the
// statuses that it answered with; 0: with nothing.
func (c *crowd) ended() map[int]int {
	c.t.Helper()
	out := map[int]int{}
	until := time.Now().Add(45 * time.Second)
	for _, conn := range c.conns {
		_ = conn.SetReadDeadline(until)
		raw := bufio.NewReader(conn)
		res, err := http.ReadResponse(raw, nil)
		status := 0
		if err == nil {
			status = res.StatusCode
			_, err = io.Copy(io.Discard, io.MultiReader(res.Body, raw))
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			c.t.Fatalf("a connection that answered %d is held still", status)
		}
		out[status]++
	}
	return out
}

var resident = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak is the most memory, in MiB, that the server has held; 0 where it is not known.
func (s *server) peak() int {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	kb := resident.FindSubmatch(raw)
	if kb == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(kb[1]))
	return n >> 10
}

// Three hundred clients that send a byte a second are let go in time, and until then
// keep nobody from being served, nor pile up memory.
func TestClientsThatSendAByteASecondAreInNobodysWay(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes the ten seconds that a body may")
	}
	s := newPlace(t, "sqlite").serve(t)
	before := s.peak()
	c := newCrowd(t, s)
	body := func(path string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " + s.agent + "\r\nContent-Length: 1048576\r\n\r\n{"
	}
	c.join(60, "")
	c.join(90, "GET /v1/state HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
	c.join(75, body("/v1/intents"))
	c.join(75, body("/mcp"))
	for range 20 {
		if status, answer := s.send(t, "GET", "/v1/state", s.agent, ""); status != 200 {
			t.Errorf("somebody else is answered %d: %s", status, answer)
		}
	}
	if in := s.record(t, renewal); in.Status != "pending_approval" {
		t.Errorf("somebody else's intent: %+v", in)
	}
	got := c.ended()
	if got[408] != 150 || got[200]+got[201] != 0 {
		t.Errorf("they were answered %v; want 150 times 408 for the bodies", got)
	}
	if grown := s.peak() - before; grown > 100 {
		t.Errorf("300 clients that send nothing cost %d MiB", grown)
	}
}

func TestMoreConnectionsThanThereMayBeAreInNobodysWay(t *testing.T) {
	s := newPlace(t, "sqlite").serve(t, "--max-connections", "30", "--max-connections-per-address", "20")
	c := newCrowd(t, s)
	c.join(300, "GET /v1/state HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
	for range 20 {
		if status, answer := s.send(t, "GET", "/v1/state", s.agent, ""); status != 200 {
			t.Errorf("somebody else is answered %d: %s", status, answer)
		}
	}
}

func TestHeadersBeyondTheLimitAreRefused(t *testing.T) {
	s := newPlace(t, "sqlite").serve(t)
	for size, want := range map[int]int{15 << 10: 200, 17 << 10: 431, 64 << 10: 431} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = fmt.Fprintf(conn, "GET /v1/state HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nX-Long: %s\r\n\r\n", s.agent, strings.Repeat("x", size))
		}()
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
		} else if res.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", size, res.StatusCode, want)
		}
		_ = conn.Close()
	}
}
