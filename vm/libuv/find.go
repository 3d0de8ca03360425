package libuv

import (
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// polls are the calls that a loop waits in: epoll_pwait, epoll_pwait2 and, where there is one, epoll_wait, on machines
// whose structures are those of 64 bits. Sources: linux/arch/x86/entry/syscalls/syscall_64.tbl,
// include/uapi/asm-generic/unistd.h.
var polls = map[*regs.Arch][]int64{regs.AMD64: {281, 441, 232}, regs.ARM64: {22, 441}}

const (
	// maxSearched is how much of a stack is searched, bytes: uv__io_poll has 12 KiB of events on it.
	maxSearched = 20 << 10
	// maxTried bounds the words that are tried of one thread.
	maxTried = 1 << 10
	// findSteps bounds what is read for one process in search of loops.
	findSteps = 8 << 20
)

// Finder finds the loops of one process. It is for one goroutine at a time.
type Finder struct {
	view  view.View
	known map[int32]mem.Addr // loops by the descriptor of epoll
}

// NewFinder returns a Finder that reads from memory, and takes what it reads from b.
func NewFinder(memory mem.Reader, b *work.Budget) *Finder {
	f := &Finder{view.Over(nil, memory, b), map[int32]mem.Addr{}}
	f.view.Within(findSteps)
	return f
}

// Find returns the loop that t waits in; false if it waits in none, or if that cannot be shown. It reads words that the
// stack and the registers of t lead to.
func (f *Finder) Find(t *snapshot.Thread, table *maps.Table) (mem.Addr, bool) {
	if t.Syscall == nil || !slices.Contains(polls[t.Arch], t.Syscall.Number) {
		return 0, false
	}
	epoll := int32(t.Syscall.Args[0])
	if a, ok := f.known[epoll]; ok && f.isLoop(a, epoll) {
		return a, true
	}
	tried := map[mem.Addr]bool{}
	try := func(word uint64) bool {
		a := mem.Addr(word)
		if a%8 != 0 || a == 0 || tried[a] || len(tried) == maxTried {
			return false
		}
		m := table.Find(a)
		if m == nil || m.Perm&maps.Write == 0 {
			return false
		}
		tried[a] = true
		return f.isLoop(a, epoll)
	}
	for _, word := range words(t) {
		if try(word) {
			f.known[epoll] = mem.Addr(word)
			return mem.Addr(word), true
		}
	}
	return 0, false
}

// words are those of the thread that may lead to its loop: registers that calls keep, and the inner part of its stack.
func words(t *snapshot.Thread) []uint64 {
	var out []uint64
	if t.Registers != nil {
		for _, r := range t.Arch.Callee {
			if w, ok := t.Registers.Get(r); ok {
				out = append(out, w)
			}
		}
	}
	data := t.Stack.Data[min(-t.Stack.Start%8, mem.Addr(len(t.Stack.Data))):]
	for data = data[:min(len(data), maxSearched)]; len(data) >= 8; data = data[8:] {
		out = append(out, order.Uint64(data))
	}
	return out
}

// isLoop reports whether a loop is at a that waits by that descriptor: its first and its last handle are of it, and lie
// next to its head in the list.
func (f *Finder) isLoop(a mem.Addr, epoll int32) bool {
	r := reader{&f.view}
	var b [loopHead]byte
	if r.fill(b[:], a) != nil || int32(order.Uint32(b[loopBackend:])) != epoll {
		return false
	}
	const forward, backward = 0, 8
	head := a + loopHandles
	for _, way := range [][2]mem.Addr{{forward, backward}, {backward, forward}} {
		at := mem.Addr(order.Uint64(b[loopHandles+way[0]:]))
		var h [handleMinimum]byte
		if at == head || r.fill(h[:], at-handleQueue) != nil {
			return false
		}
		kind := order.Uint32(h[handleType:])
		if mem.Addr(order.Uint64(h[handleLoop:])) != a || kind == 0 || kind >= uint32(len(kinds)) ||
			mem.Addr(order.Uint64(h[handleQueue+way[1]:])) != head {
			return false
		}
	}
	return true
}
