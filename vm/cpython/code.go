package cpython

import (
	"bytes"
	"strings"
	"sync"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// codeKey tells a code object from another that was made at the same address.
type codeKey struct {
	addr                  mem.Addr
	filename, name, lines mem.Addr
	firstLine             int32
	size                  uint64 // of its variable part: units of two bytes of instructions, from 3.11 on
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

// code is what is known of a code object. It is not changed.
type code struct {
	codeKey
	function, file string
	table          []byte
}

// instructions is how long the instructions of c are, bytes.
func (c *code) instructions() int { return int(2 * min(c.size, 1<<28)) }

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
	known sites.Recent[mem.Addr, *code] // each knows by its key whether it is the one
}

// maxCodeBytes bounds what is kept of code objects.
const maxCodeBytes = 64 << 20

func newCodes(b *work.Budget) *codes {
	return &codes{known: sites.NewRecent[mem.Addr, *code](b, maxCodeBytes)}
}

// has reports whether all is known of the code object with that key. It does not wait: where somebody adds one now it
// is copied once more.
func (c *codes) has(k *codeKey) bool {
	if !c.mu.TryRLock() {
		return false
	}
	known, ok := c.known.Peek(k.addr)
	c.mu.RUnlock()
	return ok && known.codeKey == *k && !known.passing()
}

// at is the one that was met last at a, nil if none is known.
func (c *codes) at(a mem.Addr) *code {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, _ := c.known.Get(a)
	return known
}

func (c *codes) add(one *code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const fixed = 128 // bytes, besides what it holds
	c.known.Keep(one.addr, one, fixed+len(one.table)+len(one.file)+len(one.function))
}

// codeAt returns the code object at a, by what m has of it; nil if that is not enough.
func (r *Runtime) codeAt(a mem.Addr, m *view.View) *code {
	l := r.layout
	b, ok := m.Bytes(a, l.Code.Size)
	if !ok {
		return nil
	}
	key := keyOf(l, a, b)
	old := r.codes.at(a)
	if old != nil && old.codeKey == key && !old.passing() {
		return old
	}
	c := &code{codeKey: key}
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

// readCode reads what names take of the code object at a, if it is not known.
func (r *Runtime) readCode(a mem.Addr, m *view.View) {
	l := r.layout
	b, ok := m.Bytes(a, l.Code.Size)
	if !ok {
		return
	}
	if key := keyOf(l, a, b); !r.codes.has(&key) {
		l.StringAt(m, key.filename)
		l.StringAt(m, key.name)
		l.BytesAt(m, key.lines)
	}
}

// executed is a code object, and which copy of its instructions a frame executes.
type executed struct {
	code mem.Addr
	copy int32
}

// executions are what frames that were met execute, each once.
type executions struct {
	seen  map[executed]bool
	fresh []executed
}

func newExecutions() *executions { return &executions{seen: map[executed]bool{}} }

func (e *executions) add(f *object.Frame) {
	if x := (executed{f.Code, f.TLBC}); f.Code != 0 && !e.seen[x] {
		e.seen[x] = true
		e.fresh = append(e.fresh, x)
	}
}

// read reads from m what names and lines take of those that came since it was called last.
func (e *executions) read(r *Runtime, m *rounds) {
	inRounds(m, e.fresh, func(x executed) {
		r.readCode(x.code, &m.view)
		r.layout.Bytecode(&m.view, &object.Frame{Code: x.code, TLBC: x.copy})
	})
	e.fresh = nil
}
