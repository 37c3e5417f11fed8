package powers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/internal/core"
	"github.com/reeve-go/reeve/operator/internal/schema"
	"github.com/reeve-go/reeve/operator/internal/strict"
)

// Toolset names a group of tools that are switched on together.
type Toolset string

// The toolsets.
const (
	ToolsetOperator  Toolset = "operator"  // the operator's own tools
	ToolsetApprovals Toolset = "approvals" // what polls a call that waits for a person
)

// Primitive is the unit that an account's kit switches on and off.
type Primitive string

// The primitives that have tools. core has the whole list, and lint holds every row
// to it.
const (
	Intents Primitive = "intents"
	Board   Primitive = "board"
)

// Spec is what a row of the schedule says of itself.
type Spec struct {
	Name      string
	Title     string
	What      string // what it is for, when to use it, when not, what it answers
	Class     Class
	Primitive Primitive
	Kinds     []operator.Kind
	Scopes    []operator.Scope
	Routes    []Route
	Rereads   bool      // the tool that a refusal names for looking again
	AlwaysOn  bool      // a read of what runs: no kit, rate limit or repetition holds it up
	Instead   []Instead // what may serve a caller who was refused this one
	Idempotent,
	Destructive,
	OpenWorld bool
}

// Route is one way to a tool over REST.
type Route struct {
	Method string
	Path   string            // such as /v1/intents/{id}
	Rename map[string]string // path or query names that differ from the argument's
	part   *part             // nil: the whole answer
}

// part is what a route answers of a tool's whole answer.
type part struct {
	of     func(any) (any, error)
	answer answerType
}

// partly makes a route answer a part. Its schema comes from the function's own type.
func partly[Whole, Part any](f func(Whole) (Part, error)) *part {
	return &part{answer: answerOf[Part](), of: func(whole any) (any, error) { return f(whole.(Whole)) }}
}

// answerType is what an answer looks like.
type answerType struct {
	typ    reflect.Type
	schema jsontext.Value
}

func answerOf[Out any]() answerType {
	t := reflect.TypeFor[Out]()
	return answerType{t, must(schema.For(t, schema.Options{Output: true, Types: describedTypes}))}
}

// Tool is a row of the schedule, ready to be listed and called.
type Tool struct {
	Spec
	Toolset      Toolset
	Description  string
	InputSchema  jsontext.Value
	OutputSchema jsontext.Value // exact, for documents; a listing may show a plain object
	answer       answerType
	decode       func(*strict.Decoder, []byte) (any, error)
	handle       handler
	form         *form                   // of the arguments, as far as they count
	shape        func(any) []gate.Action // of a row that spends: what a call would do
	asks         asker                   // of a row that may park: what a person is asked; nil: it never does
}

// handler is what a row does once every check has passed.
type handler func(context.Context, receivers, operator.Principal, any) (any, error)

// ReadOnly says that a call changes nothing.
func (t *Tool) ReadOnly() bool { return t.Class == Read }

// Keyed says that an idempotency key makes a call happen at most once.
func (t *Tool) Keyed() bool { return !t.ReadOnly() }

// MayPark says that a call may have to wait for a person.
func (t *Tool) MayPark() bool { return t.asks != nil }

// AnswerOf is the name of the type that a route answers, and its exact schema.
func (t *Tool) AnswerOf(r *Route) (name string, schema jsontext.Value) {
	a := t.answerOf(r)
	return a.typ.Name(), a.schema
}

// Creates says that a success of the route may be 201, with the row that was made.
func (t *Tool) Creates(r *Route) bool {
	return r.Method == "POST" && t.answerOf(r).typ == reflect.TypeFor[operator.Intent]()
}

func (t *Tool) answerOf(r *Route) answerType {
	if r.part != nil {
		return r.part.answer
	}
	return t.answer
}

// receivers holds the services whose methods the rows are bound to.
type receivers map[reflect.Type]any

