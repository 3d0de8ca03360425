package cpython

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
)

// ThreadFacts implements vm.ThreadDescriber: names of threads, who holds the GIL, who waits for it, and whether the
// garbage collector is at work.
func (r *Runtime) ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread {
	o := r.roster.Load()
	if len(o.interps) == 0 {
		return nil
	}
	out := map[int]profile.RuntimeThread{}
	names := r.threadNames()
	for i := range s.Threads {
		t := &s.Threads[i]
		ident, ok := o.identOf(t)
		if ok {
			out[t.TID] = profile.RuntimeThread{Language: "Python", Name: names[ident]}
		}
	}
	for _, g := range r.gils() {
		r.gilFacts(s, g, out)
	}
	return out
}

// identOf is the pthread_self of t, if it has a state.
func (o *roster) identOf(t *snapshot.Thread) (mem.Addr, bool) {
	if t.HasTP {
		_, ok := o.byIdent[t.TP]
		return t.TP, ok
	}
	state := o.of(t)
	for ident, at := range o.byIdent {
		if at == state && state != 0 {
			return ident, true
		}
	}
	return 0, false
}

// gilFacts says who holds g and who waits for it.
func (r *Runtime) gilFacts(s *snapshot.Snapshot, g gil, out map[int]profile.RuntimeThread) {
	add := func(t *snapshot.Thread, text string) {
		f := out[t.TID]
		f.Language = "Python"
		f.Facts = append(f.Facts, text)
		out[t.TID] = f
	}
	holder, state, known := r.holderOf(s, g)
	if holder != nil {
		add(holder, "holds "+g.name())
		if r.collecting(holder, state) {
			add(holder, "collects garbage")
		}
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		if !g.waits(t) || t == holder {
			continue
		}
		text := "waits for " + g.name()
		switch {
		case holder != nil:
			text += fmt.Sprintf(", held by %d", holder.TID)
			if name := out[holder.TID].Name; name != "" {
				text += fmt.Sprintf(" %q", name)
			}
		case known && state == 0:
			text += ", which is free"
		}
		add(t, text)
	}
}

// holderOf returns the thread that holds g and its state, as they were copied with any thread. known is false if
// nobody's copy has it.
func (r *Runtime) holderOf(s *snapshot.Snapshot, g gil) (holder *snapshot.Thread, state mem.Addr, known bool) {
	for i := range s.Threads {
		if state, known = g.holder(copiedMemory{&s.Threads[i]}); known {
			break
		}
	}
	if state != 0 {
		holder = r.stateOf(s, state)
	}
	return holder, state, known
}

// collecting reports whether the garbage collector of the interpreter is at work that the state belongs to, which was
// copied with t.
func (r *Runtime) collecting(t *snapshot.Thread, state mem.Addr) bool {
	m, l := copiedMemory{t}, r.layout
	at := r.at + mem.Addr(l.Interp.CollectingInRuntime)
	if l.Interp.Collecting != 0 {
		b, ok := m.Bytes(state, l.Thread.Size)
		if !ok {
			return false
		}
		at = l.ThreadOf(state, b).Interp + mem.Addr(l.Interp.Collecting)
	}
	b, ok := m.Bytes(at, 4)
	return ok && order.Uint32(b) == 1
}
