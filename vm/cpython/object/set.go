package object

import "github.com/fpstack/fpstack/mem"

// Items gives yield the items of the set at a until it returns false. It reports whether all could be read as those of
// a set. Source: PySetObject in Include/cpython/setobject.h.
func (l *Layout) Items(m Memory, a mem.Addr, yield func(item mem.Addr) bool) bool {
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
	if b, ok = m.Bytes(table, int(mask+1)*entry); !ok {
		return false
	}
	entries := append([]byte(nil), b...) // yield reads too
	for ; len(entries) >= entry; entries = entries[entry:] {
		key, hash := mem.Addr(order.Uint64(entries)), int64(order.Uint64(entries[8:]))
		if key != 0 && hash != -1 && !yield(key) { // -1 is of items that were taken out
			return true
		}
	}
	return true
}

// Elements gives yield the elements of the tuple or list at a, at most maxEntries, until it returns false. It reports
// whether they could be read.
func (l *Layout) Elements(m Memory, a mem.Addr, list bool, yield func(item mem.Addr) bool) bool {
	b, ok := m.Bytes(a+l.header(), 16)
	if !ok {
		return false
	}
	n, at := order.Uint64(b), a+l.header()+8
	switch {
	case list:
		at = mem.Addr(order.Uint64(b[8:]))
	case l.Version.Minor >= 14: // its hash comes first
		at += 8
	}
	if n == 0 {
		return true
	}
	if n > maxEntries {
		return false
	}
	if b, ok = m.Bytes(at, int(n)*8); !ok {
		return false
	}
	items := append([]byte(nil), b...)
	for ; len(items) >= 8; items = items[8:] {
		if item := mem.Addr(order.Uint64(items)); item != 0 && !yield(item) {
			return true
		}
	}
	return true
}
