package restadapter

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/reeve-go/reeve/operator"
)

// apiOf reads the document that a server serves, as somebody else's library does,
// and holds it to OpenAPI 3.1 and to JSON Schema 2020-12.
func apiOf(t *testing.T, raw []byte) (*openapi3.T, error) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	if !doc.IsOpenAPI31OrLater() {
		t.Fatalf("it calls itself OpenAPI %s", doc.OpenAPI)
	}
	return doc, doc.Validate(t.Context(), openapi3.EnableSchemaFormatValidation(), openapi3.EnableMultiError())
}

func (h *house) api() *openapi3.T {
	h.t.Helper()
	r := h.as(operator.KindAgent, "GET", openAPIPath, "")
	if r.status != 200 || r.header.Get("Content-Type") != mediaJSON {
		h.t.Fatalf("%d %v", r.status, r.header)
	}
	doc, err := apiOf(h.t, r.body)
	if err != nil {
		h.t.Fatalf("the document is not valid: %v", err)
	}
	return doc
}

func TestTheOpenAPIDocumentIsValidAndHasEveryDoing(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	doc, ids := h.api(), map[string]bool{}
	for _, d := range h.doings() {
		op := operationOf(doc, d.method, d.path)
		if op == nil {
			t.Errorf("%s is missing", d)
			continue
		}
		if ids[op.OperationID] || !strings.HasPrefix(op.OperationID, d.name) {
			t.Errorf("%s is called %q", d, op.OperationID)
		}
		ids[op.OperationID] = true
		if op.Summary == "" || op.Description == "" || len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
			t.Errorf("%s: summary %q, description %q, tags %v", d, op.Summary, op.Description, op.Tags)
		}
		var scopes []operator.Scope
		for _, s := range (*op.Security)[0]["bearer"] {
			scopes = append(scopes, operator.Scope(s))
		}
		if !slices.Equal(scopes, d.scopes) || !slices.Equal(kindsOf(t, op), d.kinds) {
			t.Errorf("%s is for %v with %v", d, kindsOf(t, op), scopes)
		}
	}
	found := 0
	for _, item := range doc.Paths.Map() {
		found += len(item.Operations())
	}
	if own := 4; found != len(h.doings())+own {
		t.Errorf("the document has %d operations, the tables %d, and the server %d of its own", found, len(h.doings()), own)
	}
}

func operationOf(doc *openapi3.T, method, path string) *openapi3.Operation {
	if item := doc.Paths.Value(path); item != nil {
		return item.GetOperation(method)
	}
	return nil
}

