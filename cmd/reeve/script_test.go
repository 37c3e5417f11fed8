package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
)

// scripted is one call of the script: a tool and its arguments, whatever the face.
type scripted struct{ tool, arguments string }

// The names come from the schedule where they can; a script has to name what it does.
const (
	toRecord = "operator_record_action_intent"
	toUpdate = "operator_update_action_intent"
	toDecide = "operator_update_decision"
	toLook   = "operator_state"
)

var malformed = []string{
	`{"action":{"type":"spend","title":"x","amount_cents":0}}`, `{"action":{"type":"spend","title":"x","amount_cents":"49"}}`,
	`{"action":{"type":"spend","title":"x","amount_cents":9007199254740992}}`, `{"action":{"type":"spend","title":"x","amount_cents":49.5}}`,
	`{"action":{"type":"spend","title":"x","amount_cents":4900,"amount":"490.00 USD"}}`, `{"action":{"type":"spend","title":"x","currency":"usd","amount_cents":1}}`,
	`{"action":{"type":"spend","title":"x"}}`, `{"action":{"type":"spend","title":"a\u202eb","amount_cents":1}}`,
	`{"action":{"type":"spend","title":"x","amount_cents":1,"status":"approved"}}`, `{"action":{"type":"spend","title":"x","amount_cents":1},"zz":1}`,
	`{"action":{"type":"send","title":"x","data":{"n":9007199254740993}}}`, `{"Action":{}}`, `{}`,
}

// script is two hundred calls that an agent might make, many of them wrong.
func script() []scripted {
	r := rand.New(rand.NewPCG(7, 7)) // the same for every face
	var out []scripted
	for len(out) < 200 {
		id := manyth + r.IntN(40) // the so many-th intent; the databases count differently
		switch r.IntN(8) {
		case 0, 1:
			out = append(out, scripted{toRecord, fmt.Sprintf(`{"action":{"type":"spend","title":"Thing %d","amount_cents":%d}}`, r.IntN(30), 100+r.IntN(3))})
		case 2:
			out = append(out, scripted{toRecord, fmt.Sprintf(`{"action":{"type":"note","title":"Note %d","labels":["a"],"data":{"n":%d}},"run_id":null}`, r.IntN(10), r.IntN(2))})
		case 3:
			out = append(out, scripted{toRecord, malformed[r.IntN(len(malformed))]})
		case 4:
			out = append(out, scripted{toUpdate, fmt.Sprintf(`{"id":%d,"status":%q}`, id, []string{"cancelled", "approved", "succeeded", "Cancelled"}[r.IntN(4)])})
		case 5:
			out = append(out, scripted{toDecide, fmt.Sprintf(`{"id":%d,"status":%q}`, id, []string{"parked", "approved"}[r.IntN(2)])})
		case 6:
			out = append(out, scripted{toLook, fmt.Sprintf(`{"limit":%d}`, r.IntN(12))})
		default:
			out = append(out, scripted{toLook, fmt.Sprintf(`{"intent_id":%d}`, id)})
		}
	}
	return out
}

// manyth is where the numbers begin that stand for the first intent, the second, ….
const manyth = 1_000_000

// concrete puts the ids of this database in a call's place of them.
func (c scripted) concrete(ids []string) scripted {
	c.arguments = regexp.MustCompile(`1000\d{3}`).ReplaceAllStringFunc(c.arguments, func(text string) string {
		n, _ := strconv.Atoi(text)
		if n -= manyth; n < len(ids) {
			return ids[n]
		}
		return text
	})
	return c
}

// recorded is the id of the intent that an answer to a recording tells of.
func recorded(c scripted, raw []byte, ids []string) []string {
	var in intent
	if json.Unmarshal(raw, &in) == nil && c.tool == toRecord && in.ID != 0 && !slices.Contains(ids, number(in.ID)) {
		ids = append(ids, number(in.ID))
	}
	return ids
}

