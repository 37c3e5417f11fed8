package powers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/reeve-go/reeve/operator"
)

type keptField struct {
	who operator.Person // want "the field who"
}

type keptPointer struct {
	who *operator.Person // want "the field who"
}

type keptEmbedded struct {
	operator.Person // want "the field Person"
}

type keptDeep struct {
	list []map[string]keptField // want "the field list"
}

type keptArray [2]operator.Person

type keptBox[T any] struct{ it T }

var (
	keptGlobal  operator.Person                 // want "the variable keptGlobal"
	keptMap     map[int64]operator.Person       // want "the variable keptMap"
	keptByWhom  map[*operator.Person]bool       // want "the variable keptByWhom"
	keptList    []operator.Person               // want "the variable keptList"
	keptChannel chan operator.Person            // want "the variable keptChannel"
	keptTwo     keptArray                       // want "the variable keptTwo"
	keptShared  atomic.Pointer[operator.Person] // want "the variable keptShared"
	keptBoxed   keptBox[operator.Person]        // want "the variable keptBoxed"
	keptAny     []any
	keptWork    []func()
	keptByName  = map[string]func(){}
	keptQueue   = make(chan func())
)

type keptKey struct{}

type keptCall struct {
	tool string
	run  func(context.Context) error
}

func keptInAContext(ctx context.Context, p operator.Person) context.Context {
	return context.WithValue(ctx, keptKey{}, p) // want "a Person becomes"
}

func keptAsAnything(p operator.Person) {
	keptAny = append(keptAny, p) // want "a Person becomes"
}

func keptByItsAddress(p operator.Person) {
	keptAny = append(keptAny, &p) // want(-1) "a Person becomes"
}

func keptThroughAGeneric(p operator.Person) { keptGenerically(p) }

func keptGenerically[T any](it T) {
	keptAny = append(keptAny, it) // want "a Person becomes"
}

func keptWhileItPanics(p operator.Person) {
	panic(p) // want "a Person becomes"
}

func keptInText(p operator.Person) string {
	return fmt.Sprint(p) // want "a Person becomes"
}

func keptInLocals(p operator.Person) int {
	list := make([]operator.Person, 0, 1) // want "a value of type"
	return cap(list)
}

func keptInAParkedCall(op *operator.Operator, p operator.Person) *keptCall {
	return &keptCall{tool: "approve", run: func(ctx context.Context) error {
		_, err := op.Approve(ctx, p, operator.ActInput{}) // want(-1) "a function that holds a Person is put away"
		return err
	}}
}

func keptInAMapOfWork(op *operator.Operator, p operator.Person) {
	work := func() { _ = p.ID() }
	keptByName["id"] = work // want "a function that holds a Person is put away"
}

func keptInAQueue(p operator.Person) {
	keptQueue <- func() { _ = p.ID() } // want "a function that holds a Person is put away"
}

func keptByWhoeverAsked(p operator.Person) func() string {
	return func() string { return p.ID() } // want "a function that holds a Person is put away"
}

func keptBySomebodyElse(p operator.Person) {
	keptLater(func() { _ = p.ID() })
}

func keptLater(f func()) {
	keptWork = append(keptWork, f) // want "a function that holds a Person is put away"
}

func keptAsABoundMethod(p operator.Person) func() string {
	return p.ID // want "a function that holds a Person is put away"
}

func keptInAVariableFirst(p operator.Person) {
	var work func()
	name := func() { work() }
	work = func() { _ = p.ID() }
	keptWork = append(keptWork, name) // want "a function that holds a Person is put away"
}

// What is allowed: arguments, variables of a function's own, functions that are
// called and forgotten.
func keptNowhere(ctx context.Context, op *operator.Operator, p operator.Person) error {
	again := p
	act := func(who operator.Person) error {
		_, err := op.Approve(ctx, who, operator.ActInput{})
		return err
	}
	run := func(f func() error) error { return f() }
	return errors.Join(act(again), run(func() error { return act(p) }))
}
