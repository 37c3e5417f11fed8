package restadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/reeve-go/reeve/operator/powers"
)

// The names of components that are no answer's.
const (
	schemaRefusal = "Refusal"
	schemaProblem = "Problem"
	idempotency   = "IdempotencyKey"
)

// apiWriter collects operations into a document.
type apiWriter struct {
	doc  apiDocument
	ids  map[string]string // operationId to what has it
	errs []error
}

func (w *apiWriter) fail(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf(format, args...))
}

// add describes one deed.
func (w *apiWriter) add(d deed) {
	at := d.method + " " + d.path
	if other, taken := w.ids[d.id]; taken {
		w.fail("%s and %s are both called %s", other, at, d.id)
	}
	w.ids[d.id] = at
	scopes := make([]string, 0, len(d.scopes))
	for _, s := range d.scopes {
		scopes = append(scopes, string(s))
	}
	op := &operation{OperationID: d.id, Tags: []string{d.tag}, Summary: d.title, Description: d.what, Kinds: d.kinds, Class: d.class,
		Security: []map[string]any{{"bearer": scopes}}}
	in, err := argumentsOf(d)
	if err != nil {
		w.fail("%s: its arguments: %w", at, err)
	}
	op.Parameters, op.Body = in.parameters, in.body
	if d.keys {
		op.Parameters = append(op.Parameters, ref("parameters", idempotency))
	}
	op.Responses = w.responses(d)
	w.put(d.path, d.method, op)
}

func (w *apiWriter) put(path, method string, op *operation) {
	if w.doc.Paths[path] == nil {
		w.doc.Paths[path] = map[string]*operation{}
	}
	w.doc.Paths[path][strings.ToLower(method)] = op
	tag := op.Tags[0]
	if !slices.ContainsFunc(w.doc.Tags, func(t apiTag) bool { return t.Name == tag }) {
		words := tagWords[tag]
		if words == "" {
			words = "The tools of the toolset " + tag + "."
		}
		w.doc.Tags = append(w.doc.Tags, apiTag{tag, words})
	}
}

// responses are the success, and every status that a reason can give the deed.
func (w *apiWriter) responses(d deed) map[string]any {
	success := response{Description: "Done.", Headers: map[string]any{"X-Request-Id": ref("headers", "X-Request-Id")},
		Content: map[string]mediaSchema{mediaJSON: {w.answer(d)}}}
	if d.keys {
		success.Headers["Idempotency-Replayed"] = ref("headers", "Idempotency-Replayed")
	}
	out := map[string]any{"200": success}
	if d.creates {
		made := success
		made.Description = "Recorded, as a new row."
		out["200"], out["201"] = success.described("It stands since before, and nothing is new."), made
	}
	for status, reasons := range refusalsByStatus() {
		if d.meets(status) {
			w.doc.Components.Responses[refusedName(status)] = refused(status, reasons)
			out[strconv.Itoa(status)] = ref("responses", refusedName(status))
		}
	}
	return out
}

func (r response) described(words string) response { r.Description = words; return r }

// meets says whether the deed can be answered with a status of a refusal.
func (d deed) meets(status int) bool {
	switch status {
	case http.StatusMethodNotAllowed:
		return false // another method is another operation, which there is not
	case http.StatusAccepted:
		return d.parks
	case http.StatusPreconditionRequired:
		return d.attests
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusConflict:
		return d.method != http.MethodGet
	}
	return true
}

// answer is the schema of the deed's success: a component by the name of its type,
// so that generated clients have a name for it. Two types of one name are told apart
// by the operation.
func (w *apiWriter) answer(d deed) any {
	if d.answers == "" {
		return json.RawMessage(d.output)
	}
	name := d.answers
	if there := w.doc.Components.Schemas[name]; there != nil && !bytes.Equal(there, d.output) {
		name += "_" + d.id
	}
	w.doc.Components.Schemas[name] = d.output
	return ref("schemas", name)
}

// addOpen describes the two addresses that need no credential.
func (w *apiWriter) addOpen() {
	status := func(word string) map[string]mediaSchema {
		return map[string]mediaSchema{mediaJSON: {json.RawMessage(
			`{"type":"object","properties":{"status":{"type":"string","const":"` + word + `"}},"required":["status"],"additionalProperties":false}`)}}
	}
	header := map[string]any{"X-Request-Id": ref("headers", "X-Request-Id")}
	w.put(livePath, http.MethodGet, &operation{OperationID: "healthz", Tags: []string{tagServer}, Summary: "Does it live", Security: []map[string]any{},
		Description: "Says that the process lives. Open to everybody.", Responses: map[string]any{"200": response{"It lives.", header, status("ok")}}})
	w.put(readyPath, http.MethodGet, &operation{OperationID: "readyz", Tags: []string{tagServer}, Summary: "Is it ready", Security: []map[string]any{},
		Description: "Says whether the database takes writes. Open to everybody.",
		Responses:   map[string]any{"200": response{"It takes writes.", header, status("ready")}, "503": response{"It does not.", header, status("unavailable")}}})
}

// refusalsByStatus is every reason, by its status.
func refusalsByStatus() map[int][]string {
	out := map[int][]string{}
	for _, r := range powers.Reasons() {
		out[r.Status] = append(out[r.Status], string(r.Reason))
	}
	return out
}

func refusedName(status int) string { return "Refused" + strconv.Itoa(status) }

func newComponents() components {
	text := func(words string) any {
		return map[string]any{"description": words, "schema": map[string]string{"type": "string"}}
	}
	return components{
		Schemas:   map[string]json.RawMessage{schemaRefusal: json.RawMessage(powers.RefusalSchema()), schemaProblem: problemSchema()},
		Responses: map[string]response{},
		Parameters: map[string]parameter{idempotency: {Name: "Idempotency-Key", In: "header",
			Description: "For 24 hours the same call with the same key is given the answer of the first that succeeded, and changes nothing.",
			Schema:      json.RawMessage(`{"type":"string","minLength":1,"maxLength":255,"pattern":"^[!-~]+$"}`)}},
		Headers: map[string]any{
			"X-Request-Id":         text("The request's name in the record and in the log."),
			"Idempotency-Replayed": text("true: it is the answer of an earlier call with the same key."),
			"WWW-Authenticate":     text("What the credential lacks (RFC 6750)."),
			"Retry-After":          map[string]any{"description": "Seconds until another try may help.", "schema": map[string]string{"type": "integer"}},
		},
		Security: map[string]any{"bearer": map[string]string{"type": "http", "scheme": "bearer",
			"description": "A credential, as reeve token create prints it: Authorization: Bearer rv_…"}},
	}
}

// refused is what every refusal with one status has in common.
func refused(status int, reasons []string) response {
	out := response{Description: "Refused: " + strings.Join(reasons, ", ") + ".", Headers: map[string]any{"X-Request-Id": ref("headers", "X-Request-Id")},
		Content: map[string]mediaSchema{mediaJSON: {ref("schemas", schemaRefusal)}}}
	switch status {
	case http.StatusAccepted:
		out.Description = "It waits for a person: " + strings.Join(reasons, ", ") + "."
		return out // a deferral is no problem
	case http.StatusUnauthorized, http.StatusForbidden:
		out.Headers["WWW-Authenticate"] = ref("headers", "WWW-Authenticate")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		out.Headers["Retry-After"] = ref("headers", "Retry-After")
	}
	out.Content[mediaProblem] = mediaSchema{ref("schemas", schemaProblem)}
	return out
}
