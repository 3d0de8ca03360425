package golang

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// callGo is what C calls Go by. On the system stack, in its frame, it keeps the stack pointer that g0 had before: where
// Go called this C.
const callGo = "runtime.cgocallback"

const waypointNote = "found by where Go called C"

// Waypoints implements [unwind.Waypointer]: from C that the goroutine called, and that nobody knows a way out of, to
// the call in runtime.asmcgocall. That went to the system stack where g0 says, so that its place is known; what is
// there is checked. Of C that called Go meanwhile the frame of runtime.cgocallback says what g0 said, which is also
// where runtime.mcall began if that Go waits.
// Source: runtime/asm_amd64.s.
func (r *Runtime) Waypoints(t *snapshot.Thread, frames []unwind.Frame, memory mem.Reader) []unwind.Waypoint {
	v := view.Over(memory, nil, r.budget)
	entered, ok := r.enteredC(t, frames, &v)
	if !ok {
		return nil
	}
	arch := regs.AMD64
	for _, room := range []uint64{16, 64} { // 64 up to Go 1.21
		sp := mem.Addr((entered - room) &^ 15)
		pc, err := v.Word(sp - 8)
		if err != nil || r.name(mem.Addr(pc)-1) != callC {
			continue
		}
		call := unwind.Frame{PC: mem.Addr(pc), SP: sp}
		if _, err := r.crossCallC(&call, &v); err != nil {
			continue
		}
		next := regs.New(arch)
		next.Set(arch.SP, uint64(sp))
		next.Set(arch.PC, pc)
		return []unwind.Waypoint{{Registers: next, Note: waypointNote}}
	}
	return nil
}

// enteredC is the stack pointer from which the C that the last of frames is in was called, on the system stack.
func (r *Runtime) enteredC(t *snapshot.Thread, frames []unwind.Frame, v *view.View) (uint64, bool) {
	if t.Arch != regs.AMD64 || r.m.Machine() != machineAMD64 {
		return 0, false
	}
	for i := len(frames) - 1; i >= 0; i-- {
		switch r.name(frames[i].LookupPC()) {
		case callC: // it is outside of that
			return 0, false
		case callGo:
			const frame = 24 + 8 // of runtime.cgocallback, and the frame pointer that it saves
			sp, err := v.Word(frames[i].CFA - 8 - frame)
			return sp, err == nil && frames[i].CFA != 0
		case leave: // crossLeave went on from there by a frame of runtime.cgocallback
			sp, err := v.Word(frames[i].SP + 8)
			return sp, err == nil
		}
	}
	if !t.HasTP || t.TP == 0 || r.tls == 0 {
		return 0, false
	}
	var g, m words
	system, err := v.Word(t.TP + mem.Addr(r.tls))
	ok := err == nil && g.read(v, system, gWords) == nil && m.read(v, g[gM], mG0+1) == nil && m[mG0] == system
	return g[gSched+bufSP], ok
}
