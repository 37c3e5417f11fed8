package main

import (
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// minted is what token create prints for programs.
type minted struct {
	Token, ID, Principal string
	InstanceID           string `json:"instance_id"`
	ProjectID            string `json:"project_id"`
	Resource             string
}

// token makes a credential.
func token(t *testing.T, p place, kind, name string, more ...string) string {
	t.Helper()
	var m minted
	decode(t, []byte(p.ok(t, append([]string{"token", "create", "--json", "--kind", kind, "--name", name}, more...)...)), &m)
	if !strings.HasPrefix(m.Token, "rv_"+kind+"_") {
		t.Fatalf("it made %+v", m)
	}
	return m.Token
}

func TestCredentialsAreMadeRotatedAndRevokedBesideARunningServer(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		s := p.serve(t)
		works := func(token string) bool {
			status, _ := s.send(t, "GET", "/v1/state", token, "")
			return status == 200
		}
		var first minted
		decode(t, []byte(p.ok(t, "token", "create", "--kind", "agent", "--name", "research", "--json", "--listen", "127.0.0.1:9")), &first)
		if first.Principal != "agent:research" || len(first.InstanceID) != 36 || len(first.ProjectID) != 36 || first.Resource != "http://127.0.0.1:9/mcp" {
			t.Errorf("it printed %+v", first)
		}
		if !works(first.Token) {
			t.Error("the new credential does not work")
		}
		var second minted
		decode(t, []byte(p.ok(t, "token", "rotate", "research", "--json")), &second)
		if works(first.Token) || !works(second.Token) {
			t.Error("after rotating, the old one works or the new one does not")
		}
		list := p.ok(t, "token", "list")
		if !strings.Contains(list, "agent:research") || !strings.Contains(list, "revoked") || !strings.Contains(list, "ends in 89d 23h") || anyToken.MatchString(list+p.ok(t, "token", "list", "--json")) {
			t.Errorf("the list is\n%s", list)
		}
		p.ok(t, "token", "revoke", second.ID)
		if works(second.Token) {
			t.Error("a revoked credential works")
		}
		p.run(t, "token", "rotate", second.ID).refused(t, 1, "taken back")
		p.run(t, "token", "revoke", "nobody").refused(t, 1, `No credential "nobody"`)
	})
}

func TestACredentialGetsWhatItsKindNeeds(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	p.ok(t, "people", "add", "ana", "--name", "Ana Ruiz", "--role", "admin")
	p.ok(t, "project", "add", "garden")
	ana := token(t, p, "human", "ana", "--person", "ana", "--interactive")
	agent := token(t, p, "agent", "gardener", "--project", "garden")
	everything := token(t, p, "agent", "greedy", "--scope", "all")
	reader := token(t, p, "agent", "reader", "--scope", "state:read")
	worker := token(t, p, "worker", "w")
	in := s.record(t, renewal)
	approve := "/v1/intents/" + number(in.ID) + "/approve"
	body := `{"digest":"` + in.Digest + `"}`
	for _, c := range []struct {
		name, method, path, token, body string
		want                            int
	}{
		{"an agent records", "POST", "/v1/intents", agent, `{"action":{"type":"note","title":"Dig"}}`, 201},
		{"an agent of another project does not see it", "GET", "/v1/intents/" + number(in.ID), agent, "", 404},
		{"one that may only read does not record", "POST", "/v1/intents", reader, `{"action":{"type":"note","title":"Dig"}}`, 403},
		{"an agent with every scope does not approve", "POST", approve, everything, body, 403},
		{"a worker does not approve", "POST", approve, worker, body, 403},
		{"a worker claims", "POST", "/v1/work/claim", worker, `{"types":["spend"]}`, 200},
		{"a person approves", "POST", approve, ana, body, 200},
		{"a worker claims it", "POST", "/v1/work/claim", worker, `{"types":["spend"]}`, 200},
		{"and reports by the tool", "PATCH", "/v1/intents/" + number(in.ID), worker, `{"status":"succeeded","fencing_token":1}`, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, answer := s.send(t, c.method, c.path, c.token, c.body); got != c.want {
				t.Errorf("%d, want %d: %s", got, c.want, answer)
			}
		})
	}
	report := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + toUpdate + `","arguments":{"id":` + number(in.ID) + `,"status":"succeeded","fencing_token":1}}}`
	if status, answer := s.send(t, "POST", "/mcp", worker, report); status != 200 || !strings.Contains(string(answer), "settled_by") || strings.Contains(string(answer), "missing_scope") {
		t.Errorf("a worker reports over MCP: %d %s", status, answer)
	}
	text := p.ok(t, "token", "create", "--kind", "channel", "--name", "slack", "--life", "12h")
	if !strings.Contains(text, "shown now and never again") || !strings.Contains(text, "instance_id") {
		t.Errorf("it says:\n%s", text)
	}
	p.ok(t, "people", "link", "ana", "slack", "U024")
	p.run(t, "people", "link", "owner", "slack", "U024").refused(t, 1, "linked to a person already")
	if list := p.ok(t, "people", "list"); !strings.Contains(list, "Ana Ruiz") || !strings.Contains(list, "owner") {
		t.Errorf("the list is\n%s", list)
	}
	p.ok(t, "people", "remove", "ana")
	if status, _ := s.send(t, "GET", "/v1/state", ana, ""); status != 401 {
		t.Errorf("the removed person's credential answers %d", status)
	}
	p.run(t, "token", "rotate", "ana").refused(t, 1)
}

func TestWhatIsNoCredentialIsRefused(t *testing.T) {
	p := newPlace(t, "sqlite")
	p.ok(t, "init")
	for _, c := range []struct {
		name string
		args []string
		code int
		say  string
	}{
		{"another kind", []string{"--kind", "Agent", "--name", "x"}, 2, "--kind must be one of"},
		{"no kind", []string{"--name", "x"}, 2, "--kind"},
		{"no name", []string{"--kind", "agent"}, 2, "--name"},
		{"a name in capitals", []string{"--kind", "agent", "--name", "X"}, 1, "lower-case"},
		{"a name that is taken", []string{"--kind", "agent", "--name", "agent"}, 1, "already named"},
		{"a human's without a person", []string{"--kind", "human", "--name", "ana"}, 1, "person"},
		{"a human's of nobody", []string{"--kind", "human", "--person", "nobody"}, 1, "Nobody on the list"},
		{"an agent's that is interactive", []string{"--kind", "agent", "--name", "x", "--interactive"}, 1, "Only a human"},
		{"a scope that does not exist", []string{"--kind", "agent", "--name", "x", "--scope", "intents:approve"}, 1, "no scope"},
		{"a life of nothing", []string{"--kind", "agent", "--name", "x", "--life", "0d"}, 2, "is no length of time"},
		{"a life without end", []string{"--kind", "agent", "--name", "x", "--life", "forever"}, 2, "is no length of time"},
		{"a life of three years", []string{"--kind", "agent", "--name", "x", "--life", "1095d"}, 1, "two years"},
		{"a project that does not exist", []string{"--kind", "agent", "--name", "x", "--project", "none"}, 1, "no account"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.run(t, append([]string{"token", "create"}, c.args...)...).refused(t, c.code, c.say)
		})
	}
	if list := p.ok(t, "token", "list"); strings.Count(list, "\n") != 3 {
		t.Errorf("something was made:\n%s", list)
	}
	p.run(t, "project", "add", "Garden").refused(t, 1, "lower-case")
	p.run(t, "people", "add", "ana", "--role", "king").refused(t, 2, "--role must be one of")
	p.run(t, "people", "add", "owner").refused(t, 1, "already on the list")
}
