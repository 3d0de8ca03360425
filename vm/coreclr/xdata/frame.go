package xdata

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// frame is what the codes that were undone so far say. Places are bytes above SP, as that is now.
type frame struct {
	depth int64 // of SP, as it was before what was undone
	// base is what the CFA rests on: SP, or FP, which is offset above the place at.
	base       uint64
	offset, at int64
	saved      []saved
	// pairs is how many pairs of registers the next code stands for besides its own.
	pairs int
}

// saved is where a register is.
type saved struct {
	register uint64
	place    int64
}

// undo goes back over the instruction that op stands for.
func (f *frame) undo(op []byte) error {
	if n, ok := allocated(op); ok {
		f.depth += n
		return nil
	}
	long := int64(0) // the numbers of a code of two bytes: which register, and where
	if len(op) == 2 {
		long = int64(op[0])<<8 | int64(op[1])
	}
	x, z := uint64(long>>6&15), long&63*slot // of registers from x19 on
	d := x & 7                               // from d8 on
	switch o := op[0]; {
	case o < 0x40: // save_r19r20_x
		f.restore(19, 0, 2, true)
		f.depth += int64(o&31) * slot
	case o < 0x80: // save_fplr
		f.restore(fp, int64(o&63)*slot, 2, false)
	case o < 0xc0: // save_fplr_x
		f.restore(fp, 0, 2, false)
		f.depth += int64(o&63+1) * slot
	case o < 0xcc: // save_regp
		f.restore(19+x, z, 2, true)
	case o < 0xd0: // save_regp_x
		f.restore(19+x, 0, 2, true)
		f.depth += z + slot
	case o < 0xd4: // save_reg
		f.restore(19+x, z, 1, false)
	case o < 0xd6: // save_reg_x
		f.restore(19+uint64(long>>5&15), 0, 1, false)
		f.depth += long&31*slot + slot
	case o < 0xd8: // save_lrpair
		f.restore(19+2*d, z, 1, false)
		f.restore(lr, z+slot, 1, false)
	case o < 0xde: // save_fregp, save_fregp_x, save_freg: a caller wants none of d8 to d15
		if o == 0xda || o == 0xdb {
			f.depth += z + slot
		}
		f.pairs = 0
	case o == 0xde: // save_freg_x
		f.depth += int64(op[1]&31)*slot + slot
	case o == setFP:
		f.base, f.offset, f.at = fp, 0, f.depth
	case o == addFP:
		f.base, f.offset, f.at = fp, int64(op[1])*slot, f.depth
	case o == saveNext:
		f.pairs++
	case o == nop, o == endC, o == pacSignLR:
	default:
		return fmt.Errorf("%w: code %#x", ErrMalformed, o)
	}
	return nil
}

// restore notes that n registers from r on lie one behind the other, from z bytes above SP on; with next those of the
// codes before this one too.
func (f *frame) restore(r uint64, z int64, n int, next bool) {
	if next {
		n += 2 * f.pairs
	}
	f.pairs = 0
	for i := range n {
		f.saved = append(f.saved, saved{r + uint64(i), f.depth + z + int64(i)*slot})
	}
}

// row is what all codes together say.
func (f *frame) row() (*cfi.Row, error) {
	r := &cfi.Row{RAReg: lr, CFA: cfi.Rule{Kind: cfi.Register, Reg: f.base, N: f.depth - f.at - f.offset}}
	for _, s := range f.saved {
		rule := cfi.Rule{Kind: cfi.Offset, N: s.place - f.depth}
		switch {
		case s.place >= f.depth || s.register > lr:
			return nil, fmt.Errorf("%w: x%d is saved outside of the frame", ErrMalformed, s.register)
		case s.register == lr:
			r.RA = rule
		default:
			r.Regs = append(r.Regs, cfi.RegRule{Reg: s.register, Rule: rule})
		}
	}
	slices.SortFunc(r.Regs, func(a, b cfi.RegRule) int { return int(a.Reg) - int(b.Reg) })
	for i := range r.Regs[min(1, len(r.Regs)):] {
		if r.Regs[i].Reg == r.Regs[i+1].Reg {
			return nil, fmt.Errorf("%w: x%d is saved twice", ErrMalformed, r.Regs[i].Reg)
		}
	}
	return r, nil
}
