package restadapter_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/restadapter"
)

// bounded is a server with room for a few connections. It answers what a request's
// body was; /large answers more than a socket takes, /held once it is let go.
type bounded struct {
	t       *testing.T
	address string
	letGo   chan struct{}
	begun   chan struct{}
}

const room = 4

func newBounded(t *testing.T) *bounded {
	b := &bounded{t: t, letGo: make(chan struct{}), begun: make(chan struct{}, 2*room)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 32<<20)
	server := restadapter.Server("", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		b.begun <- struct{}{}
		switch r.URL.Path {
		case "/large":
			text = []byte(large)
		case "/held":
			<-b.letGo
		}
		_, _ = w.Write(text)
	}))
	b.address = l.Addr().String()
	l = restadapter.Connections{Total: 2 * room, PerAddress: room}.Guard(server, l)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return b
}

func (b *bounded) open(text string) net.Conn {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		b.t.Fatal(err)
	}
	return conn
}

func request(method, path string, length int) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", method, path, length)
}

// answer is the body of what a connection is answered, or why it is not.
func (b *bounded) answer(conn net.Conn) (string, error) {
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute)) // a test that fails
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// served fails unless somebody else is answered at once.
func (b *bounded) served(who string) {
	b.t.Helper()
	conn := b.open(request("POST", "/", 4) + "stop")
	if text, err := b.answer(conn); err != nil || text != "stop" {
		b.t.Errorf("%s keep somebody else from being served: %q, %v", who, text, err)
	}
	<-b.begun
	conn.Close()
}

func TestConnectionsThatLeaveTheServerWaitingAreInNobodysWay(t *testing.T) {
	for name, c := range map[string]struct {
		begin string
		works bool // the handler gets to work on it
	}{
		"no word at all":                 {"", false},
		"half of the headers":            {"POST / HTTP/1.1\r\nHost:", false},
		"half of a body":                 {request("POST", "/", 500) + "{", false},
		"a body in chunks with no end":   {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", false},
		"an answer that they don't take": {request("GET", "/large", 0), true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBounded(t)
			for range 3 {
				for range room {
					b.open(c.begin)
					if c.works {
						<-b.begun
					}
				}
				b.served("connections with " + name)
			}
		})
	}
}

func TestAConnectionThatIsBeingAnsweredIsNotClosedForAnother(t *testing.T) {
	b := newBounded(t)
	var held []net.Conn
	for range room {
		held = append(held, b.open(request("POST", "/held", 2)+"ok"))
		<-b.begun
	}
	late := b.open(request("POST", "/", 4) + "late")
	if _, err := b.answer(late); err == nil {
		t.Error("there was room for one more")
	}
	close(b.letGo)
	for _, conn := range held {
		if text, err := b.answer(conn); err != nil || text != "ok" {
			t.Errorf("%q, %v", text, err)
		}
	}
	b.served("connections that were answered")
}

// The place that a connection keeps between two requests is one among those who wait.
func TestAConnectionIsKeptForTheNextRequestWhileThereIsRoom(t *testing.T) {
	b := newBounded(t)
	conn := b.open("")
	r := bufio.NewReader(conn)
	for i := range 3 {
		if _, err := io.WriteString(conn, request("POST", "/", 1)+fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(res.Body); err != nil || string(text) != fmt.Sprint(i) {
			t.Errorf("%q, %v", text, err)
		}
		<-b.begun
	}
	for range room {
		b.open("")
	}
	b.served("idle connections")
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && err == nil {
		t.Errorf("the longest idle one is still there: %v", err)
	}
}
