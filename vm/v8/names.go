package v8

import (
	"errors"
	"math/bits"
	"net/url"
	"strings"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// function is what is known of a JavaScript function.
type function struct {
	heap.Shared
	*label
	own    string  // name without the class
	start  int     // in its script, -1 if not known
	script *script // nil for a builtin

	checked time.Time // when it was last known to be what Shared refers to
}

// recheck is how long a function is believed by the words of its SharedFunctionInfo alone: where scripts come and go
// another function may be made of the same words.
const recheck = time.Second

// script is a file or another text.
type script struct {
	heap.Script
	file  string
	lines *heap.Lines // nil before it is asked for
	err   error       // why there are none
	tries uint32      // to read them
}

// isWasm reports whether s stands for a module of WebAssembly: of its functions those have it that JavaScript calls,
// which enter the code that has a frame of its own.
func (s *script) isWasm() bool { return strings.HasPrefix(s.file, "wasm:") }

// anonymous is what V8 calls a function without a name, and the text of a script outside of all functions.
const anonymous = "<anonymous>"

// function finds out about the JSFunction that t refers to, which was called on receiver; 0 where that is not known.
func (r *Runtime) function(t, receiver heap.Tagged, m mem.Reader) (*function, error) {
	at, ok := t.Object()
	if !ok || !isHeapPointer(uint64(t)) {
		return nil, errNoFunction
	}
	h := r.heap(m)
	at, err := h.Follow(at)
	if err != nil {
		return nil, err
	}
	if f := r.known(at, m); f != nil {
		r.findClass(f, receiver, at, m)
		return f, nil
	}
	shared, err := h.FunctionAt(at)
	if err != nil {
		return nil, errors.Join(errNoFunction, err)
	}
	if shape, err := word(m, at); err == nil {
		r.types.of(r.layout, shape, m) // what known asks for
	}
	f, err := r.describe(shared, m)
	if err == nil {
		r.findClass(f, receiver, at, m)
	}
	return f, err
}

// known returns the function whose closure is at a, if it was met: what was copied of a suffices for that.
func (r *Runtime) known(a mem.Addr, m mem.Reader) *function {
	var closure [functionHead]byte
	var head [sharedHead]byte
	if _, err := m.ReadMem(closure[:], a); err != nil {
		return nil
	}
	t, ok := r.types.known[order.Uint64(closure[r.layout.Map.Of:])]
	shared := order.Uint64(closure[r.layout.Function.Shared:])
	if !ok || t < r.layout.Types.FirstFunction || t > r.layout.Types.LastFunction || !isHeapPointer(shared) {
		return nil
	}
	if _, err := m.ReadMem(head[:], mem.Addr(shared-1)); err != nil {
		return nil
	}
	l := &r.layout.Shared
	f := r.sites.functions[heap.Shared{Addr: mem.Addr(shared - 1),
		NameOrScope: heap.Tagged(order.Uint64(head[l.NameOrScope:])),
		Script:      heap.Tagged(order.Uint64(head[l.Script:]))}]
	if f == nil || time.Since(f.checked) < recheck {
		return f
	}
	f.checked = time.Now()
	if own, start, err := r.heap(m).Describe(f.Shared); err == nil && (own != f.own || start != f.start) {
		delete(r.sites.functions, f.Shared)
		return nil
	}
	return f
}

// describe finds out about a function, or remembers it. What it reads may move meanwhile: then the function itself
// refers to something else afterwards.
func (r *Runtime) describe(s heap.Shared, m mem.Reader) (*function, error) {
	if f := r.sites.functions[s]; f != nil {
		return f, nil
	}
	h := r.heap(m)
	name, start, err := h.Describe(s)
	if err != nil {
		return nil, err
	}
	f := &function{Shared: s, own: name, start: start, checked: time.Now()}
	p, ok, err := h.ScriptOf(s)
	if err != nil {
		return nil, err
	}
	if ok {
		f.script = r.script(p)
	}
	if r.live != nil {
		now, err := r.heap(r.live).SharedAt(heap.TagOf(s.Addr))
		if err == nil && now != s {
			err = heap.ErrMoved
		}
		if err != nil {
			return nil, err
		}
	}
	f.label = r.sites.labelOf(f)
	r.sites.keep(f)
	return f, nil
}

// script returns what is known of p.
func (r *Runtime) script(p heap.Script) *script {
	if s := r.sites.scripts[p]; s != nil {
		return s
	}
	s := &script{Script: p, file: fileOf(p.Name)}
	if len(r.sites.scripts) >= maxScripts {
		clear(r.sites.scripts)
	}
	r.sites.scripts[p] = s
	return s
}

// fileOf is the path of a script that has a file: modules have its URL.
func fileOf(name string) string {
	if path, ok := strings.CutPrefix(name, "file://"); ok {
		if plain, err := url.PathUnescape(path); err == nil {
			return plain
		}
	}
	return name
}

// place is the file and line of the text at offset; line 0 if not known.
func (r *Runtime) place(s *script, offset int, m mem.Reader) (file string, line int) {
	file, line, _ = r.where(s, offset, m)
	return file, line
}

// where is the file, line and column of the text at offset; 0 if not known.
func (r *Runtime) where(s *script, offset int, m mem.Reader) (file string, line, column int) {
	if offset < 0 {
		return s.file, 0, 0
	}
	if s.lines == nil && !r.readLines(s, m) {
		return s.file, 0, 0
	}
	line, column, ok := s.lines.At(offset)
	if ok && r.translate != nil {
		if p, ok := r.translate(s.file, line, column); ok {
			return p.Source, p.Line, p.Column
		}
	}
	return s.file, line, column
}

// readLines reads where lines of s end. The text of a young script moves: then it is tried again, now with what the
// Script refers to by then, and the next time, the second, the fourth and so on.
func (r *Runtime) readLines(s *script, m mem.Reader) bool {
	if s.err != nil && !errors.Is(s.err, heap.ErrMoved) {
		return false
	}
	if s.tries++; bits.OnesCount32(s.tries) == 1 {
		h := r.heap(m)
		if s.lines, s.err = h.LinesOf(s.Script); errors.Is(s.err, heap.ErrMoved) {
			if now, err := h.Again(s.Script); err == nil {
				s.lines, s.err = h.LinesOf(now)
			}
		}
	}
	if s.lines == nil {
		r.sites.unread++
	}
	return s.lines != nil
}

// position names f at an offset of its bytecode. The same source makes the same bytecode each time, so that the offset
// is enough to remember it by.
func (r *Runtime) position(f *function, b heap.Bytecode, offset int, t tier, m mem.Reader) (unwind.Site, error) {
	key := bytecodeKey{f, offset, t}
	at := f.start
	if p, ok := r.lookup(b.Positions, offset, m); ok {
		at = p.Offset
	}
	unread := r.sites.unread
	s, err := r.at(f, at, t, m)
	if err == nil && unread == r.sites.unread {
		r.sites.keepBytecode(key, s)
	}
	return s, err
}

// lookup looks an offset up in a table of positions.
func (r *Runtime) lookup(table heap.Tagged, offset int, m mem.Reader) (heap.Position, bool) {
	b, err := r.heap(m).Table(table)
	if err != nil {
		return heap.Position{}, false
	}
	p, ok, err := r.layout.PositionAt(b, offset)
	return p, ok && err == nil
}
