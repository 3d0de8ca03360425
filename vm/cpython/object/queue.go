package object

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// SimpleQueue gives yield the items of the queue.SimpleQueue of C at a, the next one first, until it returns false. It
// reports whether those that it went through could be read.
//
// Source: simplequeueobject in Modules/_queuemodule.c: a list up to 3.12, then a ring.
func (l *Layout) SimpleQueue(m *view.View, a mem.Addr, yield func(item mem.Addr) bool) bool {
	if t, ok := l.TypeOf(m, a); !ok || t.Name != "_queue.SimpleQueue" {
		return false
	}
	const listAt, ringAt, firstRing, most = 16, 8, 13, 1 << 20
	if l.Version.Minor < firstRing {
		items, ok := Pointer(m, a+l.header()+listAt)
		return ok && l.Elements(m, items, true, yield)
	}
	b, ok := m.Bytes(a+l.header()+ringAt, 5*8)
	if !ok {
		return false
	}
	next, items := order.Uint64(b[8:]), mem.Addr(order.Uint64(b[16:]))
	size, count := order.Uint64(b[24:]), order.Uint64(b[32:])
	if size > most || count > size || next >= max(size, 1) {
		return false
	}
	for range count {
		item, ok := Pointer(m, items+mem.Addr(8*next))
		if !ok {
			return false
		}
		if !yield(item) {
			return true
		}
		next = (next + 1) % size
	}
	return true
}
