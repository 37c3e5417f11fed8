package mcpadapter_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/reeve-go/reeve/mcpadapter"
)

// A bridge answers every request, also where nothing answers it.
func ExampleBridge_Run() {
	bridge, err := mcpadapter.NewBridge("http://127.0.0.1:1", "rv_agent_example", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var answers strings.Builder
	host := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	if err := bridge.Run(context.Background(), host, &answers); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Count(answers.String(), "\n"), strings.Contains(answers.String(), `"reason":"unavailable"`))
	// Output: 1 true
}
