package object

import (
	"bytes"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// maxEntries bounds the entries of a dictionary that are read.
const maxEntries = 100_000

// DictOfModule returns the dictionary of a module.
func (l *Layout) DictOfModule(m *view.View, module mem.Addr) (mem.Addr, bool) {
	return Pointer(m, module+l.header())
}

func (l *Layout) header() mem.Addr { return mem.Addr(l.Header) }

// Pointer reads the word at a.
func Pointer(m *view.View, a mem.Addr) (mem.Addr, bool) {
	b, ok := m.Bytes(a, 8)
	if !ok {
		return 0, false
	}
	return mem.Addr(order.Uint64(b)), true
}

// Entries gives yield the keys and values of the dictionary at a until it returns false. It reports whether those that
// it went through could be read, as those of a dictionary. An entry may be of a moment when it was being changed.
//
// Source: PyDictObject in Include/cpython/dictobject.h, struct _dictkeysobject in Include/internal/pycore_dict.h
// (Objects/dict-common.h up to 3.10).
func (l *Layout) Entries(m *view.View, a mem.Addr, yield func(key, value mem.Addr) bool) bool {
	keys, ok1 := Pointer(m, a+l.header()+16)
	values, ok2 := Pointer(m, a+l.header()+24)
	if !ok1 || !ok2 || keys == 0 {
		return false
	}
	return l.entries(m, keys, values, yield)
}

// table is the entries of a dictionary.
type table struct {
	at    mem.Addr
	count int
	size  int // of an entry: hash, key, value, or the last two
}

func (l *Layout) tableOf(m *view.View, keys mem.Addr) (table, bool) {
	b, ok := m.Bytes(keys, 40)
	if !ok {
		return table{}, false
	}
	if l.Version.Minor <= 10 {
		size, count := order.Uint64(b[8:]), order.Uint64(b[32:])
		width := uint64(1)
		switch {
		case size > 0xffffffff:
			width = 8
		case size > 0xffff:
			width = 4
		case size > 0xff:
			width = 2
		}
		return table{keys + 40 + mem.Addr(size*width), int(count), 24}, size <= 1<<30 && count <= maxEntries
	}
	log2, kind, count := b[9], b[10], order.Uint64(b[24:])
	size := 16
	if kind == 0 {
		size = 24
	}
	return table{keys + 32 + mem.Addr(1)<<(log2&31), int(count), size}, log2 < 31 && kind <= 2 && count <= maxEntries
}

// entries reads a table whose values lie apart at values, 0 for none.
func (l *Layout) entries(m *view.View, keys, values mem.Addr, yield func(key, value mem.Addr) bool) bool {
	t, ok := l.tableOf(m, keys)
	if !ok {
		return false
	}
	if values != 0 && l.Version.Minor >= 13 {
		values += 8 // behind the head of struct _dictvalues
	}
	whole := true
	ok = list(m, t.at, t.count, t.size, func(entry []byte) bool {
		key := mem.Addr(order.Uint64(entry[t.size-16:]))
		value := mem.Addr(order.Uint64(entry[t.size-8:]))
		if values != 0 {
			var ok bool
			value, ok = Pointer(m, values)
			whole = whole && ok
			values += 8
		}
		return key == 0 || value == 0 || yield(key, value)
	})
	return ok && whole
}

// list gives yield the entries of a list, count of size bytes each at a, until it returns false: some at a time, as
// who wants the first few need not read the others. It reports whether those that it went through could be read.
func list(m *view.View, a mem.Addr, count, size int, yield func(entry []byte) bool) bool {
	const first, most = 16, 4096
	for n := first; count > 0; n = min(2*n, most) {
		n = min(n, count)
		b, ok := m.Bytes(a, n*size)
		if !ok {
			return false
		}
		for b = bytes.Clone(b); len(b) > 0; b = b[size:] { // yield reads too
			if !yield(b[:size]) {
				return true
			}
		}
		a, count = a+mem.Addr(n*size), count-n
	}
	return true
}

// Item returns the value with that string as its key.
func (l *Layout) Item(m *view.View, dict mem.Addr, name string) (mem.Addr, bool) {
	var found mem.Addr
	l.Entries(m, dict, l.wanted(m, name, &found))
	return found, found != 0
}

func (l *Layout) wanted(m *view.View, name string, found *mem.Addr) func(key, value mem.Addr) bool {
	return func(key, value mem.Addr) bool {
		if s, ok := l.StringAt(m, key); ok && s == name {
			*found = value
		}
		return *found == 0
	}
}

// Offsets in PyTypeObject and PyHeapTypeObject from the end of the object header of variable size, which has 24 bytes
// (40 free-threaded). Source: Include/cpython/object.h.
const (
	typeBasicSize  = 8
	typeFlags      = 144
	typeDictOffset = 264
	managedDict    = 1 << 4 // Py_TPFLAGS_MANAGED_DICT
	inlineValues   = 1 << 2 // Py_TPFLAGS_INLINE_VALUES, from 3.13 on
)

// cachedKeys is where a heap type has ht_cached_keys, for releases from 3.8 on.
var cachedKeys = [...]int{872, 864, 872, 872, 880, 880, 880, 888}

// Attribute returns the attribute with that name of the instance at a of a class that Python code defines.
func (l *Layout) Attribute(m *view.View, a mem.Addr, name string) (mem.Addr, bool) {
	var found mem.Addr
	l.Attributes(m, a, l.wanted(m, name, &found))
	return found, found != 0
}

// Attributes gives yield the attributes of the instance at a until it returns false. It reports whether it has any
// place for them.
func (l *Layout) Attributes(m *view.View, a mem.Addr, yield func(key, value mem.Addr) bool) bool {
	typ, ok := Pointer(m, a+l.header()-8)
	if !ok {
		return false
	}
	b, ok := m.Bytes(typ+l.header()+8, typeDictOffset+8)
	if !ok {
		return false
	}
	size, flags := order.Uint64(b[typeBasicSize:]), order.Uint64(b[typeFlags:])
	offset := int64(order.Uint64(b[typeDictOffset:]))
	if l.Version.Minor <= 10 || flags&managedDict == 0 {
		if offset <= 0 || offset > maxOffset {
			return false
		}
		dict, ok := Pointer(m, a+mem.Addr(offset))
		return ok && l.Entries(m, dict, yield)
	}
	dict, values, ok := l.managed(m, a, size, flags)
	if !ok {
		return false
	}
	if dict != 0 {
		return l.Entries(m, dict, yield)
	}
	keys, ok := Pointer(m, typ+mem.Addr(cachedKeys[min(l.Version.Minor, lastMinor)-firstMinor]+l.Header-16))
	return ok && l.entries(m, keys, values, yield)
}

// managed returns the dictionary of an instance, or where its values are.
// Source: Objects/object_layout.md of 3.12, InternalDocs/object_layout.md later.
func (l *Layout) managed(m *view.View, a mem.Addr, size, flags uint64) (dict, values mem.Addr, ok bool) {
	before := func(n mem.Addr) mem.Addr {
		v, got := Pointer(m, a-n)
		ok = ok || got
		return v
	}
	switch l.Version.Minor {
	case 11:
		if values = before(32); values != 0 {
			return 0, values, ok
		}
		return before(24), 0, ok
	case 12:
		v := before(24)
		if v&1 != 0 {
			return 0, v + 1, ok
		}
		return v, 0, ok && v != 0
	}
	if dict = before(24); dict == 0 && flags&inlineValues != 0 && size < 1<<16 {
		return 0, a + mem.Addr(size), ok
	}
	return dict, 0, ok && dict != 0
}

// IntAt reads an int that fits 64 bits and is not below 0.
func (l *Layout) IntAt(m *view.View, a mem.Addr) (uint64, bool) {
	b, ok := m.Bytes(a+l.header(), 8)
	if !ok {
		return 0, false
	}
	count := order.Uint64(b)
	if l.Version.Minor >= 12 {
		if count&3 == 2 { // below 0
			return 0, false
		}
		count >>= 3
	}
	if count > 3 {
		return 0, false
	}
	digits, ok := m.Bytes(a+l.header()+8, int(4*count))
	if !ok {
		return 0, false
	}
	v := uint64(0)
	for i := int(count) - 1; i >= 0; i-- {
		v = v<<30 | uint64(order.Uint32(digits[4*i:]))
	}
	return v, true
}
