package cpython

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
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
	names, whole := r.threadNames()
	for i := range s.Threads {
		t := &s.Threads[i]
		ident, ok := o.identFor(t)
		if !ok {
			continue
		}
		out[t.TID] = profile.RuntimeThread{Language: "Python", Name: names[ident]}
		if names[ident] == "" && !whole {
			add(out, t.TID, "its name in Python was not read")
		}
	}
	own := r.ownersIn(s)
	for tid, id := range own.interp {
		add(out, tid, fmt.Sprintf("in interpreter %d", id))
	}
	for _, g := range r.gils() {
		r.gilFacts(s, own, g, out)
	}
	if r.green != nil {
		for tid, text := range r.green.facts {
			add(out, tid, text)
		}
	}
	return out
}

// add adds a fact of the thread tid to out.
func add(out map[int]profile.RuntimeThread, tid int, text string) {
	f := out[tid]
	f.Language = "Python"
	f.Facts = append(f.Facts, text)
	out[tid] = f
}

// gilFacts says who holds g and who waits for it.
func (r *Runtime) gilFacts(s *snapshot.Snapshot, own owners, g gil, out map[int]profile.RuntimeThread) {
	with, state, known := r.copiedWith(s, g)
	holder := own.states[state]
	if state == 0 {
		holder = nil
	}
	if main := own.states[r.roster.Load().oldest]; !known && main != nil {
		add(out, main.TID, "who holds "+g.name()+" was not read")
	}
	if with != nil && g.off(r.layout, r.stopped(with, nil)) {
		add(out, with.TID, "the interpreter runs without a GIL")
	}
	if holder != nil {
		text := "holds " + g.name()
		if inCall(holder) {
			text += " in a system call"
		}
		add(out, holder.TID, text)
		if g.interp == 0 && r.collecting(s) {
			add(out, holder.TID, "collects garbage")
		}
	}
	waiters := r.waiters(&g, s, r.live)
	for i := range s.Threads {
		t := &s.Threads[i]
		if !waiters[t.TID] || t == holder {
			continue
		}
		text := profile.WaitFact + g.name()
		switch {
		case holder != nil:
			text += fmt.Sprintf(", held by %d", holder.TID)
			if name := out[holder.TID].Name; name != "" {
				text += fmt.Sprintf(" %q", name)
			}
			if inCall(holder) {
				text += profile.InCall
				f := out[t.TID]
				f.HeldBy = holder.TID
				out[t.TID] = f
			}
		case known && state == 0:
			text += ", which is free"
		}
		add(out, t.TID, text)
	}
}

// inCall reports whether t is blocked in a system call: then whoever waits for what it holds waits for that call.
func inCall(t *snapshot.Thread) bool {
	if t.Syscall == nil || t.Syscall.Number < 0 || t.State == 'R' {
		return false
	}
	if t.Registers == nil || t.Registers.Arch.Syscall == regs.NoReg {
		return true
	}
	call := snapshot.CallOf(t.Registers)
	return call != nil && call.Number == t.Syscall.Number
}

// copiedWith returns the thread that g was copied with, and the state of the thread that holds it, 0 for none. known
// is false if nobody's copy has it.
func (r *Runtime) copiedWith(s *snapshot.Snapshot, g gil) (with *snapshot.Thread, state mem.Addr, known bool) {
	for i := range s.Threads {
		t := &s.Threads[i]
		for k := range t.Copied {
			if b, ok := t.Copied[k].Bytes(g.at, gilSize); ok {
				return t, holderIn(b), true
			}
		}
	}
	return nil, 0, false
}

// collecting reports whether the garbage collector of the main interpreter is at work, as it was copied with any
// thread.
func (r *Runtime) collecting(s *snapshot.Snapshot) bool {
	at := r.collectingAt(r.roster.Load())
	for i := range s.Threads {
		for _, c := range s.Threads[i].Copied {
			if b, ok := c.Bytes(at, 4); ok {
				return order.Uint32(b) == 1
			}
		}
	}
	return false
}

// threadNames reads the names that the threading module has for threads, by pthread_self. The process runs meanwhile:
// what does not fit is left out. whole is false if some could not be read.
func (r *Runtime) threadNames() (names map[mem.Addr]string, whole bool) {
	names = map[mem.Addr]string{}
	l, m := r.layout, r.running()
	dict, ok := r.moduleDict(m, "threading")
	if !ok {
		return names, m.Fault() == nil
	}
	active, ok := l.Item(m, dict, "_active")
	if !ok {
		return names, m.Fault() == nil
	}
	whole = l.Entries(m, active, func(key, value mem.Addr) bool {
		ident, ok := l.IntAt(m, key)
		at, ok2 := l.Attribute(m, value, "_name")
		if name, ok3 := l.StringAt(m, at); ok && ok2 && ok3 {
			names[mem.Addr(ident)] = name
		}
		return len(names) < maxThreads
	})
	return names, whole && m.Fault() == nil
}
