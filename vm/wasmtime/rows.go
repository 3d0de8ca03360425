package wasmtime

import (
	"errors"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/unwind/x86"
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
		if row, ok := r.rowByCode(im, f, pc); ok {
			return row, true, nil
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

// rowByCode interprets the function from its beginning to pc.
func (r *Runtime) rowByCode(im *image, f *function, pc mem.Addr) (*cfi.Row, bool) {
	start := im.text.Start + mem.Addr(f.start)
	size := min(int(f.end-f.start), maxCode)
	b, err := im.code(r.memory, start, size)
	if err != nil {
		return nil, false
	}
	code := x86.Code{Start: uint64(start), Data: b, Mode64: true, Budget: r.budget}
	row, ok := code.FromEntry(uint64(start), uint64(start)+uint64(len(b)), uint64(pc))
	return &row, ok
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
