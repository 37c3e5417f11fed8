package restadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/reeve-go/reeve/operator/powers"
)

// resource is one path with all that can be done there.
type resource struct {
	path      string // as the table has it, such as /v1/intents/{id}
	endpoints map[string]*endpoint
	allow     string // the Allow header
}

// endpoint is one method of one path: one route of a tool, or an act.
type endpoint struct {
	action string            // the row's name, for the record
	params []string          // the names in the path, in their order
	rename map[string]string // names of the path or query that differ from the argument's
	types  map[string]string // argument to its JSON type
	permit func(context.Context, powers.Caller) *powers.Answer
	call   func(context.Context, powers.Caller, []byte) powers.Answer
	etag   string // of an answer that is the same for as long as the process lives
}

// argument is what the schedule calls a name of the path or query.
func (e *endpoint) argument(name string) string {
	if other, ok := e.rename[name]; ok {
		return other
	}
	return name
}

// table collects the rows by path.
type table struct {
	byPath map[string]*resource
	order  []*resource
	errs   []error
}

func (t *table) add(method, path, action string, schema []byte, e *endpoint) {
	types, err := typesOf(schema)
	if err != nil {
		t.errs = append(t.errs, fmt.Errorf("restadapter: %s: its input schema: %w", action, err))
	}
	e.action, e.types, e.params = action, types, paramsOf(path)
	res := t.byPath[path]
	if res == nil {
		res = &resource{path: path, endpoints: map[string]*endpoint{}}
		t.byPath[path] = res
		t.order = append(t.order, res)
	}
	if res.endpoints[method] != nil {
		t.errs = append(t.errs, fmt.Errorf("restadapter: %s and %s both answer %s %s", res.endpoints[method].action, action, method, path))
		return
	}
	res.endpoints[method] = e
}

// resources reads both tables.
func (a *adapter) resources() ([]*resource, error) {
	t := &table{byPath: map[string]*resource{}}
	for _, tool := range a.schedule.Tools() {
		for i := range tool.Routes {
			route := &tool.Routes[i]
			t.add(route.Method, route.Path, tool.Name, tool.InputSchema, a.toolEndpoint(tool, route))
		}
	}
	for _, act := range a.schedule.Acts() {
		t.add(act.Method, act.Path, act.Name, act.InputSchema, a.actEndpoint(act))
	}
	if err := a.addDocuments(t); err != nil {
		return nil, err
	}
	for _, res := range t.order {
		res.allow = allowed(res.endpoints)
	}
	return t.order, errors.Join(t.errs...)
}

func (a *adapter) toolEndpoint(tool *powers.Tool, route *powers.Route) *endpoint {
	return &endpoint{
		rename: route.Rename,
		permit: func(ctx context.Context, c powers.Caller) *powers.Answer { return a.schedule.Permit(ctx, c, tool) },
		call: func(ctx context.Context, c powers.Caller, raw []byte) powers.Answer {
			return a.schedule.CallRoute(ctx, c, tool.Name, route, raw)
		},
	}
}

func (a *adapter) actEndpoint(act *powers.Act) *endpoint {
	return &endpoint{
		permit: func(ctx context.Context, c powers.Caller) *powers.Answer { return a.schedule.PermitAct(ctx, c, act) },
		call: func(ctx context.Context, c powers.Caller, raw []byte) powers.Answer {
			return a.schedule.CallAct(ctx, c, act, raw)
		},
	}
}

var pathParam = regexp.MustCompile(`\{([a-z_]+)\}`)

// paramsOf finds the names in a path such as /v1/intents/{id}/approve.
func paramsOf(path string) []string {
	var names []string
	for _, m := range pathParam.FindAllStringSubmatch(path, -1) {
		names = append(names, m[1])
	}
	return names
}

// typesOf reads which JSON type each argument has. A path and a query hold only
// text, so whether 5 is a number or a word is for the argument's type to say.
func typesOf(schema []byte) (map[string]string, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	types := make(map[string]string, len(s.Properties))
	for name, p := range s.Properties {
		types[name], _ = p.Type.(string)
	}
	return types, nil
}

// allowed writes the Allow header of a path.
func allowed(endpoints map[string]*endpoint) string {
	methods := []string{http.MethodOptions}
	for m := range endpoints {
		if methods = append(methods, m); m == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// serve answers a request for one path, in the order that the package promises.
func (a *adapter) serve(x *exchange, res *resource) {
	x.route = res.path
	method := x.r.Method
	if method == http.MethodOptions {
		preflight(x, res.allow)
		return
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	e := res.endpoints[method]
	if e != nil {
		x.action = e.action
	}
	if !a.authenticate(x) {
		return
	}
	if e == nil {
		x.refuseMethod(res.allow)
		return
	}
	if refused := e.permit(x.r.Context(), x.caller); refused != nil {
		x.answer(*refused)
		return
	}
	raw, err := x.arguments(e)
	if err != nil {
		x.refuse(err)
		return
	}
	ctx := powers.WithIdempotencyKeys(x.r.Context(), x.r.Header.Values("Idempotency-Key"))
	answer := e.call(ctx, x.caller, raw)
	if answer.OK && e.etag != "" && x.unchanged(e.etag) {
		return
	}
	x.answer(answer)
}
