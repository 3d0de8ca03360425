package golang

import (
	"math"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// Copy implements [snapshot.Copier]: it copies the g and m of a thread and of its goroutine, and the one of the two
// stacks that the thread is not on: the goroutine's, or that of the C which called Go.
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	if t.Arch == nil || t.Arch.WordSize != wordSize {
		return
	}
	v := view.Stopped(f, 0)
	var g, m, other words
	current, ok := r.current(t, &v, &g, &m, &other)
	if !ok {
		return
	}
	at, system := g[gM], m[mG0]
	handles := current == m[mSignal] || current == m[mSignalOld]
	sp, _ := t.SP()
	signalled := handles || !g.holds(uint64(sp)) // it is on the stack for signals, and may not have its g yet
	if signalled {
		copyBelow(f, other[gSched+bufSP])
	}
	if signalled || current != system {
		r.copyCallers(f, &other)
	}
	r.fetchAll(f, &m, system)
	for i, a := range m {
		if i < mFirst || !mayBeG(a, system) || a == current && (handles || !signalled) {
			continue
		}
		if _, had := f.Bytes(mem.Addr(a), gWords*wordSize); had && other.read(&v, a, gWords) == nil && other[gM] == at {
			r.copyStack(f, &other, current == system, i)
		}
	}
}

// systemDepth is how much of a system stack is copied that a signal has left, bytes: below where it was entered. What
// runs there is not deep.
const systemDepth = 16 << 10

// copyBelow copies what is in use of the system stack that was entered at sp.
func copyBelow(f *snapshot.Fetcher, sp uint64) {
	if sp > systemDepth {
		f.Fetch(snapshot.Want{Addr: mem.Addr(sp - systemDepth), Len: systemDepth})
	}
}

// maxCallers bounds what is copied of the C that called Go, bytes.
const maxCallers = 64 << 10

// copyCallers copies what is in use of the system stack of a thread that is on its goroutine's, or on that for signals:
// the frames that enter it, and where C called Go, those of that C. g0 says where it was left.
func (r *Runtime) copyCallers(f *snapshot.Fetcher, g0 *words) {
	if sp, high := g0[gSched+bufSP], g0[gStackHi]; g0[gStackLo] < sp && sp < high {
		sp -= r.under()
		f.FetchUpTo(snapshot.Want{Addr: mem.Addr(sp), Len: int(min(high-sp, maxCallers))})
	}
}

// under is how far below the stack pointer that a g keeps the frame there begins: some machines keep the frame pointer
// of the caller there.
func (r *Runtime) under() uint64 {
	if r.port == nil {
		return 0
	}
	return uint64(max(0, -r.port.kept.fp))
}

// current is the address of the g of t, whose words it reads, and those of its m and of the g0 of that: where the
// thread pointer leads, else the register that holds it in Go code. It is none where these do not belong together: then
// the thread runs no Go, or that of another module.
func (r *Runtime) current(t *snapshot.Thread, v *view.View, g, m, g0 *words) (uint64, bool) {
	belongs := func(at uint64) bool {
		return at != 0 && at%wordSize == 0 && g.read(v, at, gWords) == nil && m.read(v, g[gM], mWords) == nil &&
			g0.read(v, m[mG0], gWords) == nil && g0[gM] == g[gM]
	}
	if t.HasTP && t.TP != 0 && r.tls != 0 {
		if at, err := v.Word(t.TP + mem.Addr(r.tls)); err == nil && belongs(at) {
			return at, true
		}
	}
	if r.port == nil || t.Arch != r.port.arch || t.Registers == nil {
		return 0, false
	}
	at, ok := t.Registers.Get(r.port.g)
	return at, ok && belongs(at)
}

// fetchAll copies the g that the words of m may lead to: that of its goroutine alone, once it is known which word
// has it.
func (r *Runtime) fetchAll(f *snapshot.Fetcher, m *words, system uint64) {
	var wants [mWords]snapshot.Want
	n := 0
	known := int(r.curg.Load())
	for i, v := range m {
		if i >= mFirst && mayBeG(v, system) && (known == 0 || i == known) {
			wants[n] = snapshot.Want{Addr: mem.Addr(v), Len: gWords * wordSize}
			n++
		}
	}
	f.Fetch(wants[:n]...)
}

// copyStack copies the stack of the goroutine g, which word number i of its m leads to, as far as it is in use. That
// is known if the thread is on the system stack.
func (r *Runtime) copyStack(f *snapshot.Fetcher, g *words, onSystem bool, i int) {
	low, high := g[gStackLo], g[gStackHi]
	if low >= high {
		return
	}
	switch sp := g[gSched+bufSP]; {
	case !onSystem || sp == 0: // where it is in use is not known: at its upper end
		if room := uint64(f.Room()); high-low > room {
			low = high - room/2
		}
	case sp > low && sp <= high:
		low = sp - r.under()
		r.curg.CompareAndSwap(0, int32(i))
	default: // while the stack is copied to a larger one SP may be in the old one
		f.Fetch(snapshot.Want{Addr: mem.Addr(sp), Len: int(min(high-low, uint64(f.Room())/2))})
	}
	f.FetchUpTo(snapshot.Want{Addr: mem.Addr(low), Len: int(min(high-low, math.MaxInt32))})
}
