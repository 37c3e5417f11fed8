package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// spot is where, beside the credential, a face lets a caller write something.
type spot int

const (
	inHeader spot = 1 << iota
	inAuthorization
	inAddress
	inMeta
	inArguments
	inData // the one open object of an action
	inKey  // an idempotency key
	inEnvironment
)

// attempt is one call as somebody makes it who would be somebody else.
type attempt struct {
	face   string
	deed   string
	args   map[string]any
	token  string
	bearer []string // the Authorization headers, in place of the token's own
	header map[string]string
	query  string
	meta   map[string]any
	key    string
	env    []string
}

func (a *attempt) authorization() []string {
	if a.bearer != nil {
		return a.bearer
	}
	return []string{"Bearer " + a.token}
}

// keyOf is an idempotency key that somebody called under, for this try alone: a key
// is its holder's on every face.
func (a *attempt) keyOf(who string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' {
			return '-'
		}
		return r
	}, who+" "+a.face+" "+a.deed)
}

// returned is what came back.
type returned struct {
	ok     bool
	raw    []byte
	status int  // of HTTP, where the face has one for it
	unsent bool // the face has no place for such a credential, and asked nobody
}

// face is a way in.
type face struct {
	name   string
	spots  spot
	deeds  []string
	tools  bool // it has no acts: they are as unknown there as what never was
	direct bool // the methods themselves, of which the program keeps no record
	try    func(*stage, *attempt) returned
}

// everyFace is every way in to which a credential is brought.
func everyFace() []face {
	web := inHeader | inAuthorization | inAddress | inArguments | inData | inKey
	return []face{
		{name: "MCP, 2025-11-25", spots: web | inMeta, deeds: deeds, tools: true, try: spoofMCP("2025-11-25")},
		{name: "MCP, 2026-07-28", spots: web | inMeta, deeds: deeds, tools: true, try: spoofMCP("2026-07-28")},
		{name: "stdio, 2025-11-25", spots: inMeta | inArguments | inData | inKey, deeds: deeds, tools: true, try: spoofStdio("2025-11-25")},
		{name: "stdio, 2026-07-28", spots: inMeta | inArguments | inData | inKey, deeds: deeds, tools: true, try: spoofStdio("2026-07-28")},
		{name: "REST", spots: web, deeds: deeds, try: spoofREST},
		{name: "the schedule", spots: inAuthorization | inAddress | inArguments | inData | inKey, deeds: deeds, try: spoofSchedule},
		{name: "the library", spots: inData, deeds: deeds, direct: true, try: spoofLibrary},
		{name: "the command line", spots: inEnvironment, deeds: []string{toApprove, toGrant, toComment}, try: spoofCommand},
	}
}

// message is the call as JSON-RPC, in an era.
func (a *attempt) message(s *stage, version string) string {
	s.t.Helper()
	meta := map[string]any{}
	for k, v := range a.meta {
		meta[k] = v
	}
	if version >= "2026-07-28" {
		meta["io.modelcontextprotocol/protocolVersion"], meta["io.modelcontextprotocol/clientCapabilities"] = version, map[string]any{}
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		"params": map[string]any{"name": a.deed, "arguments": a.args, "_meta": meta}})
	s.must(err)
	return string(raw)
}

