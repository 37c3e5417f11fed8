package mcpadapter

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// Who asks and never reads what it is answered must not hold a goroutine and its
// answers for ever: the server gives up once nothing more can be sent.
func TestAClientThatNeverReadsIsLetGo(t *testing.T) {
	h := newHouse(t, &Options{WriteTimeout: 100 * time.Millisecond})
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", h.agent, len(body), body)
	for range 100_000 {
		_ = conn.SetWriteDeadline(time.Now().Add(30 * time.Second))
		if _, err = conn.Write([]byte(request)); err != nil {
			break
		}
	}
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the server holds the connection: %v", err)
	}
}
