package cpython

import (
	"bytes"
	"strings"
	"sync"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// codeKey tells a code object from another that was made at the same address.
type codeKey struct {
	addr                  mem.Addr
	filename, name, lines mem.Addr
	firstLine             int32
	size                  uint64 // of its variable part
}

// keyOf is the key of the code object at a, whose first bytes are b.
func keyOf(l *object.Layout, a mem.Addr, b []byte) codeKey {
	at := &l.Code
	name := at.Name
	if at.Qualname != 0 {
		name = at.Qualname
	}
	k := codeKey{addr: a, filename: mem.Addr(order.Uint64(b[at.Filename:])), name: mem.Addr(order.Uint64(b[name:])),
		lines: mem.Addr(order.Uint64(b[at.Lines:])), firstLine: int32(order.Uint32(b[at.FirstLine:]))}
	if at.Qualname != 0 {
		k.size = order.Uint64(b[l.Header:])
	}
	return k
}

// code is what is known of a code object.
type code struct {
	codeKey
	function, file string
	table          []byte
	sites          map[int]unwind.Site // by offset
}

// passing says that its file is no file, as "<string>": such code comes and goes, so that another may be made with the
// same key.
func (c *code) passing() bool {
	return strings.HasPrefix(c.file, "<") && !strings.HasPrefix(c.file, "<frozen ")
}

// internal says that it is code of the interpreter that nobody wrote: what runs while a class is called.
func (c *code) internal() bool { return c.file == "__init__" && c.function == "__init__" }

// codes are the code objects that were met. Copy asks it while a thread is stopped, beside who adds to it.
type codes struct {
	mu    sync.RWMutex
	known map[mem.Addr]*code
	bytes int // about what they hold
}

// Bounds of the code objects that are known, and of what they hold.
const (
	maxKnown     = 1 << 16
	maxCodeBytes = 64 << 20
)

func (c *codes) reset() { c.known = map[mem.Addr]*code{} }

// has reports whether all is known of the code object with that key. It does not wait: where somebody adds one now it
// is copied once more.
func (c *codes) has(k *codeKey) bool {
	if !c.mu.TryRLock() {
		return false
	}
	known := c.known[k.addr]
	c.mu.RUnlock()
	return known != nil && known.codeKey == *k && !known.passing()
}

// codeAt returns the code object at a, by what was copied of it; nil if that is not enough.
func (r *Runtime) codeAt(a mem.Addr, m object.Memory) *code {
	l := r.layout
	b, ok := m.Bytes(a, l.Code.Size)
	if !ok {
		return nil
	}
	key := keyOf(l, a, b)
	old := r.codes.known[a] // it is changed by this goroutine alone
	if old != nil && old.codeKey == key && !old.passing() {
		return old
	}
	c := &code{codeKey: key, sites: map[int]unwind.Site{}}
	var ok1, ok2 bool
	c.file, ok1 = l.StringAt(m, key.filename)
	c.function, ok2 = l.StringAt(m, key.name)
	table, ok := l.BytesAt(m, key.lines)
	if !ok || !ok1 || !ok2 {
		return nil
	}
	if old != nil && old.codeKey == key && old.file == c.file && old.function == c.function &&
		bytes.Equal(table, old.table) {
		return old
	}
	c.table = bytes.Clone(table)
	r.codes.add(c)
	return c
}

// add makes c known; where there are too many all others are forgotten.
func (c *codes) add(one *code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := len(one.table) + len(one.file) + len(one.function)
	if len(c.known) >= maxKnown || c.bytes+size > maxCodeBytes {
		clear(c.known)
		c.bytes = 0
	}
	c.known[one.addr], c.bytes = one, c.bytes+size
}
