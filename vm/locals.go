package vm

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// LocalsReader is a runtime that knows the local variables of its frames.
type LocalsReader interface {
	// LocalsCopier copies them in the stop.
	LocalsCopier() snapshot.ProcessCopier
	// Locals gives those of the frames of s, by their numbers: from whole, what was copied of the process.
	Locals(whole *mem.Overlay, s *unwind.Stack) map[int][]profile.Variable
}

// LocalsCopiers are what the runtimes need to be copied for local variables.
func (p *Process) LocalsCopiers() []snapshot.ProcessCopier {
	var all []snapshot.ProcessCopier
	for _, r := range p.all {
		if l, ok := r.(LocalsReader); ok {
			all = append(all, l.LocalsCopier())
		}
	}
	return all
}

// Locals are the local variables of the frames of s, by their numbers.
func (p *Process) Locals(whole *mem.Overlay, s *unwind.Stack) map[int][]profile.Variable {
	var out map[int][]profile.Variable
	for _, r := range p.all {
		l, ok := r.(LocalsReader)
		if !ok {
			continue
		}
		p.keep(module.Guard(r.String(), func() error {
			for n, all := range l.Locals(whole, s) {
				if out == nil {
					out = map[int][]profile.Variable{}
				}
				out[n] = all
			}
			return nil
		}))
	}
	return out
}
