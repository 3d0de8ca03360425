package wasmtime

import (
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

// A function of WebAssembly has the address of its instance's vmctx on the stack. That begins with "core" and the
// address of the store's context, in which glue code puts where it left WebAssembly for the host: a frame pointer and
// the return address into WebAssembly. Where in the context changes from version to version; a pair is one if the
// stack fits it. When the host enters again what the context has is moved to the stack, to a place of the host.
//
// Source: VMStoreContext in crates/wasmtime/src/runtime/vm/vmcontext.rs; CallThreadState in traphandlers.rs.
const (
	coreMagic = "core"
	coreSize  = 16   // of vmctx: the magic number, and the context of the store at 8
	storeSize = 0x80 // of the context

	windowBelow, windowAbove = 24, 48 // words around a return address in which vmctx is
	maxStores                = 8
	maxCandidates            = 64 // words of one window, or a whole stack
	maxWindows               = 8
)

// candidates finds words that may be addresses of a vmctx, around the return addresses into WebAssembly.
func (k *known) candidates(w words, out *[maxCandidates]mem.Addr) (n int) {
	count, windows := w.count(), 0
	for i := 0; i < count && windows < maxWindows; i++ {
		if k.find(w.code(i)) == nil {
			continue
		}
		windows++
		end := min(count, i+windowAbove)
		for j := max(0, i-windowBelow); j < end && n < maxCandidates; j++ {
			a := w.at(j)
			if _, own := w.index(a); !own && k.mayBeCore(a) && !slices.Contains(out[:n], a) {
				out[n] = a
				n++
			}
		}
		i = end
	}
	return n
}

// mayBeCore reports whether a vmctx can be at a: in memory that is written, 16 bytes aligned as VMContext is.
func (k *known) mayBeCore(a mem.Addr) bool {
	const first, space = 1 << 16, 1 << 56 // of the addresses of a process
	if a%16 != 0 || a < first || a >= space {
		return false
	}
	const rw = maps.Read | maps.Write
	m := k.table.Find(a) // nil where memory was mapped since
	return m == nil || m.Perm&(rw|maps.Exec) == rw && m.Path != "[stack]"
}

// storeOf returns the context of the store that a vmctx names, by its bytes; false if they are none.
func storeOf(core []byte) (mem.Addr, bool) {
	if len(core) < coreSize || string(core[:4]) != coreMagic {
		return 0, false
	}
	store := mem.Addr(order.Uint64(core[8:]))
	return store, store != 0 && store%8 == 0
}

// passage is where the stack passes from WebAssembly to the host: the word that has the return address, and the frame
// pointer that was pushed below it.
type passage struct {
	slot int
	pc   mem.Addr
	fp   mem.Addr
}

// passageAt checks that the words at slot are a frame record that leads into a function of WebAssembly.
func (k *known) passageAt(w words, slot int) (passage, bool) {
	if slot < 1 || slot >= w.count() {
		return passage{}, false
	}
	p := passage{slot, w.code(slot), w.at(slot - 1)}
	at, ok := w.index(p.fp)
	return p, ok && at > slot && k.isWasm(p.pc)
}

// isWasm reports whether code of a function of WebAssembly returns to pc: not glue, and not its beginning.
func (k *known) isWasm(pc mem.Addr) bool {
	im := k.find(pc)
	if im == nil {
		return false
	}
	f := im.functionAt(pc - 1)
	return f != nil && im.text.Start+mem.Addr(f.start) != pc && im.roleOf(f) == wasmFunction
}

func (im *image) roleOf(f *function) role {
	l := parseLabel(string(trimEnd(im.nameOf(f))))
	return l.role
}

// exits finds passages in the context of a store.
func (k *known) exits(w words, store []byte, out []passage) []passage {
	for i := 0; i+16 <= len(store); i += 8 {
		at, ok := w.index(mem.Addr(order.Uint64(store[i:])))
		pc := mem.Addr(order.Uint64(store[i+8:]))
		if !ok || k.find(pc) == nil {
			continue
		}
		slot := at + 1 // at is the frame of the glue: from v37 on
		if at+1 >= w.count() || w.code(at+1) != pc {
			slot = w.slotOf(pc, w.addr(at), at) // at is that of the function
		}
		if p, ok := k.passageAt(w, slot); ok && p.pc == pc && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// slotOf finds the frame record below word number limit that has that frame pointer and return address, 0 for none.
func (w words) slotOf(pc, fp mem.Addr, limit int) int {
	for i := limit - 1; i > 0; i-- {
		if w.code(i) == pc && w.at(i-1) == fp {
			return i
		}
	}
	return 0
}

// maxActivation bounds the frames of one activation.
const maxActivation = 1 << 15

// end follows the frame records from p to where the activation was entered, and returns the number of the word that has
// the return address to the host; false if they do not lead there.
func (k *known) end(w words, pc, fp mem.Addr) (int, bool) {
	last := -1
	for range maxActivation {
		at, ok := w.index(fp)
		if !ok || at <= last || at+1 >= w.count() {
			return 0, false
		}
		ra := w.code(at + 1)
		if k.find(ra) == nil {
			im := k.find(pc)
			f := im.functionAt(pc - 1)
			return at + 1, f != nil && im.roleOf(f) == entryGlue
		}
		last, pc, fp = at, ra, w.at(at)
	}
	return 0, false
}

// saved finds the next passage above the word number from, where an activation ends, which the host saved when it
// entered that: its return address is also between from and its slot.
func (k *known) saved(w words, from int) (passage, bool) {
	const near = 1 << 10 // words from the end of the activation to what the host saved
	tries := maxSaved
	for i := from + 1; i < min(w.count(), from+near); i++ {
		pc := w.code(i)
		if !k.isWasm(pc) {
			continue
		}
		if tries--; tries < 0 {
			break
		}
		for j := i + 2; j < w.count(); j++ {
			if w.code(j) != pc {
				continue
			}
			p, ok := k.passageAt(w, j)
			if !ok {
				continue
			}
			if tries--; tries < 0 {
				break
			}
			if _, ok := k.end(w, p.pc, p.fp); ok {
				return p, true
			}
		}
	}
	return passage{}, false
}

// maxSaved bounds the words that are tried for what the host saved, and the chains that are followed from there.
const maxSaved = 32

const (
	storeNote = "found by what the store keeps of its last call to the host"
	savedNote = "found by what the host saved when it entered WebAssembly again"
)

// Waypoints implements [unwind.Waypointer]. They are where the stack passes from WebAssembly to the host, on the stack
// that t was stopped on.
func (r *Runtime) Waypoints(t *snapshot.Thread, frames []unwind.Frame, m mem.Reader) []unwind.Waypoint {
	k := r.known.Load()
	w, pc := stackOf(t)
	if _, own := w.index(frames[len(frames)-1].SP); !own {
		return nil
	}
	if len(k.images) == 0 || t.Arch == nil || t.Arch != k.images[0].arch || w.count() == 0 {
		return nil
	}
	exits := r.storeExits(k, w, t, m)
	slices.SortFunc(exits, func(a, b passage) int { return a.slot - b.slot })
	from, proved := -1, false
	if t.Registers != nil && k.find(pc) != nil {
		if fp, ok := t.Registers.FP(); ok {
			from, proved = k.end(w, pc+1, fp)
		}
	}
	var out []unwind.Waypoint
	const maxWaypoints, cost = 64, 1 << 16 // cost: steps of the budget that a search takes; a hostile stack takes more
	for len(out) < maxWaypoints && r.budget.Spend(cost) {
		p, note, ok := k.next(w, exits, from, proved)
		if !ok {
			break
		}
		out = append(out, waypoint(t.Arch, w, p, note))
		if from, proved = k.end(w, p.pc, p.fp); !proved {
			break
		}
	}
	return out
}

// next returns the next passage above the word number from. What the host saved counts only where an activation that
// is proved ends: dead frames look the same.
func (k *known) next(w words, exits []passage, from int, proved bool) (p passage, note string, ok bool) {
	for _, e := range exits {
		if _, leads := k.end(w, e.pc, e.fp); leads && e.slot > from {
			p, note, ok = e, storeNote, true
			break
		}
	}
	if !proved {
		return p, note, ok
	}
	if s, saved := k.saved(w, from); saved && (!ok || s.slot < p.slot) {
		return s, savedNote, true
	}
	return p, note, ok
}

// storeExits reads the contexts of the stores that the stack leads to: those that were copied, if anything was.
func (r *Runtime) storeExits(k *known, w words, t *snapshot.Thread, m mem.Reader) []passage {
	var candidates [maxCandidates]mem.Addr
	var stores []mem.Addr
	var out []passage
	v := view.Over(m, nil, r.budget)
	if len(t.Copied) > 0 {
		v = view.Copied(r.budget, t.Copied...)
	}
	for _, a := range candidates[:k.candidates(w, &candidates)] {
		core, _ := v.Bytes(a, coreSize)
		store, ok := storeOf(core)
		if ok && !slices.Contains(stores, store) && len(stores) < maxStores {
			stores = append(stores, store)
			context, _ := v.Bytes(store, storeSize)
			out = k.exits(w, context, out)
		}
	}
	return out
}

// waypoint is the frame of WebAssembly that p leads to.
func waypoint(arch *regs.Arch, w words, p passage, note string) unwind.Waypoint {
	next := regs.New(arch)
	next.Set(arch.PC, uint64(p.pc))
	next.Set(arch.SP, uint64(w.addr(p.slot))+8)
	next.Set(arch.FP, uint64(p.fp))
	return unwind.Waypoint{Registers: next, Note: note}
}
