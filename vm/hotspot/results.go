package hotspot

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// Names of what computes results.
const (
	futureTask  = "java/util/concurrent/FutureTask"
	runnerField = "runner"
	completable = "java.util.concurrent.CompletableFuture"
)

// completableGets are the methods in which a thread waits for a CompletableFuture, which is their first local variable.
var completableGets = []string{completable + ".waitingGet", completable + ".timedGet"}

// completableRuns are the methods that compute the result of one: it is their second local variable.
var completableRuns = []string{completable + "$AsyncSupply.run", completable + "$AsyncRun.run"}

// future adds the FutureTask that thread number i is parked for: it says which thread runs it.
func (g *graph) future(i int, w *waiter, v *view.View) bool {
	if _, err := g.j.classNamed(v, w.blocker, futureTask); err != nil {
		return false
	}
	offset, err := g.j.meta.Field(g.r.lasting(), w.class, runnerField)
	if err != nil {
		return false
	}
	v.TakeLate()
	runner, err := g.j.heap.Reference(v, w.blocker+mem.Addr(offset))
	if err != nil {
		return false
	}
	late := v.TakeLate()
	l := waits.Lock{Name: "the result of " + g.describe(v, w.blocker), Number: uint64(w.blocker), Kind: waits.Result}
	switch owner := g.threadAt(runner); {
	case runner == 0:
		l.Kind, l.Note = waits.Unbegun, "which no thread has begun to compute"
	case owner >= 0:
		l.Owner, l.Instant = g.tids[owner], !late && g.instant[i] && g.instant[owner]
		l.Evidence = fmt.Sprintf("%s of %#x is thread %d", runnerField, uint64(w.blocker), l.Owner)
	default:
		l.Note = "which a virtual thread computes that no thread runs"
	}
	g.add(g.tids[i], l)
	return true
}

// completable adds the CompletableFuture that thread number i waits for, and which thread computes it: frames of the
// interpreter say it, which those that wait long mostly are.
func (g *graph) completable(i int, s *unwind.Stack) bool {
	future, ok := g.local(i, s, completableGets, 0)
	if !ok {
		return false
	}
	l := waits.Lock{Name: "the result of " + g.describe(&g.views[i], future), Number: uint64(future),
		Kind: waits.Result,
		Note: "of which it is not known who computes it"}
	for k := range g.all {
		if at, ok := g.local(k, g.stacks[k], completableRuns, 1); ok && at == future && k != i {
			l.Owner, l.Note, l.Instant = g.tids[k], "", g.instant[i] && g.instant[k]
			l.Evidence = fmt.Sprintf("it is a local variable of %s in thread %d", completable, l.Owner)
		}
	}
	g.add(g.tids[i], l)
	return true
}

// local is a local variable, by its number, of the innermost frame of the interpreter of one of methods on the stack of
// thread number i: a reference. It is false where compiled code has it.
func (g *graph) local(i int, s *unwind.Stack, methods []string, number int) (mem.Addr, bool) {
	if s == nil {
		return 0, false
	}
	for k := range s.Frames {
		f := &s.Frames[k]
		if f.Runtime != unwind.Runtime(g.r) || f.CFA == 0 {
			continue
		}
		all := g.r.list(f.Site)
		if len(all) != 1 || all[0].Tier != interpreterTier || !slices.Contains(methods, all[0].Func) {
			continue
		}
		caller := mem.Addr(0)
		if k+1 < len(s.Frames) {
			caller = s.Frames[k+1].PC
		}
		fp, ok := g.framePointer(i, f.CFA, caller)
		if !ok {
			return 0, false
		}
		return g.variable(&g.views[i], fp, number)
	}
	return 0, false
}

// framePointer is that of a frame of the interpreter on the stack of thread number i, by the stack pointer of its
// caller, which it keeps below, and where it returns to.
func (g *graph) framePointer(i int, sender, caller mem.Addr) (mem.Addr, bool) {
	stack := g.threads[i].Stack
	if g.r.port.resetsSP && g.j.interprets(caller) { // what it keeps is what the caller sets again
		fp := sender - 2*wordSize
		return fp, g.hasMethod(i, fp)
	}
	const farthest = 4 << 10 // below the caller's stack pointer: the interpreter's own words and its local variables
	for at := sender - 2*wordSize; at+farthest > sender && at >= stack.Start; at -= wordSize {
		b, ok := stack.Bytes(at, wordSize)
		if !ok {
			return 0, false
		}
		if mem.Addr(view.WordsOf(b)[0]) != sender {
			continue
		}
		if fp := at + wordSize; g.hasMethod(i, fp) {
			return fp, true
		}
	}
	return 0, false
}

// hasMethod reports whether a frame of the interpreter with that frame pointer has a method.
func (g *graph) hasMethod(i int, fp mem.Addr) bool {
	m, err := g.views[i].Word(fp - mem.Addr(-methodSlot))
	if err != nil {
		return false
	}
	_, err = g.r.methodAt(g.j, mem.Addr(m))
	return err == nil
}

// variable is a local variable of the frame of the interpreter with that frame pointer. Where the variables are the
// frame says by their address, from JDK 21 on by how many words they are above the frame pointer.
// Source: interpreter_frame_locals_offset in src/hotspot/cpu/x86/frame_x86.hpp.
func (g *graph) variable(v *view.View, fp mem.Addr, number int) (mem.Addr, bool) {
	w, err := v.Word(fp - (g.j.bcpSlot - wordSize))
	if err != nil {
		return 0, false
	}
	const relative = maxFrame / wordSize
	locals := mem.Addr(w)
	if w < relative {
		locals = fp + mem.Addr(w*wordSize)
	}
	if locals <= fp || locals-fp > maxFrame {
		return 0, false
	}
	object, err := v.Word(locals - mem.Addr(number*wordSize))
	return mem.Addr(object), err == nil && object != 0 && object%wordSize == 0
}
