//go:build !race

package reach

import (
	"slices"
	"testing"

	"github.com/reeve-go/reeve/operator/powers"
)

func TestNoToolReachesAPersonsAct(t *testing.T) {
	p := load(t, nil)
	tools, acts := p.faces(t)
	handlers := p.rows(t, "Tool", "Group")
	initial := p.pkg(t, powersPath).Func("init")
	g := p.flows()
	reached := p.from(g, tools, nil)

	t.Run("a call of a tool leads to nothing that makes a Person", func(t *testing.T) {
		if way := reached.first(p.person.makes); way != nil {
			t.Errorf("a Person can be had from a tool:\n\t%s", text(way))
		}
	})
	t.Run("a call of a tool leads to nothing that administers", func(t *testing.T) {
		if way := reached.first(p.nobodys(t)); way != nil {
			t.Errorf("what is called in nobody's name can be had from a tool:\n\t%s", text(way))
		}
	})
	t.Run("a call of an act does, so the graph has the way", func(t *testing.T) {
		if p.from(g, acts, nil).first(p.person.makes) == nil {
			t.Errorf("nothing that makes a Person is reached from %v", acts)
		}
	})
	t.Run("the handler of every tool that is served is reached", func(t *testing.T) {
		for _, f := range handlers {
			if _, is := reached[f]; !is {
				t.Errorf("a call of the schedule does not lead to %v", f)
			}
		}
		schedule, err := powers.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		if served := len(schedule.Tools()); p.handling(t, handlers) < served {
			t.Errorf("%d tools are served, and these handlers were found: %v", served, handlers)
		}
	})
	t.Run("nothing that a handler can start takes a Person", func(t *testing.T) {
		roots := append(slices.Clone(handlers), initial)
		if way := p.takers(p.grown(roots), roots, nil); way != nil {
			t.Errorf("a Person's act can run:\n\t%s", text(way))
		}
	})
	t.Run("an act can start what does", func(t *testing.T) {
		roots := p.rows(t, "Act")
		if p.takers(p.grown(roots), roots, nil) == nil {
			t.Errorf("nothing that takes a Person is reached from %v", roots)
		}
	})
	t.Run("no Person outlives the call that it was proved for", func(t *testing.T) {
		for _, f := range p.kept(t) {
			t.Error(f)
		}
	})
	t.Run("no tool is made of what a graph cannot read", func(t *testing.T) {
		for _, f := range p.doors(t) {
			t.Error(f)
		}
	})
}
