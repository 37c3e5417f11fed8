package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

const serverName = "reeve"

// The methods that the server declares. Every other one is not found.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodDiscover   = "server/discover"
	methodListTools  = "tools/list"
	methodCallTool   = "tools/call"
)

func declared(method string) bool {
	switch method {
	case methodInitialize, methodPing, methodDiscover, methodListTools, methodCallTool:
		return true
	}
	return false
}

// elsewhere is the SDK's record for calls that name no row of the schedule, and
// for calls that were refused before. The dot keeps it apart from every name
// that a row can have.
const elsewhere = "reeve.elsewhere"

// newServer builds the one server. Nothing is added to it afterwards, so it may
// be shared: what differs between callers is decided in the middleware.
func (a *adapter) newServer(o Options) *mcp.Server {
	log := quiet(o.Logger)
	server := mcp.NewServer(&mcp.Implementation{Name: serverName, Version: o.Version}, &mcp.ServerOptions{
		Instructions: a.catalog.instructions(),
		Logger:       log,
		// Tools and nothing else; no listChanged, since nothing announces one.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { *c = uncached },
	})
	for _, r := range a.catalog.rows {
		server.AddTool(&mcp.Tool{Name: r.name, InputSchema: anyObject}, a.handler(r.tool.Name))
	}
	server.AddTool(&mcp.Tool{Name: elsewhere, InputSchema: anyObject}, a.elsewhere)
	server.AddReceivingMiddleware(a.guard, a.perCaller)
	return server
}

// perCaller answers tools/list for the caller alone, sends tools/call to the
// right record, and closes the methods that the server does not declare: the
// SDK answers prompts/list and its like whether declared or not.
func (a *adapter) perCaller(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		in := inboundOf(ctx)
		if in == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the request has no caller"}
		}
		if !declared(method) && !strings.HasPrefix(method, "notifications/") {
			return nil, notFound()
		}
		ctx, cancel := in.joined(ctx)
		defer cancel()
		switch r := req.(type) {
		case *mcp.ListToolsRequest:
			return a.list(in, r)
		case *mcp.CallToolRequest:
			if a.catalog.find(r.Params.Name) == nil {
				r.Params.Name = elsewhere
			}
		}
		return next(ctx, method, req)
	}
}

// notFound does not repeat the method: it may be anything.
func notFound() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: this server has tools/list and tools/call, and nothing beyond tools"}
}

func (a *adapter) list(in *inbound, req *mcp.ListToolsRequest) (mcp.Result, error) {
	if req.Params != nil && req.Params.Cursor != "" {
		// The list is one page, so no cursor was ever given out.
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown cursor: leave it out, the list is one page"}
	}
	return a.catalog.newListing(a.schedule.Visible(in.caller.Principal, in.caller.Face)), nil
}

// handler is the raw handler of one row. The tool's name comes from the row,
// the arguments come from our own reading of the body.
func (a *adapter) handler(tool string) mcp.ToolHandler {
	return func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return a.answer(ctx, func(in *inbound) powers.Answer {
			return a.schedule.Call(powers.WithIdempotencyKeys(ctx, in.keys), in.caller, tool, in.arguments)
		}), nil
	}
}

// elsewhere answers calls that reach no row.
func (a *adapter) elsewhere(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return a.answer(ctx, func(in *inbound) powers.Answer {
		plain, ok := strings.CutPrefix(in.tool, a.catalog.prefix)
		if !ok {
			// The schedule may know this name, but it was never listed without the prefix.
			return a.refuse(ctx, in.caller, actionNone, nil, operator.Refuse(operator.ReasonUnknownTool, "There is no tool of that name here; every name begins with %s.", a.catalog.prefix))
		}
		return a.schedule.Call(ctx, in.caller, plain, in.arguments)
	}), nil
}

