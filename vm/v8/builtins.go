package v8

import (
	"slices"
	"sort"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
)

// builtin is one function of V8 that is part of the object.
type builtin struct {
	start, end module.Vaddr
	name       string // without the prefix
	kind       builtinKind
	// prologue is how many bytes from the start on run before the frame is built, where all of it is built at once
	// near the start; below 0 where the function builds it elsewhere, or never.
	prologue int
	deopt    *deoptEntry // of a deoptimizer whose instructions are known
}

// inFrame reports whether b is an entry of the interpreter that runs in the frame of the function from its first
// instruction on: what the deoptimizer returns to.
func (b *builtin) inFrame() bool { return b.kind == interpreterEntry && b.prologue < 0 }

// builtinKind says what is special in a builtin.
type builtinKind uint8

const (
	_ builtinKind = iota // nothing
	// interpreterEntry runs the bytecode of the function whose frame it has.
	interpreterEntry
	// bytecodeHandler executes one bytecode, in the frame of the function, or in one of its own below that.
	bytecodeHandler
	// entryFromC is called by C++ and has saved its registers: JSEntry and its like.
	entryFromC
	// baselinePrologue builds the frame of the baseline code that has called it, whose return address it takes off the
	// stack for that.
	baselinePrologue
	// deoptimizer is entered by a call from optimised code, and replaces the frame of that.
	deoptimizer
)

// builtins are those of one object. They belong to the goroutine that walks, but for start and end.
type builtins struct {
	start, end module.Vaddr
	unread     *tables   // where list and sizes come from when they are first wanted; nil if they are there
	err        error     // why they are not whole
	list       []builtin // ascending; empty for a stripped object
	sizes      []byte    // of bytecodes, nil if not known
}

// read reads list and sizes if that was not done.
func (b *builtins) read() {
	t := b.unread
	if t == nil {
		return
	}
	b.unread = nil
	b.err = module.Guard(t.m.Path, func() error {
		err := t.readAll()
		slices.SortFunc(t.code, func(x, y builtin) int { return int(int64(x.start - y.start)) })
		for i := range t.code {
			t.code[i].classify(t.m, t.port)
		}
		return err
	})
	b.list, b.sizes = t.code, t.sizes
	if start, end := t.blob(); end != 0 {
		b.start, b.end = start, end
	} else if b.end == 0 && len(b.list) > 0 {
		b.start, b.end = b.list[0].start, b.list[len(b.list)-1].end
	}
}

// all lists them, ascending.
func (b *builtins) all() []builtin {
	b.read()
	return b.list
}

// find returns the builtin that holds v, nil if none is known.
func (b *builtins) find(v module.Vaddr) *builtin {
	b.read()
	i := sort.Search(len(b.list), func(i int) bool { return b.list[i].start > v }) - 1
	if i < 0 || v >= b.list[i].end {
		return nil
	}
	return &b.list[i]
}

// bytecodeSizes are the lengths of bytecodes, nil if not known.
func (b *builtins) bytecodeSizes() []byte {
	b.read()
	return b.sizes
}

// maxPrologue bounds the bytes that a builtin runs through before it builds its frame, where it always does.
const maxPrologue = 256

func (b *builtin) classify(m *module.Module, p *port) {
	switch {
	case strings.HasSuffix(b.name, "Handler"):
		b.kind = bytecodeHandler
	case strings.HasPrefix(b.name, "InterpreterEntryTrampoline"), strings.HasPrefix(b.name, "InterpreterEnterAt"),
		strings.HasPrefix(b.name, "BaselineOrInterpreterEnter"):
		b.kind = interpreterEntry
	case b.name == "JSEntry", b.name == "JSConstructEntry", b.name == "JSRunMicrotasksEntry":
		b.kind = entryFromC
	case b.name == "BaselineOutOfLinePrologue":
		b.kind = baselinePrologue
	case strings.HasPrefix(b.name, "DeoptimizationEntry_"):
		b.kind = deoptimizer
	}
	b.prologue = -1
	code, ok := m.Text(b.start)
	if !ok {
		return
	}
	if b.kind == deoptimizer && p.deoptEntry != nil {
		b.deopt = p.deoptEntry(code[:min(len(code), int(b.end-b.start))], b.start)
	}
	limit := p.prologueSize
	switch {
	case b.kind == interpreterEntry && !strings.HasPrefix(b.name, "InterpreterEntryTrampoline"):
		return // it runs in the frame that is there; what it builds further on is another
	case b.kind == interpreterEntry, b.kind == baselinePrologue:
		limit = maxPrologue // something is looked up first
	}
	code = code[:min(len(code), limit, int(b.end-b.start))]
	b.prologue = p.prologue(code)
}
