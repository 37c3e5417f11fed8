package restadapter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
)

func TestAnUnknownAddressIsNotFound(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, path := range []string{"/v1", "/v1/", "/v1/nowhere", "/v1/intents/1/approve/now", "/v1/tools/x"} {
			watch(t, h.world).onlyRefused(t, func() {
				h.as(operator.KindAgent, "GET", path, "").refused(t, 404, "not_found")
			})
			h.call("", "GET", path, "").refused(t, 401, "unauthenticated")
		}
		for _, path := range []string{"/", "/favicon.ico", "/v2/state", "/metrics"} {
			h.call("", "GET", path, "").refused(t, 404, "not_found")
		}
	})
}

func TestABodyIsJSONOrIsRefused(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	for name, tt := range map[string]struct {
		change change
		ok     bool
	}{
		"JSON":                     {header("Content-Type", "application/json"), true},
		"JSON, said to be UTF-8":   {header("Content-Type", `Application/JSON; charset="UTF-8"`), true},
		"identity":                 {header("Content-Encoding", "identity"), true},
		"no type":                  {header("Content-Type"), false},
		"a form":                   {header("Content-Type", "application/x-www-form-urlencoded"), false},
		"text":                     {header("Content-Type", "text/plain"), false},
		"a type that ends as JSON": {header("Content-Type", "application/problem+json"), false},
		"Latin":                    {header("Content-Type", "application/json; charset=iso-8859-1"), false},
		"two types":                {header("Content-Type", "application/json", "text/plain"), false},
		"an empty type":            {header("Content-Type", ""), false},
		"compressed":               {header("Content-Encoding", "gzip"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if !tt.ok {
				watch(t, h.world).onlyRefused(t, func() {
					h.as(operator.KindAgent, "POST", "/v1/intents", renewal, tt.change).refused(t, 415, "unsupported_media_type")
				})
				return
			}
			if r := h.as(operator.KindAgent, "POST", "/v1/intents", renewal, tt.change); r.status/100 != 2 {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	h.as(operator.KindWorker, "POST", "/v1/work/claim", "").refused(t, 400, "missing_field") // no body and no type: an empty object
}

func TestAQueryIsHeldToTheSameFormAsABody(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	h.record(renewal)
	for query, want := range map[string]operator.Reason{
		"limit=1":                     "",
		"limit=1&":                    "",
		"?limit=1":                    "unknown_key", // the name is "?limit"
		"limit=1&limit=1":             "repeated_key",
		"limit=1&li%6Dit=2":           "repeated_key",
		"Limit=1":                     "unknown_key",
		"offset=1":                    "unknown_key",
		"actor=me":                    "unknown_key",
		"limit=01":                    "wrong_type",
		"limit=+1":                    "wrong_type",
		"limit=1.0":                   "wrong_type",
		"limit=":                      "wrong_type",
		"limit":                       "wrong_type",
		"limit=null":                  "wrong_type",
		"limit=0":                     "invalid_value",
		"limit=101":                   "invalid_value",
		"limit=9223372036854775808":   "number_out_of_range",
		"limit=1;cursor=x":            "invalid_value",
		"limit=%zz":                   "invalid_value",
		"%=1":                         "invalid_value",
		"cursor=nonsense":             "invalid_cursor",
		"cursor=%FF":                  "bad_text",
		"cursor=a%00b":                "bad_text",
		"status=approved":             "",
		"status=Approved":             "invalid_status",
		"status=approved%20":          "invalid_status",
		`status=approved","limit":"1`: "invalid_status",
		"intent_id=1":                 "",
	} {
		r := h.as(operator.KindAgent, "GET", "/v1/intents?"+strings.ReplaceAll(query, `"`, "%22"), "")
		if want == "" {
			r.is(t, 200, &page{})
			continue
		}
		if e := r.refused(t, 400, want); e.Layer != "input" {
			t.Errorf("%s: %s", query, r.body)
		}
	}
	h.as(operator.KindAgent, "GET", "/v1/intents/1?intent_id=1", "").refused(t, 400, "repeated_key")
	h.as(operator.KindAgent, "GET", "/v1/intents/1?id=1", "").refused(t, 400, "repeated_key")
	h.as(operator.KindAgent, "GET", "/v1/intents/1?wait=0&wait_seconds=0", "").refused(t, 400, "repeated_key")
	h.as(operator.KindAgent, "POST", "/v1/intents?dry=1", renewal).refused(t, 400, "unknown_key")
	h.as(operator.KindAgent, "GET", "/v1/tools?limit=1", "").refused(t, 400, "unknown_key")
}

func TestAGetHasNoBody(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	for _, d := range h.doings() {
		if d.method == http.MethodGet {
			h.as(d.kinds[0], "GET", d.address(1), `{"limit":1}`).refused(t, 400, "invalid_value")
		}
	}
}

func TestHeadIsAGetWithoutItsBody(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	h.record(renewal)
	for _, path := range []string{"/v1/intents/1", "/v1/tools", "/healthz"} {
		get, head := h.as(operator.KindAgent, "GET", path, ""), h.as(operator.KindAgent, "HEAD", path, "")
		if head.status != get.status || len(head.body) != 0 || head.header.Get("Content-Length") != fmt.Sprint(len(get.body)) {
			t.Errorf("%s: %d with %d bytes, Content-Length %s of %d", path, head.status, len(head.body), head.header.Get("Content-Length"), len(get.body))
		}
	}
	if r := h.as(operator.KindAgent, "HEAD", "/v1/intents/9", ""); r.status != 404 {
		t.Errorf("%d", r.status)
	}
	if r := h.as(operator.KindHuman, "HEAD", "/v1/intents/1/approve", ""); r.status != 405 {
		t.Errorf("%d", r.status)
	}
}

// The listing is the whole table, for everybody, and says of each row what a
// client needs to know before it asks.
func TestTheListingIsTheWholeScheduleForEveryKind(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var first []byte
		for _, kind := range kinds {
			r := h.as(kind, "GET", "/v1/tools", "")
			var got struct {
				Tools []map[string]any `json:"tools"`
			}
			r.is(t, 200, &got)
			if first = append(first, r.body...); string(first[:len(r.body)]) != string(r.body) {
				t.Errorf("%s sees another listing", kind)
			}
			if len(got.Tools) != len(h.schedule.Tools()) {
				t.Fatalf("%d tools, want %d", len(got.Tools), len(h.schedule.Tools()))
			}
			for i, tool := range h.schedule.Tools() {
				row := got.Tools[i]
				for _, key := range []string{"name", "class", "toolset", "primitive", "kinds", "scopes", "conditional_scopes", "spends", "brake", "routes"} {
					if row[key] == nil {
						t.Errorf("%s: %s is missing or null", tool.Name, key)
					}
				}
				routes, _ := json.Marshal(row["routes"])
				for _, route := range tool.Routes {
					if !strings.Contains(string(routes), `"`+route.Method+" "+route.Path+`"`) {
						t.Errorf("%s: %s", tool.Name, routes)
					}
				}
				if row["name"] != tool.Name || row["class"] != tool.Class.String() || len(row["scopes"].([]any)) != len(tool.Scopes) || row["spends"] != tool.Class.Spends() || len(row) != 10 {
					t.Errorf("%v", row)
				}
			}
		}
		h.call("", "GET", "/v1/tools", "").refused(t, 401, "unauthenticated")
	})
}

func TestEveryRequestHasItsOwnIDWhichIsNotTheCallers(t *testing.T) {
	h := newHouse(t, "sqlite", nil)
	var seen []string
	for range 3 {
		r := h.as(operator.KindAgent, "GET", "/v1/state", "", header("X-Request-Id", "mine"))
		if id := r.header.Get("X-Request-Id"); id == "mine" || len(id) < 16 || slices.Contains(seen, id) {
			t.Errorf("%q after %v", id, seen)
		}
		seen = append(seen, r.header.Get("X-Request-Id"))
	}
	r := h.as(operator.KindAgent, "GET", "/v1/intents/9", "")
	if rows := watch(t, h.world).strings(`select request_id from reeve_audit where reason = 'not_found'`); !slices.Contains(rows, r.header.Get("X-Request-Id")) {
		t.Errorf("the record has %v, the answer %s", rows, r.header.Get("X-Request-Id"))
	}
}