// answer runs one call, unless it was refused before. A panic in it is answered
// like any other fault of ours.
func (a *adapter) answer(ctx context.Context, call func(*inbound) powers.Answer) (res *mcp.CallToolResult) {
	in := inboundOf(ctx)
	defer func() {
		if p := recover(); p != nil {
			a.logPanic(in, methodCallTool, p)
			res = a.result(in, a.refuse(ctx, in.caller, a.catalog.action(in.tool), in.body,
				operator.Refuse(operator.ReasonInternal, "A fault of reeve's own stopped this call.")))
		}
	}()
	if in.refused != nil {
		return a.result(in, *in.refused)
	}
	return a.result(in, call(in))
}

// result puts one answer into both places where clients look for it. The value
// goes in as bytes, so that no integer passes through a double.
func (a *adapter) result(in *inbound, answer powers.Answer) *mcp.CallToolResult {
	if !isObject(answer.JSON) || !json.Valid(answer.JSON) {
		// The SDK never answers a call whose result cannot be written.
		a.log.Error("the schedule's answer is not a JSON object", "request_id", in.caller.RequestID, "tool", a.catalog.action(in.tool))
		answer = broken(a.catalog.action(in.tool))
	}
	in.told.Store(&answer)
	res := &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(answer.JSON)}},
		StructuredContent: json.RawMessage(answer.JSON),
		IsError:           answer.IsError,
	}
	if answer.Replayed {
		res.Meta = mcp.Meta{metaReplayed: true}
	}
	return res
}

// guard keeps a panic from ending the process: the SDK runs handlers on
// goroutines of its own, where net/http catches nothing.
func (a *adapter) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				a.logPanic(inboundOf(ctx), method, p)
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error", Data: broken(actionNone).JSON}
			}
		}()
		return next(ctx, method, req)
	}
}

// logPanic tells where, not what: a panic's value may quote the call, and a
// stack holds no values.
func (a *adapter) logPanic(in *inbound, method string, p any) {
	id := ""
	if in != nil {
		id = in.caller.RequestID
	}
	a.log.Error("panic while answering", "method", method, "request_id", id, "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
}

// refuse asks the schedule for an envelope, and makes a plain one where the
// schedule itself is what fails.
func (a *adapter) refuse(ctx context.Context, c powers.Caller, action string, body []byte, err error) (answer powers.Answer) {
	defer func() {
		if p := recover(); p != nil {
			a.logPanic(&inbound{caller: c}, "refusing", p)
			answer = broken(action)
		}
	}()
	if action == actionNone {
		c.ToolPrefix = "" // it is no tool's name
	}
	if body == nil {
		return a.schedule.Refuse(ctx, c, action, err)
	}
	return a.schedule.RefuseCall(ctx, c, action, argumentsIn(body), err)
}

// broken is the envelope that needs nobody: an outage of our own.
func broken(action string) powers.Answer {
	body, err := json.MarshalIndent(map[string]any{
		"ok": false, "verdict": "unavailable", "reason": string(operator.ReasonInternal), "action": action, "layer": "store",
		"retryable": true, "repeat": 1, "message": "A fault of reeve's own stopped this call.",
		"error":        map[string]any{"code": "unavailable", "hint": "It is in the log under the request's id.", "details": map[string]any{}},
		"recovery":     []any{map[string]any{"kind": "retry_after", "change": "Wait, then call again.", "retry_after_seconds": 5}},
		"alternatives": []any{},
	}, "", "  ")
	if err != nil {
		body = []byte(`{"ok": false}`)
	}
	return powers.Answer{JSON: body, IsError: true, Status: 503}
}

func isObject(b []byte) bool { return len(b) > 0 && b[0] == '{' }

// quiet passes on what the SDK warns of. It reports every request's coming and
// going as information, which would drown everything else.
func quiet(l *slog.Logger) *slog.Logger { return slog.New(warnings{l.Handler()}) }

type warnings struct{ slog.Handler }

func (h warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}
func (h warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{h.Handler.WithAttrs(attrs)}
}
func (h warnings) WithGroup(name string) slog.Handler { return warnings{h.Handler.WithGroup(name)} }
