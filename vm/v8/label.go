package v8

import (
	"math/bits"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

// label is the name that a function is shown with. All frames of a declaration share one, so that a class that is
// found late is in the names of all of them.
type label struct {
	name  string
	final bool   // nothing more can be found
	tries uint32 // to find the class
}

// shown is the name, or what V8 shows in place of none.
func (l *label) shown() string {
	if l.name == "" {
		return anonymous
	}
	return l.name
}

// declaration is a function as the source has it. It stays the same where the collector moves what V8 keeps of it, and
// in each worker that loads the same file.
type declaration struct {
	file, own string
	start     int
	shared    heap.Shared // of what has no place in a file that others can be found by; else the zero value
}

// labelOf returns the label of f.
func (s *book) labelOf(f *function) *label {
	d := declaration{own: f.own, start: f.start, shared: f.Shared}
	if f.script != nil && f.script.file != heap.Eval && f.start >= 0 {
		d.file, d.shared = f.script.file, heap.Shared{}
	}
	l, ok := s.labels.Get(d)
	if !ok {
		// An inferred name has its class, a private method no property that it could be found by.
		l = &label{name: f.own, final: strings.Contains(f.own, ".") || strings.HasPrefix(f.own, "#")}
		s.labels.Keep(d, l, functionCost)
	}
	return l
}

// findClass looks for the class that f is a method of, as the receiver of a call of its closure shows it. A function
// without a name gets that of the property. A receiver may not show it, while others of the same function do: they are
// tried the first time, the second, the fourth and so on.
func (r *Runtime) findClass(f *function, receiver heap.Tagged, closure mem.Addr, v *view.View) {
	l := f.label
	if l.final || receiver == 0 {
		return
	}
	if l.tries++; bits.OnesCount32(l.tries) != 1 {
		return
	}
	before := v.Fault()
	method, ok := r.heap(v).MethodOf(receiver, closure)
	if l.final = ok && (method.Class != "" || v.Fault() == before); !l.final && v.Fault() != before {
		l.tries-- // it is tried again
	}
	if !ok {
		return
	}
	if name := method.Name(f.own); name != l.name {
		l.name = name
		r.sites.renames++
	}
}

// Renames implements resolve.Renamer.
func (r *Runtime) Renames() int { return r.sites.renames }