// kindsOf is who may call an operation; nobody has to be known for an open one.
func kindsOf(t *testing.T, op *openapi3.Operation) (out []operator.Kind) {
	t.Helper()
	raw, err := json.Marshal(op.Extensions["x-kinds"])
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The validator is held to faults that are planted for it: one that lets everything
// pass shows nothing.
func TestTheValidatorFindsFaultsThatAreMadeForIt(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	good := string(h.as(operator.KindAgent, "GET", openAPIPath, "").body)
	if _, err := apiOf(t, []byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"a reference to nothing":        {`#/components/schemas/Refusal"`, `#/components/schemas/Refused"`},
		"a path parameter not declared": {`"in": "path"`, `"in": "query"`},
		"a type that there is not":      {`"type": "integer"`, `"type": "number8"`},
		"a key that no object has":      {`"operationId"`, `"operationID"`},
		"a response without words":      {`"description": "Done."`, `"summary": "Done."`},
		"a limit that is no number":     {`"minimum": 1`, `"minimum": "1"`},
		"a parameter without a schema":  {`"in": "query",`, `"in": "query", "style": "matrix",`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Errorf("%s: there is nothing to change", name)
			continue
		}
		if _, err := apiOf(t, []byte(bad)); err == nil {
			t.Errorf("%s was not found", name)
		}
	}
}

func TestTheOpenAPIDocumentIsForWhoeverHasACredential(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	h.call("", "GET", openAPIPath, "").refused(t, 401, "unauthenticated")
	h.as(operator.KindAgent, "GET", openAPIPath, "", header("Origin", "https://evil.example")).refused(t, 403, "foreign_origin")
	h.as(operator.KindAgent, "POST", openAPIPath, "{}").refused(t, 405, "method_not_allowed")
	h.as(operator.KindAgent, "GET", openAPIPath+"?tag=people", "").refused(t, 400, "unknown_key")
	whole := h.as(operator.KindAgent, "GET", openAPIPath, "")
	for _, kind := range kinds {
		r := h.call(h.mint(kind, []operator.Scope{operator.ScopeCommentsWrite}), "GET", openAPIPath, "")
		if r.status != 200 || string(r.body) != string(whole.body) {
			t.Errorf("as %s: %d", kind, r.status)
		}
	}
	head := h.as(operator.KindAgent, "HEAD", openAPIPath, "")
	if head.status != 200 || len(head.body) != 0 || head.header.Get("Content-Length") != whole.header.Get("Content-Length") {
		t.Errorf("HEAD: %d, %d bytes, %v", head.status, len(head.body), head.header)
	}
}

func TestADocumentThatIsUnchangedIsNotSentAgain(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	for _, path := range []string{openAPIPath, listPath} {
		first := h.as(operator.KindAgent, "GET", path, "")
		etag := first.header.Get("ETag")
		if len(etag) < 10 || first.header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %v", path, first.header)
		}
		for have, status := range map[string]int{etag: 304, "W/" + etag: 304, `"a", ` + etag: 304, "*": 304, `"a"`: 200, "": 200, etag[1:]: 200} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				r := h.as(operator.KindHuman, method, path, "", header("If-None-Match", have))
				if r.status != status || r.header.Get("ETag") != etag || status == 304 && len(r.body) > 0 {
					t.Errorf("%s %s with %q: %d, %d bytes, %v", method, path, have, r.status, len(r.body), r.header)
				}
			}
		}
		h.call("", "GET", path, "", header("If-None-Match", etag)).refused(t, 401, "unauthenticated")
		h.as(operator.KindAgent, "GET", path+"?x=1", "", header("If-None-Match", etag)).refused(t, 400, "unknown_key")
	}
}

func TestTheListingIsTheWholeSchedule(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	for _, kind := range kinds { // whatever the caller may do
		var got struct {
			Tools []struct {
				Name              string           `json:"name"`
				Class             string           `json:"class"`
				Toolset           string           `json:"toolset"`
				Primitive         string           `json:"primitive"`
				Kinds             []operator.Kind  `json:"kinds"`
				Scopes            []operator.Scope `json:"scopes"`
				ConditionalScopes []operator.Scope `json:"conditional_scopes"`
				Spends            *bool            `json:"spends"`
				Brake             *bool            `json:"brake"`
				Routes            []string         `json:"routes"`
			} `json:"tools"`
		}
		h.call(h.mint(kind, []operator.Scope{operator.ScopeCommentsWrite}), "GET", listPath, "").is(t, 200, &got)
		rows := h.schedule.Tools()
		if len(got.Tools) != len(rows) {
			t.Fatalf("%d tools are listed, the schedule has %d", len(got.Tools), len(rows))
		}
		for i, row := range rows {
			one := got.Tools[i]
			var routes []string
			for _, r := range row.Routes {
				routes = append(routes, r.Method+" "+r.Path)
			}
			if one.Name != row.Name || one.Class != row.Class.String() || one.Toolset != string(row.Toolset) || one.Primitive != string(row.Primitive) ||
				!slices.Equal(one.Kinds, row.Kinds) || !slices.Equal(one.Scopes, row.Scopes) || !slices.Equal(one.Routes, routes) {
				t.Errorf("%+v is listed of %+v", one, row.Spec)
			}
			if one.ConditionalScopes == nil || one.Spends == nil || *one.Spends != row.Class.Spends() || one.Brake == nil {
				t.Errorf("%+v: a member is missing, or wrong", one)
			}
		}
	}
}
