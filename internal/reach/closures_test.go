//go:build !race

package reach

import "golang.org/x/tools/go/ssa"

// leaks follows a function's value through the code of ours, and tells of each
// place where it may come to outlive the function that made it. It goes along
// where the value is called, assigned to a variable, closed over, or handed to a
// function of ours. unknown says that it was handed to somebody else's code, or to
// what is known only when it runs.
type leaks struct {
	tell func(at ssa.Instruction, unknown bool)
	seen map[ssa.Value]bool
}

func (l *leaks) follow(v ssa.Value) {
	if l.seen[v] || v.Referrers() == nil {
		return
	}
	l.seen[v] = true
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			l.stored(use)
		case *ssa.ChangeType:
			l.follow(use)
		case *ssa.Phi:
			l.follow(use)
		case *ssa.MakeClosure:
			l.closedOver(use, v, l.follow)
		case ssa.CallInstruction:
			l.handed(use, v)
		case *ssa.BinOp, *ssa.DebugRef: // compared with nil
		default:
			l.tell(use, false)
		}
	}
}

// stored goes on with the variable that a value was assigned to.
func (l *leaks) stored(s *ssa.Store) {
	switch to := s.Addr.(type) {
	case *ssa.Alloc:
		l.variable(to)
	case *ssa.FreeVar:
		l.tell(s, false) // whose variable it is, its parent's other closures know
	default:
		l.tell(s, false)
	}
}

// variable goes on with whatever reads a variable: in its function, or in one that
// closes over it.
func (l *leaks) variable(v ssa.Value) {
	if l.seen[v] {
		return
	}
	l.seen[v] = true
	for _, use := range *v.Referrers() {
		switch use := use.(type) {
		case *ssa.Store:
			if use.Val == v {
				l.tell(use, false) // its address is kept
			}
		case *ssa.UnOp:
			l.follow(use)
		case *ssa.MakeClosure:
			l.closedOver(use, v, l.variable)
		case *ssa.DebugRef:
		default:
			l.tell(use, false)
		}
	}
}

func (l *leaks) closedOver(c *ssa.MakeClosure, v ssa.Value, within func(ssa.Value)) {
	for n, b := range c.Bindings {
		if b == v {
			within(c.Fn.(*ssa.Function).FreeVars[n])
		}
	}
	l.follow(c)
}

func (l *leaks) handed(call ssa.CallInstruction, v ssa.Value) {
	c := call.Common()
	callee := c.StaticCallee()
	for n, arg := range c.Args {
		switch {
		case arg != v:
		case callee != nil && isOurs(home(callee)) && n < len(callee.Params):
			l.follow(callee.Params[n])
		default:
			l.tell(call, true)
		}
	}
}

// stays says that a closure can be called only by what the function that made it
// has called or started: nothing puts it away, and no code but ours is given it.
func (p *program) stays(f *ssa.Function) bool {
	answer, asked := p.staying[f]
	if !asked {
		answer = staysWith(f)
		p.staying[f] = answer
	}
	return answer
}

func staysWith(f *ssa.Function) bool {
	if f.Parent() == nil || !isOurs(home(f)) || len(f.FreeVars) == 0 {
		return false // one that closes over nothing is no value that can be followed
	}
	stays := true
	l := &leaks{tell: func(ssa.Instruction, bool) { stays = false }, seen: map[ssa.Value]bool{}}
	for _, b := range f.Parent().Blocks {
		for _, i := range b.Instrs {
			if c, ok := i.(*ssa.MakeClosure); ok && c.Fn == f {
				l.follow(c)
			}
		}
	}
	return stays
}
