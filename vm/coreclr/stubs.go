package coreclr

import (
	"bytes"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// stubRow is the row of code of the runtime between methods, interrupted at pc: it has no frame of its own, but a word
// or two that it has pushed. An error says that its code could not be read.
func (r *Runtime) stubRow(pc mem.Addr) (*cfi.Row, error) {
	const behind, page = 16, 4 << 10
	from := pc - min(pc, resolveBytes)
	b, ok := r.walk.Bytes(from, int(pc-from)+behind)
	if !ok { // at the begin or end of a mapping
		from = max(from, pc&^(page-1))
		if b, ok = r.walk.Bytes(from, int(min(pc+behind, pc|(page-1)+1)-from)); !ok {
			return nil, r.walk.Fault()
		}
	}
	pushed := int64(pushes(b, int(pc-from)))
	return &cfi.Row{Start: uint64(pc), End: uint64(pc) + 1, RAReg: uint64(regs.AMD64RIP),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.AMD64RSP), N: wordSize * (1 + pushed)},
		RA:  cfi.Rule{Kind: cfi.Offset, N: -wordSize}}, nil
}

// Stubs that push: those that find the method of an interface. They are as long in all versions from 8 to 10.
// Source: struct ResolveStub, struct LookupStub in src/coreclr/vm/amd64/virtualcallstubcpu.hpp; seen in 8.0.30, 9.0.5
// and 10.0.9.
const (
	resolveBytes = 0x70
	lookupBytes  = 0x18
)

// resolveStub begins one: mov rax, [rdi]; push rdx; mov r10, n. It has three entries: its beginning, fail and slow.
var resolveStub = []byte{0x48, 0x8b, 0x07, 0x52, 0x49, 0xba}

// lookupStub begins one: nop; mov rax, n.
var lookupStub = []byte{0x90, 0x48, 0xb8}

// pushes is how many words a stub has pushed before it comes to b[at].
func pushes(b []byte, at int) int {
	if at >= len(b) {
		return 0
	}
	before := func(start []byte, most int) int {
		low := max(0, at-most+1)
		if i := bytes.LastIndex(b[low:min(len(b), at+len(start))], start); i >= 0 && low+i <= at {
			return at - low - i
		}
		return -1
	}
	switch in := before(resolveStub, resolveBytes); {
	case in > 0x03 && in <= 0x42, in > 0x58 && in <= 0x63:
		return 1
	case in > 0x63:
		return 2
	case in >= 0:
		return 0
	}
	const push = 0x0b
	if in := before(lookupStub, lookupBytes); in > push && b[at-in+push] == 0x50 {
		return 1
	}
	return 0
}