// called reads the answer to a message: the result of the call, or the envelope of a
// request that was refused as such.
func called(s *stage, raw []byte) returned {
	s.t.Helper()
	var out struct {
		OK     *bool `json:"ok"`
		Result *struct {
			IsError           bool            `json:"isError"`
			StructuredContent json.RawMessage `json:"structuredContent"`
		} `json:"result"`
		Error *struct {
			Data json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		s.t.Fatalf("%s: %v", raw, err)
	}
	switch {
	case out.OK != nil:
		return returned{raw: raw}
	case out.Result != nil:
		return returned{ok: !out.Result.IsError, raw: out.Result.StructuredContent}
	case out.Error != nil:
		return returned{raw: out.Error.Data}
	}
	s.t.Fatalf("no answer: %s", raw)
	return returned{}
}

// send sends a request over HTTP.
func (a *attempt) send(s *stage, method, path, body string, more map[string]string) (int, []byte) {
	s.t.Helper()
	if a.query != "" {
		path += "?" + a.query
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	s.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	for _, headers := range []map[string]string{more, a.header} {
		for name, value := range headers {
			r.Header.Set(name, value)
		}
	}
	r.Header["Authorization"] = a.authorization()
	if a.key != "" {
		r.Header.Set("Idempotency-Key", a.key)
	}
	res, err := http.DefaultClient.Do(r)
	s.must(err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	s.must(err)
	if challenge := res.Header.Get("WWW-Authenticate"); res.StatusCode == 401 && !strings.Contains(challenge, `error="invalid_token"`) {
		s.t.Errorf("a 401 whose challenge is %q", challenge)
	}
	if res.Header.Get("Idempotency-Replayed") != "" {
		s.t.Errorf("it was given the answer of somebody else's call: %s", raw)
	}
	return res.StatusCode, raw
}

func spoofMCP(version string) func(*stage, *attempt) returned {
	return func(s *stage, a *attempt) returned {
		headers := map[string]string{"Mcp-Protocol-Version": version}
		if version >= "2026-07-28" {
			headers["Mcp-Method"], headers["Mcp-Name"] = "tools/call", a.deed
		}
		status, raw := a.send(s, "POST", "/mcp", a.message(s, version), headers)
		out := called(s, raw)
		if status >= 300 {
			out.status = status
		}
		return out
	}
}

// spoofStdio is the bridge of `reeve mcp --url`, which has no header but its own.
func spoofStdio(version string) func(*stage, *attempt) returned {
	return func(s *stage, a *attempt) returned {
		bridge, err := mcpadapter.NewBridge(s.url, a.token, nil)
		if errors.Is(err, mcpadapter.ErrCredential) {
			return returned{unsent: true}
		}
		s.must(err)
		keyed := *a
		if a.key != "" {
			keyed.meta = map[string]any{"reeve/idempotency-key": a.key}
		}
		var out bytes.Buffer
		s.must(bridge.Run(s.t.Context(), strings.NewReader(keyed.message(s, version)+"\n"), &out))
		if strings.Contains(out.String(), "idempotency-replayed") {
			s.t.Errorf("it was given the answer of somebody else's call: %s", out.String())
		}
		return called(s, out.Bytes())
	}
}

// route is the address at which a deed is done, and the tool or act behind it.
func (s *stage) route(deed string) (method, path string, act *powers.Act) {
	s.t.Helper()
	for _, a := range s.schedule.Acts() {
		if a.Name == deed {
			return a.Method, a.Path, a
		}
	}
	for _, tool := range s.schedule.Tools() {
		if tool.Name == deed {
			return tool.Routes[0].Method, tool.Routes[0].Path, nil
		}
	}
	s.t.Fatalf("the schedule has no %s", deed)
	return "", "", nil
}

func spoofREST(s *stage, a *attempt) returned {
	method, path, _ := s.route(a.deed)
	body := map[string]any{}
	for k, v := range a.args {
		if k == "id" && strings.Contains(path, "{id}") {
			path = strings.Replace(path, "{id}", v.(json.Number).String(), 1)
			continue
		}
		body[k] = v
	}
	raw, err := json.Marshal(body)
	s.must(err)
	status, answer := a.send(s, method, path, string(raw), nil)
	return returned{ok: status < 300, raw: answer, status: status}
}

// spoofSchedule is a program that has the schedule itself, and hands it a credential.
func spoofSchedule(s *stage, a *attempt) returned {
	ctx := s.t.Context()
	c, refused := s.schedule.Authenticate(ctx, powers.Presented{Authorization: a.authorization(), RawQuery: a.query, Face: powers.FaceLibrary, RequestID: "r", Action: "library"})
	if refused != nil {
		return returned{raw: refused.JSON, status: refused.Status}
	}
	raw, err := json.Marshal(a.args)
	s.must(err)
	if a.key != "" {
		ctx = operator.WithIdempotencyKey(ctx, a.key)
	}
	var out powers.Answer
	if _, _, act := s.route(a.deed); act != nil {
		out = s.schedule.CallAct(ctx, c, act, raw)
	} else {
		out = s.schedule.Call(ctx, c, a.deed, raw)
	}
	if out.Replayed {
		s.t.Errorf("it was given the answer of somebody else's call: %s", out.JSON)
	}
	return returned{ok: out.OK, raw: out.JSON, status: out.Status}
}

// spoofLibrary is a program that calls the operator's own methods.
func spoofLibrary(s *stage, a *attempt) returned {
	return libraryAnswer(s.t.Context(), s, a, func(ctx context.Context) (operator.Principal, operator.Person, error) {
		p, err := s.Authenticate(ctx, a.token, operator.ViaLibrary)
		if err != nil || a.deed == toRecord || a.deed == toUpdate {
			return p, operator.Person{}, err
		}
		person, err := s.PersonOf(p)
		return p, person, err
	})
}

// libraryAnswer does the deed as whomever prove gives.
func libraryAnswer(ctx context.Context, s *stage, a *attempt, prove func(context.Context) (operator.Principal, operator.Person, error)) returned {
	s.t.Helper()
	p, person, err := prove(ctx)
	if err == nil {
		err = s.does(ctx, a, p, person)
	}
	var r *operator.Refusal
	if err != nil && !errors.As(err, &r) {
		s.t.Fatalf("%s: %v, which is no refusal", a.deed, err)
	}
	if r == nil {
		return returned{ok: true}
	}
	return returned{raw: powers.Unrecorded(a.deed, r).JSON}
}

// does calls the method behind a deed.
func (s *stage) does(ctx context.Context, a *attempt, p operator.Principal, person operator.Person) error {
	s.t.Helper()
	raw, err := json.Marshal(a.args)
	s.must(err)
	switch a.deed {
	case toApprove:
		_, err = s.Approve(ctx, person, inputOf[operator.ActInput](s, raw))
	case toSetKit:
		_, err = s.SetKit(ctx, person, inputOf[operator.KitInput](s, raw))
	case toGrant:
		_, err = s.GrantSpending(ctx, person, inputOf[operator.GrantInput](s, raw))
	case toComment:
		_, err = s.Comment(ctx, person, inputOf[operator.CommentInput](s, raw))
	case toUpdate:
		_, err = s.UpdateIntent(ctx, p, inputOf[operator.UpdateIntentInput](s, raw))
	case toRecord:
		_, err = s.RecordIntent(ctx, p, inputOf[operator.RecordIntentInput](s, raw))
	}
	return err
}

func inputOf[In any](s *stage, raw []byte) (in In) {
	s.t.Helper()
	s.must(json.Unmarshal(raw, &in))
	return in
}

// spoofCommand is the command line, whose credential stands in a file.
func spoofCommand(s *stage, a *attempt) returned {
	file := s.cli.file(s.t, "token", a.token)
	var args []string
	switch a.deed {
	case toApprove:
		args = []string{"inbox", "approve", "--digest", s.waiting.Digest, number(s.waiting.ID)}
	case toGrant:
		args = []string{"grant", "give", "--for", "24h", a.args["principal"].(string), a.args["reason"].(string)}
	case toComment:
		args = []string{"comment", a.args["text"].(string)}
	}
	r := s.cli.with(a.env...).run(s.t, append(args, "--json", "--token-file", file)...)
	if secret, _ := strings.CutPrefix(strings.TrimSpace(a.token), "rv_"); len(secret) > 40 && strings.Contains(r.out+r.err, secret) {
		s.t.Errorf("it shows the credential:\n%s%s", r.out, r.err)
	}
	return returned{ok: r.code == 0, raw: []byte(r.out)}
}
