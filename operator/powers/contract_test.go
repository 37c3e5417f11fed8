package powers_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/operatortest"
	"github.com/reeve-go/reeve/operator/powers"
	"github.com/reeve-go/reeve/restadapter"
)

// ask sends one request as an agent with every scope.
func ask(t *testing.T, w *world, h http.Handler, method, address, body string, headers ...string) []byte {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.First.Agent.Token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%s %s: %d %s %v", method, address, res.StatusCode, out, err)
	}
	return out
}

func served(t *testing.T, w *world, h http.Handler, address string) []byte {
	t.Helper()
	return ask(t, w, h, "GET", address, "")
}

// committed reads the contract of every tool, or of every act, by name.
func committed(t *testing.T, sort string) map[string]map[string]any {
	t.Helper()
	root := files(t)
	found, err := fs.Glob(root, contractFolder+"/"+sort+"/*.json")
	if err != nil || len(found) == 0 {
		t.Fatalf("there is no contract of %s (%v); %s", sort, err, regenerate)
	}
	out := map[string]map[string]any{}
	for _, file := range found {
		raw, err := fs.ReadFile(root, file)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(path.Base(file), ".json")] = parsed(t, raw)
	}
	return out
}

func parsed(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

// byName sorts a list of objects.
func byName(list any) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, one := range list.([]any) {
		row := one.(map[string]any)
		out[row["name"].(string)] = row
	}
	return out
}

// everythingOn leaves nothing of the schedule off for the first agent.
func everythingOn(t *testing.T) *world {
	w := newWorld(t, "sqlite", nil)
	all := map[string]bool{}
	for _, p := range operator.Primitives() {
		all[string(p)] = true
	}
	w.kit(operator.KitInput{Primitives: all})
	grant := operator.GrantInput{Principal: w.Agent.ID(), Until: operatortest.Start.Add(time.Hour), Reason: "To see what is listed."}
	if _, err := w.GrantSpending(t.Context(), w.Owner, grant); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.Schedule, err = w.WithToolsets(powers.Toolsets()...); err != nil {
		t.Fatal(err)
	}
	return w
}

// listedSame holds what a server lists to what is committed: each member that is
// listed is the committed one, and nothing is missing on either side.
func listedSame(t *testing.T, listed, committed map[string]map[string]any, names map[string]string) {
	t.Helper()
	for name := range committed {
		if listed[name] == nil {
			t.Errorf("%s is committed, and the server does not list it; %s", name, regenerate)
		}
	}
	for name, row := range listed {
		for member, value := range row {
			if other, renamed := names[member]; renamed {
				member = other
			}
			if member != "" && !reflect.DeepEqual(value, committed[name][member]) {
				t.Errorf("%s: the server says %s: %v, committed is %v; %s", name, member, value, committed[name][member], regenerate)
			}
		}
	}
}

func TestTheServerListsOverMCPWhatIsCommittedInEveryEra(t *testing.T) {
	w := everythingOn(t)
	h, err := mcpadapter.New(w.Schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	newer := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for era, answer := range map[string][]byte{
		"2026-07-28": ask(t, w, h, "POST", "/mcp", newer, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"),
		"2025-11-25": ask(t, w, h, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Protocol-Version", "2025-11-25"),
	} {
		t.Run(era, func(t *testing.T) {
			tools := byName(parsed(t, answer)["result"].(map[string]any)["tools"])
			for name, tool := range tools {
				if !reflect.DeepEqual(tool["outputSchema"], map[string]any{"type": "object"}) {
					t.Errorf("%s: the listed output schema is %v", name, tool["outputSchema"])
				}
			}
			listedSame(t, tools, committed(t, "tools"), map[string]string{"inputSchema": "input_schema", "outputSchema": ""})
		})
	}
}

func TestTheServerListsOverRESTWhatIsCommitted(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	h, err := restadapter.New(w.Schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	listedSame(t, byName(parsed(t, served(t, w, h, "/v1/tools"))["tools"]), committed(t, "tools"), nil)
}

// Acts are listed nowhere but in the OpenAPI document.
func TestTheServerDescribesEveryActAsItIsCommitted(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	h, err := restadapter.New(w.Schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]map[string]any{}
	for address, item := range parsed(t, served(t, w, h, "/openapi.json"))["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			op := op.(map[string]any)
			if tag := op["tags"].([]any)[0]; tag != "people" && tag != "workers" {
				continue
			}
			described[op["operationId"].(string)] = map[string]any{"name": op["operationId"], "title": op["summary"], "description": op["description"],
				"method": strings.ToUpper(method), "path": address, "kinds": op["x-kinds"], "scopes": op["security"].([]any)[0].(map[string]any)["bearer"]}
		}
	}
	listedSame(t, described, committed(t, "acts"), nil)
}

// The product has no row that parks, or asks for evidence, yet; the rows of the tests
// are described as theirs would be.
func TestWhatMayWaitForAPersonOrForEvidenceIsAnnounced(t *testing.T) {
	w := newWorld(t, "sqlite", nil)
	w.withRows()
	h, err := restadapter.New(w.Schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	paths := parsed(t, served(t, w, h, "/openapi.json"))["paths"].(map[string]any)
	parks, attests := 0, 0
	for _, tool := range w.Tools() {
		for _, r := range tool.Routes {
			op := paths[r.Path].(map[string]any)[strings.ToLower(r.Method)].(map[string]any)
			told := op["responses"].(map[string]any)
			_, park := told["202"]
			_, attest := told["428"]
			key := strings.Contains(text(op["parameters"]), "/IdempotencyKey")
			if park != tool.MayPark() || attest != (tool.Class == powers.Gated) || key != tool.Keyed() {
				t.Errorf("%s: 202 %v, 428 %v, idempotency key %v", tool.Name, park, attest, key)
			}
			parks, attests = parks+count(park), attests+count(attest)
		}
	}
	if parks == 0 || attests == 0 {
		t.Errorf("%d rows park and %d ask for evidence: the test shows nothing", parks, attests)
	}
}

func count(is bool) int { return map[bool]int{true: 1}[is] }

func TestEveryWordOfTheEnvelopeIsExplained(t *testing.T) {
	if words := powers.Meaningless(); len(words) > 0 {
		t.Errorf("the page about refusals does not explain %v", words)
	}
	for _, r := range powers.Reasons() {
		if r.Hint == "" || r.Code == "" || r.Step == "" || r.Status < 200 {
			t.Errorf("%+v: the page has a gap", r)
		}
	}
	page, err := fs.ReadFile(files(t), refusalsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range powers.Reasons() {
		if !slices.ContainsFunc(strings.Split(string(page), "\n"), func(line string) bool { return strings.HasPrefix(line, "| `"+string(r.Reason)+"` |") }) {
			t.Errorf("%s is not on the page", r.Reason)
		}
	}
}
