package object

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Items gives yield the items of the set at a until it returns false. It reports whether those that it went through
// could be read, as those of a set. Source: PySetObject in Include/cpython/setobject.h.
func (l *Layout) Items(m *view.View, a mem.Addr, yield func(item mem.Addr) bool) bool {
	const (
		head  = 32 // fill, used, mask, table
		entry = 16 // key, hash
	)
	b, ok := m.Bytes(a+l.header(), head)
	if !ok {
		return false
	}
	used, mask, table := order.Uint64(b[8:]), order.Uint64(b[16:]), mem.Addr(order.Uint64(b[24:]))
	if mask&(mask+1) != 0 || mask >= 8*maxEntries || used > mask {
		return false
	}
	return list(m, table, int(mask+1), entry, func(b []byte) bool {
		key, hash := mem.Addr(order.Uint64(b)), int64(order.Uint64(b[8:]))
		return key == 0 || hash == -1 || yield(key) // -1 is of items that were taken out
	})
}

// Elements gives yield the elements of the tuple or list at a, at most maxEntries, until it returns false. It reports
// whether those that it went through could be read.
func (l *Layout) Elements(m *view.View, a mem.Addr, ofList bool, yield func(item mem.Addr) bool) bool {
	b, ok := m.Bytes(a+l.header(), 16)
	if !ok {
		return false
	}
	n, at := order.Uint64(b), a+l.header()+8
	switch {
	case ofList:
		at = mem.Addr(order.Uint64(b[8:]))
	case l.Version.Minor >= 14: // its hash comes first
		at += 8
	}
	if n > maxEntries {
		return false
	}
	return list(m, at, int(n), 8, func(b []byte) bool {
		item := mem.Addr(order.Uint64(b))
		return item == 0 || yield(item)
	})
}
