package mcpadapter_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// The handler is mounted like any other. A stranger is told how to come back.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "reeve")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	op, err := operator.Open(context.Background(), dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer op.Close()
	schedule, err := powers.New(op)
	if err != nil {
		fmt.Println(err)
		return
	}
	handler, err := mcpadapter.New(schedule, &mcpadapter.Options{Version: "1.0.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)

	server := httptest.NewServer(mux)
	defer server.Close()
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	res, err := http.Post(server.URL+"/mcp", "application/json", strings.NewReader(call))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.StatusCode, strings.SplitN(res.Header.Get("WWW-Authenticate"), ",", 2)[0])
	// Output: 401 Bearer realm="reeve"
}