// define makes a row of a method expression of a service. Everything about its
// arguments and its answer comes from the method's own types.
func define[S, In, Out any](spec Spec, f func(S, context.Context, operator.Principal, In) (Out, error)) Tool {
	answer := answerOf[Out]()
	return Tool{
		Spec:         spec,
		Description:  spec.What,
		InputSchema:  must(schema.For(reflect.TypeFor[In](), schema.Options{Types: describedTypes})),
		OutputSchema: answer.schema,
		answer:       answer,
		decode: func(d *strict.Decoder, raw []byte) (any, error) {
			in := new(In)
			return in, d.Decode(raw, in)
		},
		handle: func(ctx context.Context, all receivers, p operator.Principal, in any) (any, error) {
			s, ok := all[reflect.TypeFor[S]()].(S)
			if !ok {
				return nil, fmt.Errorf("no %v was given to the schedule", reflect.TypeFor[S]())
			}
			return f(s, ctx, p, *in.(*In))
		},
	}
}

// must stops the program at its start: a row that cannot be described is a
// mistake in the table.
func must(b []byte, err error) jsontext.Value {
	if err != nil {
		panic("powers: " + err.Error())
	}
	return b
}

// Group is the rows of one toolset.
type Group struct {
	Toolset Toolset
	Tools   []Tool
}

// rows lays the groups end to end, in declaration order.
func rows(groups ...Group) []*Tool {
	var out []*Tool
	for _, g := range groups {
		for i := range g.Tools {
			t := &g.Tools[i]
			t.Toolset = g.Toolset
			if t.takesActor() {
				t.InputSchema = must(withActor(t.InputSchema))
			}
			t.form = formOf(t.InputSchema)
			out = append(out, t)
		}
	}
	return out
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// lint says what a row lacks of what its class demands.
func (t *Tool) lint() error {
	var all []error
	want := func(ok bool, what string) {
		if !ok {
			all = append(all, fmt.Errorf("tool %s: %s", t.Name, what))
		}
	}
	want(nameForm.MatchString(t.Name), "its name must be a-z, 0-9 and _, at most 40 characters")
	want(t.Title != "" && t.What != "", "it needs a title and a description")
	want(t.Class.Valid(), "it needs a class")
	want(core.Primitive(t.Primitive).Known(), "it needs a primitive of the list")
	want(!t.AlwaysOn || t.Class == Read, "only a read is always on; a brake is so by its class")
	want(len(t.Kinds) > 0, "it needs the kinds that may call it")
	want(len(t.Scopes) > 0, "it needs a scope")
	want(len(t.Routes) > 0, "it needs a REST route")
	want((t.Class == Spend) == (t.shape != nil), "a tool that spends, and no other, has a gate shape: define it with spend")
	want(t.asks == nil || t.Class == Write || t.Class == Gated || t.Class == Spend, "only what changes something can wait for a person, and a brake never does")
	for _, k := range t.Kinds {
		want(k != operator.KindChannel, "a channel calls no tool")
	}
	for _, r := range t.Routes {
		want((r.Method == "GET") == (t.Class == Read), "a read is a GET, and nothing else is")
	}
	return errors.Join(all...)
}

// takesActor says that an `actor` argument is accepted, of any type, and thrown
// away. Clients written for other servers send one; identity is never taken from it.
func (t *Tool) takesActor() bool { return t.Toolset == ToolsetOperator && t.Class != Read }

const actorKey = "actor"

// withActor adds the property to a schema.
func withActor(in jsontext.Value) (jsontext.Value, error) {
	members, err := strict.Members(in)
	if err != nil {
		return nil, err
	}
	properties, ok := strict.Find(members, "properties")
	if !ok {
		return nil, errors.New("the schema has no properties")
	}
	at := properties.Offset + len(properties.Value) - 1
	// A length of at least nothing holds for every value, of any type. Without one
	// keyword that could refuse something, some clients warn of the tool.
	more := `"actor":{"minLength":0,"description":"Accepted and thrown away: who calls is known from the credential."}`
	if string(properties.Value) != "{}" {
		more = "," + more
	}
	return jsontext.Value(string(in[:at]) + more + string(in[at:])), nil
}

// withoutActor cuts the argument out before the rest is decoded. What is wrong
// with raw as a whole was found before.
func withoutActor(raw []byte) ([]byte, error) {
	members, err := strict.Members(raw)
	if err != nil {
		return raw, err
	}
	if _, there := strict.Find(members, actorKey); !there {
		return raw, nil
	}
	out := []byte{'{'}
	for _, m := range members {
		if m.Name == actorKey {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), m.Value...)
	}
	return append(out, '}'), nil
}
