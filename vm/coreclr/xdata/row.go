package xdata

import "github.com/fpstack/fpstack/unwind/cfi"

const (
	fp, lr, sp = 29, 30, 31 // also by DWARF
	slot       = 8
)

// Row returns the row for the place at, bytes from the beginning of a function, where a thread was interrupted or to
// which a function returns. b begins with its record, entry with its first instruction, and here with the one at that
// place: either may be nil where it is not known.
func Row(b []byte, at uint32, entry, here []byte) (*cfi.Row, error) {
	r, err := parse(b)
	if err != nil {
		return nil, err
	}
	f := frame{base: sp}
	const ret = 0xd65f03c0
	if len(here) >= instruction && order.Uint32(here) == ret { // all has been undone, whatever the codes say
		return f.row()
	}
	codes, skip, err := r.undo(at/instruction, entry)
	if err != nil {
		return nil, err
	}
	for n := 0; ; n++ {
		op, rest, err := next(codes)
		if err != nil {
			return nil, err
		}
		if op[0] == end {
			return f.row()
		}
		if n >= skip {
			if err := f.undo(op); err != nil {
				return nil, err
			}
		}
		codes = rest
	}
}

// undo are the codes that say how to go back from instruction n, but for the first skip of them.
func (r *record) undo(n uint32, entry []byte) (codes []byte, skip int, err error) {
	size, err := count(r.codes)
	if err != nil {
		return nil, 0, err
	}
	real := size
	if !r.starts(entry) && size > 0 {
		real-- // its first code stands for no instruction
	}
	if n < real {
		return r.codes, int(real - n), nil
	}
	for _, e := range r.epilogues {
		if n < e.at {
			continue
		}
		if size, err = count(e.codes); err != nil {
			return nil, 0, err
		}
		if n-e.at <= size {
			return e.codes, int(n - e.at), nil
		}
	}
	return r.codes, 0, nil
}

// starts reports whether the prologue begins with what its codes say. That of a method which takes over from one that
// runs (on-stack replacement) does not: its first code is the frame of that one.
//
// Source: CodeGen::genFnProlog in src/coreclr/jit/codegencommon.cpp, "phantom prolog".
func (r *record) starts(entry []byte) bool {
	var first []byte
	for codes := r.codes; ; {
		op, rest, err := next(codes)
		if err != nil || op[0] == end || op[0] == endC {
			break
		}
		first, codes = op, rest
	}
	n, ok := allocated(first)
	if !ok || len(entry) < instruction {
		return true
	}
	i := order.Uint32(entry)
	const subSP = 0xd10003ff // sub sp, sp, #n, or #n, lsl #12
	return i&0xff8003ff == subSP && int64(i>>10&0xfff)<<(12*(i>>22&1)) == n
}

// allocated is how many bytes op takes of the stack, if that is what it does.
func allocated(op []byte) (int64, bool) {
	const unit = 16
	switch {
	case len(op) == 1 && op[0] < 0x20: // alloc_s
		return int64(op[0]) * unit, true
	case len(op) == 2 && op[0]&^7 == 0xc0: // alloc_m
		return int64(op[0]&7)<<8*unit + int64(op[1])*unit, true
	case len(op) == lengthAlloc:
		return (int64(op[1])<<16 | int64(op[2])<<8 | int64(op[3])) * unit, true
	}
	return 0, false
}
