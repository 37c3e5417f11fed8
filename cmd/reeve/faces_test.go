package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// What is not canonical must come to the adapters as it is: a redirect would go
// out before Host and credential were looked at, and would repeat a token.
func TestNoAddressIsRedirectedBeforeTheDoors(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	address := strings.TrimPrefix(s.url, "http://")
	for _, target := range []string{"//v1/intents/1/approve", "/v1/../v1/state", "//v1/state?token=rv_human_x", "/mcp/", "//mcp", "/./mcp", "/v1//state", "/healthz/"} {
		for _, host := range []string{address, "evil.example"} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", target, host)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			conn.Close()
			if resp.StatusCode < 400 || resp.Header.Get("Location") != "" || strings.Contains(string(body), "rv_human_x") {
				t.Errorf("%s for %s: %d %v", target, host, resp.StatusCode, resp.Header)
			}
			if host != address && resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s for %s: %d, and not refused at the door", target, host, resp.StatusCode)
			}
			if !strings.Contains(string(body), `"ok": false`) {
				t.Errorf("%s for %s: no envelope: %s", target, host, body)
			}
		}
	}
}
