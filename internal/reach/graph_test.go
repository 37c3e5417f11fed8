//go:build !race

package reach

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/rta"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/ssa"
)

// flows is the graph of the first check: what each call can lead to, by where in
// the whole program the values came from that it goes through.
func (p *program) flows() *callgraph.Graph { return vta.CallGraph(p.funcs, nil) }

// grown is the graph of the second check: what can run at all when nothing but
// roots has been started.
func (p *program) grown(roots []*ssa.Function) *rta.Result { return rta.Analyze(roots, true) }

// steps are the functions that were reached, each with the call that did it
// first; a root has none.
type steps map[*ssa.Function]*callgraph.Edge

// from walks a graph, the nearest first, and around the functions that leave names
// (nil: none).
//
// A helper that is given a function calls the functions of all who use it, as the
// graph has it: a transaction started by a tool seems to run the body of every
// act's. So a closure that stays with the function that made it is reached only
// where that function is.
func (p *program) from(g *callgraph.Graph, roots []*ssa.Function, leave func(*ssa.Function) bool) steps {
	seen := steps{}
	var next []*callgraph.Node
	waiting := map[*ssa.Function][]*callgraph.Edge{} // by the function that makes the closure
	reach := func(n *callgraph.Node, by *callgraph.Edge) {
		if _, before := seen[n.Func]; !before {
			seen[n.Func] = by
			next = append(next, n)
		}
	}
	for _, f := range roots {
		if n := g.Nodes[f]; n != nil {
			reach(n, nil)
		}
	}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for _, e := range slices.Concat(at.Out, waiting[at.Func]) {
			f := e.Callee.Func
			if arrives(e) || leave != nil && leave(f) {
				continue
			}
			if _, made := seen[f.Parent()]; !made && p.stays(f) {
				waiting[f.Parent()] = append(waiting[f.Parent()], e)
				continue
			}
			reach(e.Callee, e)
		}
	}
	return seen
}

// arrives says that a call is a request coming in: somebody else's server calls
// our handler of HTTP. Both graphs take whoever can write to something for one
// who can write to a server's connection, and so wake the server up. But what
// lies behind that door begins with a credential, as it does for everybody, and
// a tool is never shown one. Code of ours that calls such a handler itself is
// followed, and so is every other callback.
func arrives(e *callgraph.Edge) bool {
	return !isOurs(home(e.Caller.Func)) && isOurs(home(e.Callee.Func)) && handlesHTTP(e.Callee.Func.Signature)
}

func handlesHTTP(s *types.Signature) bool {
	return s.Params().Len() == 2 && s.Params().At(0).Type().String() == "net/http.ResponseWriter" &&
		s.Params().At(1).Type().String() == "*net/http.Request"
}

// first is the nearest function reached that is of a kind, and nil where there
// is none.
func (s steps) first(is func(*ssa.Function) bool) []*ssa.Function {
	var best []*ssa.Function
	for f := range s {
		if !is(f) {
			continue
		}
		if way := s.way(f); best == nil || len(way) < len(best) || len(way) == len(best) && text(way) < text(best) {
			best = way
		}
	}
	return best
}

// way is the functions from a root to f.
func (s steps) way(f *ssa.Function) []*ssa.Function {
	out := []*ssa.Function{f}
	for e := s[f]; e != nil; e = s[e.Caller.Func] {
		out = append(out, e.Caller.Func)
	}
	slices.Reverse(out)
	return out
}

func text(way []*ssa.Function) string {
	lines := make([]string, len(way))
	for i, f := range way {
		lines[i] = strings.ReplaceAll(f.String(), module+"/", "")
	}
	return strings.Join(lines, "\n\t-> ")
}

// takers is the way to the nearest function that takes or makes a Person. Only its
// end, where the graph has none: its receiver's type is known at run time, and so
// it might be called by reflection. A Person's own methods are left out then. Any
// method that has a Person for an argument makes the type known, and that brings
// no value of it; what such a method would call is in the graph all the same.
func (p *program) takers(r *rta.Result, roots []*ssa.Function, leave func(*ssa.Function) bool) []*ssa.Function {
	bad := func(f *ssa.Function) bool { return p.person.takes(f) || p.person.makes(f) }
	if way := p.from(r.CallGraph, roots, leave).first(bad); way != nil {
		return way
	}
	alone := steps{}
	for f := range r.Reachable {
		if receiver := f.Signature.Recv(); receiver == nil || !p.person.is(receiver.Type()) {
			alone[f] = nil
		}
	}
	return alone.first(bad)
}
