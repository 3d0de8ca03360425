package wasmtime

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
)

var (
	errGone       = errors.New("its module was dropped")
	errNoFunction = errors.New("no function of its module is there")
)

// maxCode bounds the bytes of a function that are read to find a row.
const maxCode = 64 << 10

// Row implements [unwind.RowSource]. Tables of the image describe the beginning of a function and not its end, where
// the frame is gone already: where a thread was interrupted the instructions tell more.
func (r *Runtime) Row(g unwind.Region, pc mem.Addr, interrupted bool) (*cfi.Row, bool, error) {
	im := r.known.Load().find(pc)
	if im == nil || im.text != g {
		return nil, false, errGone
	}
	f := im.functionAt(pc)
	if f == nil {
		return nil, false, errNoFunction
	}
	if interrupted && im.arch == regs.AMD64 {
		if row, ok, err := r.rowByCode(im, f, pc); ok || err != nil {
			return row, ok, err
		}
	}
	if im.frames != nil {
		if row, err := im.frames.Row(uint64(pc)); err == nil {
			return row, true, nil
		}
	}
	if im.arch != regs.AMD64 {
		return nil, false, nil
	}
	return recordRow(pc), true, nil
}

// rowByCode interprets the function from its beginning to pc. An error says that the code cannot be read: other rows
// are not true at each of its instructions.
func (r *Runtime) rowByCode(im *image, f *function, pc mem.Addr) (row *cfi.Row, ok bool, err error) {
	start := im.text.Start + mem.Addr(f.start)
	v := r.live()
	b, ok := im.code(v, f, maxCode)
	if !ok {
		return nil, false, fmt.Errorf("its code cannot be read: %w", v.Fault())
	}
	at := int(pc - start)
	if at >= len(b) {
		return nil, false, nil
	}
	if leavesByJump(b, at) {
		return entryRow(pc), true, nil
	}
	code := x86.Code{Start: uint64(start), Data: b, Mode64: true, Budget: r.budget}
	found, ok := code.FromEntry(uint64(start), uint64(start)+uint64(len(b)), uint64(pc))
	moved := found.CFA.Reg == uint64(regs.AMD64RBP) && found.CFA.N != 16 && bytes.Contains(b[:at], movedRecord)
	return &found, ok && !moved, nil
}

// movedRecord ends what a function does to its frame record if it is going to end in a tail call whose parameters take
// more of the stack than its own: the record is copied to below them, "mov r11, 8(rsp)" at last. From there on it is
// where frame pointers lead, and where it was parameters are written.
// Source: cranelift/codegen/src/isa/x64/abi.rs, gen_prologue_frame_setup.
var movedRecord = []byte{0x4c, 0x89, 0x5c, 0x24, 0x08}

// leavesByJump reports whether the instruction at b[at], of a function whose code is b, is the jump of a tail call: all
// is as where the next function begins, though SP may be higher than where this one began. It jumps out of the
// function, or comes right behind "pop rbp" or what takes parameters off the stack.
func leavesByJump(b []byte, at int) bool {
	rest := b[at:]
	switch {
	case len(rest) >= 5 && rest[0] == 0xe9: // jmp to an address
		to := at + 5 + int(int32(order.Uint32(rest[1:])))
		return to < 0 || to >= len(b)
	case len(rest) >= 2 && rest[0] == 0xff && rest[1]&0xf8 == 0xe0, // jmp *register
		len(rest) >= 3 && rest[0] == 0x41 && rest[1] == 0xff && rest[2]&0xf8 == 0xe0:
		before := b[:at]
		return bytes.HasSuffix(before, []byte{0x5d}) ||
			len(before) >= 4 && bytes.HasPrefix(before[at-4:], []byte{0x48, 0x83, 0xc4}) || // add rsp, 8 bits
			len(before) >= 7 && bytes.HasPrefix(before[at-7:], []byte{0x48, 0x81, 0xc4}) // add rsp, 32 bits
	}
	return false
}

// entryRow is the row where a function begins.
func entryRow(pc mem.Addr) *cfi.Row {
	return &cfi.Row{Start: uint64(pc), End: uint64(pc) + 1, RAReg: uint64(regs.AMD64RIP),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: uint64(regs.AMD64RSP), N: 8}, RA: cfi.Rule{Kind: cfi.Offset, N: -8}}
}

// recordRow is the row of a function behind "push rbp; mov rbp, rsp", with which all begin.
// Source: preserve_frame_pointers in crates/wasmtime/src/config.rs.
func recordRow(pc mem.Addr) *cfi.Row {
	fp := uint64(regs.AMD64RBP)
	return &cfi.Row{Start: uint64(pc), End: uint64(pc) + 1, RAReg: uint64(regs.AMD64RIP),
		CFA:  cfi.Rule{Kind: cfi.Register, Reg: fp, N: 16},
		RA:   cfi.Rule{Kind: cfi.Offset, N: -8},
		Regs: []cfi.RegRule{{Reg: fp, Rule: cfi.Rule{Kind: cfi.Offset, N: -16}}}}
}
