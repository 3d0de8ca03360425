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
	names := r.threadNames()
	for i := range s.Threads {
		t := &s.Threads[i]
		ident, ok := o.identOf(t)
		if ok {
			out[t.TID] = profile.RuntimeThread{Language: "Python", Name: names[ident]}
		}
	}
	for tid, id := range r.subinterpreters(s) {
		add(out, tid, fmt.Sprintf("in interpreter %d", id))
	}
	for _, g := range r.gils() {
		r.gilFacts(s, g, out)
	}
	if r.green != nil {
		for tid, text := range r.green.facts {
			add(out, tid, text)
		}
	}
	return out
}

// subinterpreters says which threads of s run frames of an interpreter besides the main one, and which.
func (r *Runtime) subinterpreters(s *snapshot.Snapshot) map[int]int64 {
	o := r.roster.Load()
	if len(o.interps) < 2 {
		return nil
	}
	out := map[int]int64{}
	for i := range s.Threads {
		for _, c := range r.chainsOf(&s.Threads[i]) {
			for k := range o.interps {
				if in := &o.interps[k]; in.addr == c.state.Interp && in.id != 0 {
					out[s.Threads[i].TID] = in.id
				}
			}
		}
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

// add adds a fact of the thread tid to out.
func add(out map[int]profile.RuntimeThread, tid int, text string) {
	f := out[tid]
	f.Language = "Python"
	f.Facts = append(f.Facts, text)
	out[tid] = f
}

// gilFacts says who holds g and who waits for it.
func (r *Runtime) gilFacts(s *snapshot.Snapshot, g gil, out map[int]profile.RuntimeThread) {
	holder, state, known := r.holderOf(s, g)
	if t := r.copiedWith(s, g); t != nil && g.off(r.layout, copiedMemory{t}) {
		add(out, t.TID, "the interpreter runs without a GIL")
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
	if t.Registers == nil {
		return true
	}
	number, known := t.Registers.Get(regs.AMD64OrigRAX)
	return known && int64(number) == t.Syscall.Number
}

// copiedWith returns the thread that g was copied with, nil if none was.
func (r *Runtime) copiedWith(s *snapshot.Snapshot, g gil) *snapshot.Thread {
	for i := range s.Threads {
		if _, known := g.holder(copiedMemory{&s.Threads[i]}); known {
			return &s.Threads[i]
		}
	}
	return nil
}

// holderOf returns the thread that holds g and its state, as they were copied with any thread. known is false if
// nobody's copy has it.
func (r *Runtime) holderOf(s *snapshot.Snapshot, g gil) (holder *snapshot.Thread, state mem.Addr, known bool) {
	if t := r.copiedWith(s, g); t != nil {
		state, known = g.holder(copiedMemory{t})
	}
	if state != 0 {
		holder = r.stateOf(s, state)
	}
	return holder, state, known
}

// collecting reports whether the garbage collector of the main interpreter is at work, as it was copied with any
// thread.
func (r *Runtime) collecting(s *snapshot.Snapshot) bool {
	at := r.collectingAt(r.roster.Load())
	for i := range s.Threads {
		if b, ok := (copiedMemory{&s.Threads[i]}).Bytes(at, 4); ok {
			return order.Uint32(b) == 1
		}
	}
	return false
}
