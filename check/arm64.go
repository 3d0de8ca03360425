package check

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/work"
)

// maxARM64 bounds the code of one function that is followed, bytes.
const maxARM64 = 256 << 10

// armState is what a path through a function did to its frame record so far.
type armState struct {
	fp, lr bool // x29, x30 were stored
	record bool // x29 was pointed to the stack behind that
}

// armPath is a place to go on from.
type armPath struct {
	at int // byte offset
	s  armState
}

// armWalk follows one function along all its paths, each instruction once.
type armWalk struct {
	code     []byte
	seen     []bool // by instruction
	work     []armPath
	indirect []armPath // behind jumps through a register, with the state of the jump
	grows    bool
	left     work.Purse
	records
}

// armCost is the steps of a [work.Budget] that one instruction takes.
const armCost = 20

// arm64Records is x86.Records for arm64, whose functions store x29 and x30 and then point x29
// there: "stp x29, x30, [sp, #-n]!; mov x29, sp".
// Source: Procedure Call Standard for the Arm 64-bit Architecture, section 6.4.6.
func arm64Records(code []byte, grows bool, b *work.Budget) records {
	w := &armWalk{code: code[:min(len(code), maxARM64)&^3], grows: grows, left: b.Purse()}
	w.Whole = len(code) <= maxARM64 && len(w.code) > 0
	w.seen = make([]bool, len(w.code)/4)
	w.work = []armPath{{}}
	for len(w.work) > 0 { // each round sees an instruction for the first time, or takes a path off
		p := w.work[len(w.work)-1]
		w.work = w.work[:len(w.work)-1]
		w.follow(p)
		if len(w.work) == 0 {
			w.resume()
		}
	}
	return w.records
}

// resume goes on behind a jump through a register, where the cases of a switch are.
func (w *armWalk) resume() {
	for len(w.indirect) > 0 {
		p := &w.indirect[0] // what it has passed is not passed again
		for p.at < len(w.code) && w.seen[p.at/4] && w.left.Spend(1) {
			p.at += 4
		}
		if p.at < len(w.code) && !w.left.Spent() {
			w.work = append(w.work, *p)
			return
		}
		w.indirect = w.indirect[1:]
	}
}

// follow goes along one path to its end.
func (w *armWalk) follow(p armPath) {
	for p.at >= 0 && p.at < len(w.code) && !w.seen[p.at/4] && w.left.Spend(armCost) {
		w.seen[p.at/4] = true
		i := binary.LittleEndian.Uint32(w.code[p.at:])
		next := p.at + 4
		switch kind, offset := armFlow(i); kind {
		case armEnd:
			return
		case armIndirect:
			w.indirect = append(w.indirect, armPath{next, p.s})
			return
		case armJump:
			p.at += offset
			continue
		case armBranch:
			w.work = append(w.work, armPath{p.at + offset, p.s})
		case armCall:
			w.call(p.s)
		default:
			p.s.step(i)
			w.Made = w.Made || p.s.record
		}
		p.at = next
	}
}

func (w *armWalk) call(s armState) {
	if w.grows && !s.lr {
		return // Go asks for a larger stack
	}
	w.Calls++
	if !s.record {
		w.Bare++
	}
}

// Kinds of control flow.
const (
	armNext = iota
	armCall
	armJump
	armBranch // to the target or the next instruction
	armIndirect
	armEnd
)

// armFlow classifies an instruction; offset is that of a direct jump, in bytes.
// Source: Arm Architecture Reference Manual for A-profile, C4.1, "Branches, Exception Generating and
// System instructions".
func armFlow(i uint32) (kind, offset int) {
	field := func(low, bits uint) int { return int(int32(i<<(32-low-bits))>>(32-bits)) * 4 }
	switch {
	case i&0xfc000000 == 0x94000000: // bl
		return armCall, 0
	case i&0xfc000000 == 0x14000000: // b
		return armJump, field(0, 26)
	case i&0xff000000 == 0x54000000, i&0x7e000000 == 0x34000000: // b.cond, cbz, cbnz
		return armBranch, field(5, 19)
	case i&0x7e000000 == 0x36000000: // tbz, tbnz
		return armBranch, field(5, 14)
	case i&0xfefff000 == 0xd63f0000: // blr, blraa, blrab
		return armCall, 0
	case i&0xfefff000 == 0xd61f0000: // br, braa, brab
		if reg := i >> 5 & 31; reg == 16 || reg == 17 {
			return armEnd, 0 // the registers of PLT stubs and veneers: it leaves the function
		}
		return armIndirect, 0
	case i&0xfffff000 == 0xd65f0000, i&0xfffff000 == 0xd69f0000: // ret, retaa, eret
		return armEnd, 0
	case i&0xffff0000 == 0, i&0xffe0001f == 0xd4200000: // udf, brk
		return armEnd, 0
	}
	return armNext, 0
}

// step applies an instruction that stores or changes x29 and x30.
// Source: the same, C6.2: STP, LDP, STR, STUR, LDR, ADD (immediate), SUB (immediate).
func (s *armState) step(i uint32) {
	rt, rt2 := i&31, i>>10&31
	switch {
	case i&0xfe400000 == 0xa8000000: // stp of 64 bits, all ways of indexing
		s.store(rt)
		s.store(rt2)
	case i&0xffc00000 == 0xf9000000, i&0xffe00000 == 0xf8000000: // str; stur, str with index
		s.store(rt)
	case i&0xfe400000 == 0xa8400000: // ldp
		s.load(rt)
		s.load(rt2)
	case i&0xffc00000 == 0xf9400000, i&0xffe00000 == 0xf8400000: // ldr; ldur, ldr with index
		s.load(rt)
	case i&0xff8003ff == 0x910003fd, i&0xff8003ff == 0xd10003fd: // add, sub x29, sp, #n
		s.record = s.fp && s.lr
	case i&0x1f == 29 && writesLow(i):
		s.record = false
	}
}

func (s *armState) store(reg uint32) {
	s.fp = s.fp || reg == 29
	s.lr = s.lr || reg == 30
}

func (s *armState) load(reg uint32) {
	if reg == 29 {
		s.fp, s.record = false, false
	}
	if reg == 30 {
		s.lr = false
	}
}

// writesLow reports whether an instruction that deals in registers writes the one of its lowest five
// bits: those for immediates and registers do, stores and comparisons with that number do not.
func writesLow(i uint32) bool {
	op := i >> 25 & 15
	return op&0b1110 == 0b1000 || op&0b0111 == 0b0101
}
