// Package unwindcode makes rows of the unwind codes that Windows has for x86-64, which CoreCLR writes on Linux too: how
// the caller's registers are found from a place in a function, its prologue and epilogues included.
//
// The caller gives the bytes, of which nothing is believed: work is bounded by their number. It knows no process.
//
// Sources: "x64 exception handling" of the Microsoft x64 ABI conventions (struct UNWIND_INFO, UNWIND_CODE, epilogue
// code); src/coreclr/inc/win64unwind.h for UWOP_SET_FPREG_LARGE.
package unwindcode

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/unwind/cfi"
)

// Function is a RUNTIME_FUNCTION: its code is [Begin, End), its UNWIND_INFO is at Info, all from one base.
type Function struct{ Begin, End, Info uint32 }

// FunctionSize is how many bytes one takes.
const FunctionSize = 12

// ParseFunction reads b, which has FunctionSize bytes at the least.
func ParseFunction(b []byte) Function {
	return Function{order.Uint32(b), order.Uint32(b[4:]), order.Uint32(b[8:])}
}

var order = binary.LittleEndian

// ErrMalformed says that bytes are no UNWIND_INFO, or contradict each other.
var ErrMalformed = errors.New("unwind information is malformed")

// operations of UNWIND_CODE, UWOP_XXX.
const (
	pushNonVolatile  = 0
	allocLarge       = 1
	allocSmall       = 2
	setFrame         = 3
	saveNonVolatile  = 4
	saveFar          = 5
	saveXMM          = 8
	saveXMMFar       = 9
	pushMachineFrame = 10
	setFrameLarge    = 11
)

// HeadSize is how many bytes of an UNWIND_INFO say how long it is.
const HeadSize = headerSize

const (
	headerSize = 4
	flagChain  = 4 // UNW_FLAG_CHAININFO
	maxChained = 32
	// MaxInfo is how many bytes an UNWIND_INFO has at most, with the function that it is chained to.
	MaxInfo = headerSize + 2*256 + FunctionSize
)

// InfoSize is how many bytes the UNWIND_INFO has that begins with those four, with the function that it is chained to.
func InfoSize(head []byte) int {
	count := int(head[2])
	if head[0]>>3&flagChain == 0 {
		return headerSize + 2*count
	}
	return headerSize + 2*(count+count&1) + FunctionSize // their number is even
}

// dwarf are the DWARF numbers of registers, by their number in instructions.
var dwarf = [16]uint64{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

const (
	rsp, rbp = 7, 6 // DWARF
	ra       = 16
	word     = 8
)

// frame is what the codes read so far say. Places are bytes above where RSP is in the function's body.
type frame struct {
	depth int64 // where the codes not yet read begin
	// base is what the CFA rests on: RSP at place 0, or a register that is offset above the place at.
	register   uint64
	offset, at int64
	saved      [16]int64 // place+1 of each register, by its number in instructions; 0: not saved
}

// Row returns the row for the place at, bytes from the beginning of f, where a thread was interrupted or to which a
// function returns. info reads up to n bytes at an offset from the base of f.
func Row(f Function, at uint32, info func(offset uint32, n int) []byte) (*cfi.Row, error) {
	state := frame{register: rsp}
	for range maxChained {
		next, err := state.read(info(f.Info, MaxInfo), at)
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			return state.row()
		}
		f, at = *next, ^uint32(0) // all of what it is chained to has been done
	}
	return nil, fmt.Errorf("%w: it is chained more than %d times", ErrMalformed, maxChained)
}

// read reads one UNWIND_INFO, and returns the function that it is chained to, nil for none.
func (s *frame) read(b []byte, at uint32) (*Function, error) {
	if len(b) < headerSize {
		return nil, fmt.Errorf("%w: it cannot be read", ErrMalformed)
	}
	version, flags, count := b[0]&7, b[0]>>3, int(b[2])
	codes := b[headerSize:]
	if version != 1 || len(codes) < 2*count {
		return nil, fmt.Errorf("%w: version %d, %d codes in %d bytes", ErrMalformed, version, count, len(b))
	}
	rest := codes[:2*count]
	for len(rest) > 0 {
		n, err := s.code(rest, b[3], uint32(rest[0]) <= at)
		if err != nil {
			return nil, err
		}
		rest = rest[2*n:]
	}
	if flags&flagChain == 0 {
		return nil, nil
	}
	behind := 2 * (count + count&1) // their number is even
	if len(codes) < behind+FunctionSize {
		return nil, fmt.Errorf("%w: it is cut", ErrMalformed)
	}
	f := ParseFunction(codes[behind:])
	return &f, nil
}

// slots is how many of two bytes a code takes.
func slots(op, info byte) int {
	switch op {
	case allocLarge:
		return 2 + int(min(info, 1))
	case saveNonVolatile, saveXMM:
		return 2
	case saveFar, saveXMMFar, setFrameLarge:
		return 3
	}
	return 1
}

// code reads the first of b, and does what it says if done: the prologue has come behind it. It returns the slots that
// it takes.
func (s *frame) code(b []byte, header byte, done bool) (int, error) {
	op, info := b[1]&15, b[1]>>4
	n := slots(op, info)
	if len(b) < 2*n {
		return 0, fmt.Errorf("%w: a code is cut", ErrMalformed)
	}
	if !done {
		return n, nil
	}
	var small, large int64
	if n > 1 {
		small = int64(order.Uint16(b[2:]))
	}
	if n > 2 {
		large = int64(order.Uint32(b[2:]))
	}
	switch op {
	case pushNonVolatile:
		s.saved[info] = s.depth + 1
		s.depth += word
	case allocSmall:
		s.depth += int64(info)*word + word
	case allocLarge:
		if n == 2 {
			large = small * word
		}
		s.depth += large
	case setFrame:
		s.setFrame(header&15, int64(header>>4)*16)
	case setFrameLarge:
		s.setFrame(header&15, large*16)
	case saveNonVolatile:
		s.saved[info] = s.at + small*word + 1
	case saveFar:
		s.saved[info] = s.at + large + 1
	case saveXMM, saveXMMFar: // volatile for the walk
	case pushMachineFrame:
		return 0, fmt.Errorf("%w: a machine frame, which CoreCLR does not write", ErrMalformed)
	default:
		return 0, fmt.Errorf("%w: code %d", ErrMalformed, op)
	}
	return n, nil
}

// setFrame notes that a register is offset above where RSP was then.
func (s *frame) setFrame(register byte, offset int64) {
	s.register, s.offset, s.at = dwarf[register], offset, s.depth
}

// row is what all codes together say.
func (s *frame) row() (*cfi.Row, error) {
	cfa := s.depth + word
	r := &cfi.Row{RAReg: ra, RA: cfi.Rule{Kind: cfi.Offset, N: -word},
		CFA: cfi.Rule{Kind: cfi.Register, Reg: s.register, N: cfa - s.at - s.offset}}
	for n := range s.saved {
		if place := s.saved[byDwarf[n]] - 1; place >= 0 && n != rsp {
			if place >= s.depth {
				return nil, fmt.Errorf("%w: a register is saved outside of the frame", ErrMalformed)
			}
			r.Regs = append(r.Regs, cfi.RegRule{Reg: uint64(n), Rule: cfi.Rule{Kind: cfi.Offset, N: place - cfa}})
		}
	}
	return r, nil
}

// byDwarf is dwarf the other way round.
var byDwarf = func() (out [16]int) {
	for i, n := range dwarf {
		out[n] = i
	}
	return out
}()
