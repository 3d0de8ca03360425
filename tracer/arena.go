//go:build linux

package tracer

// arena hands out parts of one buffer that was made and touched before a stop, so that
// neither an allocation nor a page fault of ours lengthens it.
type arena struct{ rest []byte }

// maxArena bounds what is made ahead; what a stop needs beyond is made in it.
const maxArena = 32 << 20

func newArena(n int) *arena {
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

// expect is the room that the stack of a thread is likely to take.
func (w windows) expect(t *dumped) int {
	w.total = w.limit
	if c := t.syscall; c != nil {
		return w.find(c.SP, 0).size + 256
	}
	return openWindow
}
