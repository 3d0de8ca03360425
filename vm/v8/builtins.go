package v8

import (
	"bytes"
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
}

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

// builtins are those of one object. It is not changed after it was made.
type builtins struct {
	list       []builtin // ascending; empty for a stripped object
	start, end module.Vaddr
	sizes      []byte // of bytecodes, nil if not known
}

// find returns the builtin that holds v, nil if none is known.
func (b *builtins) find(v module.Vaddr) *builtin {
	i := sort.Search(len(b.list), func(i int) bool { return b.list[i].start > v }) - 1
	if i < 0 || v >= b.list[i].end {
		return nil
	}
	return &b.list[i]
}

// buildsFrame is push rbp; mov rbp, rsp.
var buildsFrame = []byte{0x55, 0x48, 0x89, 0xe5}

// maxPrologue bounds the bytes that a builtin runs through before it builds its frame, where it always does.
const maxPrologue = 256

func (b *builtin) classify(m *module.Module) {
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
	limit := len(buildsFrame)
	if b.kind == interpreterEntry || b.kind == baselinePrologue {
		limit = maxPrologue // something is looked up first
	}
	code = code[:min(len(code), limit, int(b.end-b.start))]
	if i := bytes.Index(code, buildsFrame); i >= 0 {
		b.prologue = i
	}
}
