package restadapter

import (
	"bytes"
	"encoding/json"

	"github.com/reeve-go/reeve/operator/powers"
)

// list renders the schedule once: it is the same for everybody and for as long
// as the process lives.
func list(tools []*powers.Tool) ([]byte, error) {
	out := powers.Listings{Tools: make([]powers.Listing, 0, len(tools))}
	for _, t := range tools {
		out.Tools = append(out.Tools, t.Listing())
	}
	return render(out)
}

// render writes a document that is the same for everybody: indented, since people
// read it as well, and without HTML escapes.
func render(v any) ([]byte, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return bytes.TrimSpace(body.Bytes()), err
}
