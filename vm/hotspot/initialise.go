package hotspot

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/hotspot/threads"
	"github.com/fpstack/fpstack/waits"
)

const (
	// classWords is how much of a stack is searched for the class that is initialised: the frames of the JVM below the
	// method that needs it.
	classWords = 768
	maxClasses = 24
)

// innermost are the copied words of the innermost part of the stack of t.
func innermost(t *snapshot.Thread) []byte {
	sp := t.Stack.Start
	if t.Registers != nil {
		sp, _ = t.Registers.SP()
	}
	if sp < t.Stack.Start || sp >= t.Stack.End() {
		return nil
	}
	data := t.Stack.Data[sp-t.Stack.Start:]
	return data[:min(len(data)/wordSize, classWords)*wordSize]
}

// classesOn are addresses on the innermost part of the stack of t where classes may be, each once.
func (j *jvm) classesOn(t *snapshot.Thread, to []mem.Addr) []mem.Addr {
	space, ok := j.heap.ClassSpace()
	for words := innermost(t); len(words) > 0 && len(to) < cap(to); words = words[wordSize:] {
		a := mem.Addr(binary.LittleEndian.Uint64(words))
		if a%wordSize == 0 && (!ok || space.Holds(a)) && a > 1<<16 && !in(to, a) {
			to = append(to, a)
		}
	}
	return to
}

// initialises reports whether t is in a function in which threads wait for the initialisation of a class, or may be:
// where no word of its stack leads there it is not.
func (in *inner) initialises(t *snapshot.Thread) bool {
	for words := innermost(t); len(words) > 0; words = words[wordSize:] {
		call := mem.Addr(regs.StripPAC(binary.LittleEndian.Uint64(words), t.PACMask)) - 1
		if in.initialise.Holds(call) && slices.ContainsFunc(in.initialisers, func(f mem.Span[mem.Addr]) bool {
			return f.Holds(call)
		}) {
			return true
		}
	}
	return false
}

// lookAtClasses copies by f who initialises the classes on the stack of t, which may wait for that. Without a space of
// their own too many words could be classes: that is read later.
func (j *jvm) lookAtClasses(f *snapshot.Fetcher, t *snapshot.Thread, w *waiter, in *inner) {
	if _, ok := j.heap.ClassSpace(); !ok || w.State != threads.Blocked || w.Pending != 0 || w.blocker != 0 ||
		in == nil || !in.initialises(t) {
		return
	}
	var room [maxClasses]mem.Addr
	var wants [maxClasses]snapshot.Want
	n := 0
	for _, class := range j.classesOn(t, room[:0]) {
		wants[n].Addr, wants[n].Len = j.meta.InitialiserAt(class)
		n++
	}
	f.Fetch(wants[:n]...)
}

// initialisation adds the class that thread number i, t, waits for, which another initialises: its stack has it.
func (g *graph) initialisation(i int, t *snapshot.Thread, s *unwind.Stack) {
	if g.r.partOf(s) != initialising {
		return
	}
	v := &g.views[i]
	room := make([]mem.Addr, 0, classWords)
	found, owner := mem.Addr(0), -1
	for _, class := range g.j.classesOn(t, room) {
		at, err := g.j.meta.Initialiser(v, class)
		k := g.threadOf(at)
		if err != nil || at == 0 || k < 0 || k == i {
			continue
		}
		if name, err := g.j.meta.ClassName(g.r.lasting(), class); err != nil || name == "" {
			continue
		}
		if found != 0 {
			return // which of them is not known
		}
		found, owner = class, k
	}
	if found == 0 {
		return
	}
	v.TakeLate()
	_, _ = g.j.meta.Initialiser(v, found) // was it copied?
	name, _ := g.j.meta.ClassName(g.r.lasting(), found)
	g.add(g.tids[i], waits.Lock{Name: "the initialisation of class " + className(dotted(name)), Number: uint64(found),
		Kind: waits.Initialisation, Owner: g.tids[owner],
		Instant:  !v.TakeLate() && g.instant[i] && g.instant[owner],
		Evidence: fmt.Sprintf("InstanceKlass %#x names thread %d as who initialises it", uint64(found), g.tids[owner])})
}

// threadOf is the number of the thread whose JavaThread is at an address, -1 for none.
func (g *graph) threadOf(at mem.Addr) int {
	for i := range g.all {
		if at != 0 && g.all[i].At == at {
			return i
		}
	}
	return -1
}
