//go:build linux

package tracer

import "runtime/debug"

// arena hands out parts of one buffer that was made and touched before a stop, so that
// neither an allocation nor a page fault of ours lengthens it.
type arena struct{ rest []byte }

const (
	// maxArena bounds what is made ahead; what a stop needs beyond is made in it.
	maxArena = 32 << 20
	// largeCopy is from where on what is garbage is collected before as much is made, and when it has been used:
	// the collector by itself would let the heap grow to twice that.
	largeCopy = 8 << 20
)

func newArena(n int) *arena {
	if n > largeCopy {
		debug.FreeOSMemory() // what is free now is in pieces
	}
	b := make([]byte, min(n, maxArena))
	for i := 0; i < len(b); i += pageSize {
		b[i] = 1
	}
	return &arena{rest: b}
}

// take returns n bytes, which nobody else has.
func (a *arena) take(n int) []byte {
	if n > len(a.rest) {
		a.rest = make([]byte, max(n, 256<<10))
	}
	b := a.rest[:n:n]
	a.rest = a.rest[n:]
	return b
}

// estimate is the room that the stacks of threads need, from where they slept last.
func (w windows) estimate(threads []dumped) int {
	n := 0
	for i := range threads {
		n += w.expect(&threads[i])
	}
	return n
}

// descriptorSize is about what the C library has at the upper end of a thread's stack, bytes: glibc up to 2624 on
// x86-64.
const descriptorSize = 2560

// expect is the room that the stack of a thread is likely to take. Its thread pointer, where the stack ends, is not
// known yet.
func (w windows) expect(t *dumped) int {
	w.total = w.limit
	c := t.syscall
	if c == nil {
		return openWindow
	}
	size := w.find(c.SP, 0).size
	if t.tid != t.p.pid && size > descriptorSize {
		size -= descriptorSize
	}
	return size + 64
}