var (
	aTime    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`)
	anIntent = regexp.MustCompile(`Intent \d+`)
	// aPlace is how a face names where an argument stands in a message.
	aPlace = regexp.MustCompile(`params\.arguments\.?`)
)

// masked is an answer without what must differ: times, ids, which are told by the
// order in which they are first met, and the way in.
type masked struct{ seen map[string]map[string]int }

func (m *masked) mask(raw []byte) string {
	var v any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "no JSON: " + string(raw)
	}
	text, _ := json.Marshal(m.value("", "", v))
	text = anIntent.ReplaceAllFunc(text, func(name []byte) []byte {
		return fmt.Appendf(nil, "Intent (%d)", m.rank("intent", string(name[len("Intent "):])))
	})
	return aPlace.ReplaceAllString(aTime.ReplaceAllString(string(text), "(time)"), "")
}

// value masks what stands under a key, in a list of a kind of thing.
func (m *masked) value(list, key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = m.value(list, k, v[k])
		}
	case []any:
		for i := range v {
			v[i] = m.value(key, key, v[i])
		}
	case json.Number:
		switch {
		case key == "id" && (list == "audit" || list == "decisions"):
			return fmt.Sprintf("%s %d", list, m.rank(list, v.String()))
		case key == "id" || key == "intent_id":
			return fmt.Sprintf("intent %d", m.rank("intent", v.String()))
		}
	case string:
		if key == "via" || key == "next_cursor" || key == "project_id" {
			return "(" + key + ")"
		}
	}
	return v
}

func (m *masked) rank(kind, id string) int {
	if m.seen[kind] == nil {
		m.seen[kind] = map[string]int{}
	}
	if _, met := m.seen[kind][id]; !met {
		m.seen[kind][id] = len(m.seen[kind])
	}
	return m.seen[kind][id]
}

// TestTheSameScriptIsAnsweredAlikeOverEveryFace runs it on a fresh database for each
// face and store.
func TestTheSameScriptIsAnsweredAlikeOverEveryFace(t *testing.T) {
	if testing.Short() {
		t.Skip("two thousand calls")
	}
	calls := script()
	faces := []struct {
		name string
		open func(t *testing.T, store string) func(n int, c scripted) []byte
	}{
		{"library", overLibrary}, {"REST", overREST}, {"MCP, 2025-11-25", overMCP("2025-11-25")}, {"MCP, 2026-07-28", overMCP("2026-07-28")}, {"stdio", overStdio},
	}
	var want []string
	operatortest.EachStore(t, func(t *testing.T, store string) {
		for _, face := range faces {
			t.Run(face.name, func(t *testing.T) {
				ask, m := face.open(t, store), &masked{seen: map[string]map[string]int{}}
				got, ids := make([]string, len(calls)), []string{}
				for i, c := range calls {
					raw := ask(i, c.concrete(ids))
					ids = recorded(c, raw, ids)
					got[i] = m.mask(raw)
				}
				if want == nil {
					want = got // what the library answers on the first store
					return
				}
				wrong := 0
				for i := range calls {
					if got[i] != want[i] {
						if wrong++; wrong <= 3 {
							t.Errorf("call %d, %s %s:\n%s\nwant\n%s", i, calls[i].tool, calls[i].arguments, got[i], want[i])
						}
					}
				}
				if wrong > 3 {
					t.Errorf("%d of %d answers differ", wrong, len(calls))
				}
			})
		}
	})
}

func overLibrary(t *testing.T, store string) func(int, scripted) []byte {
	op := operatortest.Open(t, operatortest.Where(t, store), nil)
	ctx := context.Background()
	first, _, err := op.Install(ctx, operator.Initial{Zone: noon()})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := op.Authenticate(ctx, first.Agent.Token, operator.ViaLibrary)
	if err != nil {
		t.Fatal(err)
	}
	schedule, err := powers.New(op)
	if err != nil {
		t.Fatal(err)
	}
	return func(_ int, c scripted) []byte {
		return schedule.Call(ctx, powers.Caller{Principal: agent, Face: powers.FaceLibrary}, c.tool, []byte(c.arguments)).JSON
	}
}

func overREST(t *testing.T, store string) func(int, scripted) []byte {
	s := aServer(t, newPlace(t, store))
	return func(_ int, c scripted) []byte {
		var args map[string]any
		d := json.NewDecoder(strings.NewReader(c.arguments))
		d.UseNumber()
		if err := d.Decode(&args); err != nil {
			t.Fatal(err)
		}
		method, path, body := "POST", "/v1/intents", c.arguments
		switch c.tool {
		case toUpdate, toDecide:
			method, path = "PATCH", fmt.Sprintf("/v1/%s/%v", map[string]string{toUpdate: "intents", toDecide: "decisions"}[c.tool], args["id"])
			body = fmt.Sprintf(`{"status":%q}`, args["status"])
		case toLook:
			method, path, body = "GET", "/v1/state?", ""
			query := url.Values{}
			for k, v := range args {
				query.Set(k, fmt.Sprint(v))
			}
			path += query.Encode()
		}
		_, answer := s.send(t, method, path, s.agent, body)
		return answer
	}
}

// toolCall is a call as a message of JSON-RPC, of an era.
func toolCall(n int, c scripted, version string) string {
	meta := ""
	if version >= "2026-07-28" {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, n, c.tool, c.arguments, meta)
}

func structured(t *testing.T, raw []byte) []byte {
	var out struct {
		Result struct {
			StructuredContent json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal(raw, &out); err != nil || out.Result.StructuredContent == nil {
		t.Fatalf("no result of a call: %s", raw)
	}
	return out.Result.StructuredContent
}

func overMCP(version string) func(*testing.T, string) func(int, scripted) []byte {
	return func(t *testing.T, store string) func(int, scripted) []byte {
		s := aServer(t, newPlace(t, store))
		return func(n int, c scripted) []byte {
			headers := map[string]string{"Mcp-Protocol-Version": version}
			if version >= "2026-07-28" {
				headers["Mcp-Method"], headers["Mcp-Name"] = "tools/call", c.tool
			}
			_, answer := s.sendWith(t, "POST", "/mcp", s.agent, toolCall(n, c, version), headers)
			return structured(t, answer)
		}
	}
}

func overStdio(t *testing.T, store string) func(int, scripted) []byte {
	p := newPlace(t, store)
	s := aServer(t, p)
	b := p.bridge(t, "mcp", "--url", s.url, "--token-file", p.file(t, "agent.token", s.agent))
	return func(n int, c scripted) []byte {
		if _, err := fmt.Fprintln(b.in, toolCall(n, c, "2026-07-28")); err != nil {
			t.Fatal(err)
		}
		answer, err := b.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v\n%s", err, b.err)
		}
		return structured(t, []byte(answer))
	}
}

// aServer is one whose account has its noon now, so that no script meets midnight.
func aServer(t *testing.T, p place) *server {
	t.Helper()
	var made struct {
		Agent string `json:"agent_token"`
	}
	if err := json.Unmarshal([]byte(p.ok(t, "init", "--json", "--zone", noon())), &made); err != nil {
		t.Fatal(err)
	}
	s := p.serve(t)
	s.agent = made.Agent
	return s
}
