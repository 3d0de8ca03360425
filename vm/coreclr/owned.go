package coreclr

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// ownedType is a type of System.Threading whose objects say who has them. Fields are at these offsets in an object of
// that size, MethodTable included; one of another size is of a version that is not known.
// Source: Lock.cs and ReaderWriterLockSlim.cs in src/libraries/System.Private.CoreLib. Seen in 9.0.5 and 10.0.12.
type ownedType struct {
	name string
	size uint64
	// holder returns the thread that is in the way of the waiters of the lock at f: as the runtime numbers threads
	// (managed), or as the kernel does, 0 for none that is known. The note says what else is so.
	holder func(f *view.Fields) (id uint64, managed bool, note string)
}

var ownedTypes = []ownedType{{"Lock", 40, lockHolder9}, {"ReaderWriterLockSlim", 96, writerHolder}}

// lockHolder9 is who has a System.Threading.Lock: the kernel's number of a thread.
func lockHolder9(f *view.Fields) (uint64, bool, string) {
	const owner, state, taken = 16, 20, 1
	if f.Uint(state, 4)&taken == 0 {
		return 0, false, ""
	}
	return f.Uint(owner, 4), false, ""
}

// writerHolder is who has a ReaderWriterLockSlim for writing, or so that it may begin to write. Of those that read
// alone it keeps the number.
func writerHolder(f *view.Fields) (uint64, bool, string) {
	const upgrader, writer, owners, written, readersMask, nobody = 64, 68, 72, 1 << 31, 1<<28 - 1, 1<<32 - 1
	up, write, state := f.Uint(upgrader, 4), f.Uint(writer, 4), f.Uint(owners, 4)
	readers := state & readersMask
	switch {
	case state&written != 0:
		return write, true, ""
	case up != nobody && readers == 1:
		return up, true, ""
	case readers == 0:
		return 0, true, ""
	}
	return 0, true, fmt.Sprintf("held by readers (%d), and it does not record which", readers)
}

// ownedOf lists the locks of ownedTypes that threads of s wait for, as their stacks prove: the innermost methods are
// those of the type, and in their frames and the runtime's below them lies one object of it alone.
func (m *monitors) ownedOf(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack, ids map[uint64]int) {
	managed := map[uint64]int{} // our ids, by the runtime's
	for i := range s.Threads {
		t := &s.Threads[i]
		of, end := m.r.inOwned(stack(t.TID))
		if of == nil {
			continue
		}
		at := m.onlyObject(t, end, of)
		if at == 0 {
			continue
		}
		if len(managed) == 0 {
			threads, _ := m.r.threads(&m.view) // of the others nothing is said
			for _, x := range threads {
				managed[uint64(x.id)] = ids[uint64(x.os)]
			}
		}
		m.addOwned(t, of, at, ids, managed)
	}
}

// addOwned notes that t waits for the lock at a.
func (m *monitors) addOwned(t *snapshot.Thread, of *ownedType, a mem.Addr, ids, managed map[uint64]int) {
	if i, ok := m.byLock[a]; ok {
		m.list[i].Waiters = append(m.list[i].Waiters, t.TID)
		return
	}
	if len(m.list) >= maxMonitors {
		return
	}
	f := m.view.Fields(a)
	id, isManaged, note := of.holder(&f)
	if isManaged {
		ids = managed
	}
	l := waits.Lock{Name: fmt.Sprintf("the %s %#x", of.name, uint64(a)), Number: uint64(a), Waiters: []int{t.TID}}
	if f.Err == nil {
		if l.Note, l.Owner = note, ids[id]; l.Owner != 0 {
			l.Evidence = fmt.Sprintf("%s%s %#x is held by thread %d", threading, of.name, uint64(a), l.Owner)
		}
	}
	m.byLock[a] = len(m.list)
	m.list = append(m.list, l)
}

// inOwned is the type whose methods wait in a stack, and where their outermost frame ends; nil for none. Methods that
// these call are of System.Threading too.
func (r *Runtime) inOwned(s *unwind.Stack) (of *ownedType, end mem.Addr) {
	r.methods(s, func(f *unwind.Frame, name string) bool {
		method, ok := strings.CutPrefix(name, threading)
		for k := range ownedTypes {
			if x := &ownedTypes[k]; ok && strings.HasPrefix(method, x.name+".") && (of == nil || of == x) {
				of, end = x, f.CFA
			}
		}
		return ok || name == "" && of == nil
	})
	return of, end
}

// onlyObject is the one object of that type which the stack of t has before end; 0 if there is none, or several: the
// method's own is among them, in a place of its frame or in a register that what it calls has saved or left.
func (m *monitors) onlyObject(t *snapshot.Thread, end mem.Addr, of *ownedType) mem.Addr {
	found := mem.Addr(0)
	for _, w := range wordsBelow(t, end) {
		at := mem.Addr(w)
		if at%wordSize != 0 || at == 0 || at == found {
			continue
		}
		f := m.view.Fields(at)
		table := f.Addr(0) &^ tableMarks
		if f.Err != nil || table%wordSize != 0 || table == 0 {
			continue
		}
		const baseSize = 4 // of a MethodTable
		if f = m.view.Fields(table); f.Uint(baseSize, 4) != of.size || f.Err != nil {
			continue
		}
		if m.typeName(at) != threading+of.name {
			continue
		}
		if found != 0 {
			return 0
		}
		found = at
	}
	return found
}

// wordsBelow are the registers of t, and the words of its stack from the stack pointer up to end.
func wordsBelow(t *snapshot.Thread, end mem.Addr) []uint64 {
	data, at := t.Stack.Data, t.Stack.Start
	var words []uint64
	if t.Registers != nil {
		if sp, ok := t.Registers.SP(); ok && sp > at && uint64(sp-at) < uint64(len(data)) {
			data, at = data[sp-at:], sp
		}
		for i := range regs.Reg(regs.Max) {
			if v, ok := t.Registers.Get(i); ok {
				words = append(words, v)
			}
		}
	}
	for ; len(data) >= wordSize && at < end && end-at < maxJoin; data, at = data[wordSize:], at+wordSize {
		words = append(words, order.Uint64(data))
	}
	return words
}
