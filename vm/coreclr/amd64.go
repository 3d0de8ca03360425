package coreclr

import (
	"bytes"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
)

// onAMD64 is what the runtime does on x86-64.
var onAMD64 = port{
	arch:         regs.AMD64,
	functionSize: unwindcode.FunctionSize,
	function:     unwindcode.ParseFunction,
	headSize:     unwindcode.HeadSize,
	maxInfo:      unwindcode.MaxInfo,
	infoSize:     unwindcode.InfoSize,
	row:          (*Runtime).rowAMD64,
	stub:         (*Runtime).stubAMD64,
	trip:         tripAMD64,
}

// rowAMD64 is the row at place at of c: by its unwind codes, which say nothing of epilogues.
func (r *Runtime) rowAMD64(c *code, at uint32, interrupted bool) (*cfi.Row, error) {
	start, end := c.span()
	if size := uint32(end - start); interrupted && at > 0 {
		b, err := r.text(c, start+mem.Addr(at), int(min(unwindcode.MaxEpilogue, size-at)))
		if err != nil { // an epilogue has another row
			return nil, err
		}
		if row, ok := unwindcode.Epilogue(b, at, size); ok {
			return row, nil
		}
	}
	return unwindcode.Row(c.function, at, func(offset uint32, n int) []byte { return r.info(c, offset, n) })
}

// stubAMD64 is the row of code of the runtime between methods, interrupted at pc: it has no frame of its own, but a
// word or two that it has pushed. An error says that its code could not be read.
func (r *Runtime) stubAMD64(pc mem.Addr) (*cfi.Row, error) {
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
	return returnRow(regs.AMD64, pc, wordSize*(1+pushed)), nil
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

// tripHead begins the function that stops threads: it saves rax, rbp, rbx, r15, r14, r13, r12.
// Source: src/coreclr/vm/amd64/unixasmhelpers.S. Seen in 8.0.30, 9.0.1 to 9.0.7, 10.0.9 and 10.0.11.
var tripHead = []byte{0x50, 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54}

const maxTrip = 96 // bytes of it; 0x44 were seen

// tripAMD64 is trip of amd64.
func tripAMD64(code []byte, at int) (t *trip, begin int) {
	begin = bytes.LastIndex(code[:min(len(code), at+len(tripHead))], tripHead)
	if begin < 0 {
		return nil, 0
	}
	return parseTrip(code[begin:min(len(code), begin+maxTrip)]), begin
}

// parseTrip reads the function that b begins with; nil if it is another one. Its first push is the place of the return
// address.
func parseTrip(b []byte) *trip {
	t := &trip{arch: regs.AMD64, ra: -wordSize, changed: regs.NoReg}
	depth := int64(0)
	for at := 0; at < len(b); {
		size, pushed, ok := tripStep(b[at:])
		if !ok {
			return nil
		}
		for range size {
			t.depth = append(t.depth, depth)
		}
		switch b[at] {
		case 0xc3: // ret, to the word that was pushed first
			if t.call == 0 || depth != wordSize {
				return nil
			}
			return t.sorted()
		case 0xe8:
			if t.call != 0 {
				return nil
			}
			t.call = at + size
		}
		if reg := pushedRegister(b[at : at+size]); t.call == 0 && pushed == wordSize && reg != regs.NoReg {
			t.saved = append(t.saved, savedAt{reg, -depth - wordSize})
		}
		depth += pushed
		at += size
	}
	return nil
}

// pushedRegister is what an instruction pushes, of those that a caller may want; regs.NoReg for another one.
func pushedRegister(b []byte) regs.Reg {
	number := b[len(b)-1] & 7
	if len(b) == 2 {
		number += 8
	}
	switch number {
	case 3:
		return regs.AMD64RBX
	case 5:
		return regs.AMD64RBP
	case 12:
		return regs.AMD64R12
	case 13:
		return regs.AMD64R13
	case 14:
		return regs.AMD64R14
	case 15:
		return regs.AMD64R15
	}
	return regs.NoReg
}

// tripStep is the size of the instruction at b, and how many bytes it pushes; false for one that the function has not.
func tripStep(b []byte) (size int, pushed int64, ok bool) {
	has := func(head ...byte) bool { return bytes.HasPrefix(b, head) }
	prefix := 0
	if has(0x41) {
		prefix = 1
	}
	switch {
	case len(b) > prefix && b[prefix]&^7 == 0x50: // push
		return prefix + 1, wordSize, true
	case len(b) > prefix && b[prefix]&^7 == 0x58: // pop
		return prefix + 1, -wordSize, true
	case has(0x48, 0x8d, 0x64, 0x24) && len(b) > 4: // lea rsp, [rsp+n]
		return 5, -int64(int8(b[4])), true
	case has(0x48, 0x89, 0xe7): // mov rdi, rsp
		return 3, 0, true
	case has(0x66, 0x0f, 0x7f, 0x04, 0x24), has(0x66, 0x0f, 0x6f, 0x04, 0x24): // movdqa between [rsp] and xmm0
		return 5, 0, true
	case has(0x66, 0x0f, 0x7f, 0x4c, 0x24) && len(b) > 5, has(0x66, 0x0f, 0x6f, 0x4c, 0x24) && len(b) > 5:
		return 6, 0, true
	case has(0xe8) && len(b) >= 5:
		return 5, 0, true
	case has(0xc3):
		return 1, 0, true
	}
	return 0, 0, false
}
