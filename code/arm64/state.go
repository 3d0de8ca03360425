package arm64

import "slices"

// The interpretation follows values symbolically. At the start each register r holds r+0.

// valueKind says what is known of a value.
type valueKind uint8

const (
	unknown  valueKind = iota
	constant           // off
	relative           // what base held at the start, plus off
	loaded             // what memory held at base + off at the start
)

// value is one symbolic value.
type value struct {
	kind valueKind
	base register
	off  int64
}

// maxOffset bounds sums, far from overflow; no frame is that large.
const maxOffset = 1 << 30

func initial(r register) value { return value{relative, r, 0} }

// plus adds n to an address or constant; anything else becomes unknown.
func (v value) plus(n int64) value {
	sum := v.off + n
	if v.kind != relative && v.kind != constant || n < -maxOffset || n > maxOffset || sum < -maxOffset ||
		sum > maxOffset {
		return value{}
	}
	v.off = sum
	return v
}

// slot is a word of memory that the code has written.
type slot struct {
	base register
	off  int64
	v    value
}

// maxSlots bounds what is remembered of the stack: 12 registers and some copies.
const maxSlots = 48

// state is what is known before an instruction.
type state struct {
	regs     [registers]value
	slots    []slot
	compared register // x0 to x30: what the instruction before compared SP with; sp for nothing
	forward  bool     // memory that was not written keeps its start value as loaded
}

func newState(forward bool) *state {
	s := &state{compared: sp, forward: forward}
	for r := range s.regs {
		s.regs[r] = initial(register(r))
	}
	return s
}

func (s *state) clone() *state {
	c := *s
	c.slots = append(make([]slot, 0, len(s.slots)+4), s.slots...)
	return &c
}

// set writes a register; 31 is the zero register here: use setSP.
func (s *state) set(r register, v value) {
	if r < sp {
		s.regs[r] = v
	}
}

// get reads a register; 31 is the zero register.
func (s *state) get(r register) value {
	if r == sp {
		return value{kind: constant}
	}
	return s.regs[r]
}

// load returns the word at address a.
func (s *state) load(a value) value {
	if a.kind != relative {
		return value{}
	}
	for _, slot := range s.slots {
		switch d := a.off - slot.off; {
		case slot.base != a.base:
		case d == 0:
			return slot.v
		case d > -8 && d < 8:
			return value{}
		}
	}
	if s.forward {
		return value{loaded, a.base, a.off}
	}
	return value{}
}

// store writes v to the n bytes at address a. Values that no unwinding needs are kept only to replace one that was
// there. Writes through unknown addresses are assumed not to hit slots.
func (s *state) store(a, v value, n int64) {
	if a.kind != relative {
		return
	}
	for i := range s.slots {
		if at := s.slots[i]; at.base == a.base && at.off < a.off+n && a.off < at.off+8 {
			s.slots[i].v = value{}
		}
	}
	if n != 8 || v.kind == unknown && !s.forward {
		return
	}
	for i := range s.slots {
		if s.slots[i].base == a.base && s.slots[i].off == a.off {
			s.slots[i].v = v
			return
		}
	}
	if len(s.slots) < maxSlots {
		s.slots = append(s.slots, slot{a.base, a.off, v})
	}
}

// dropBelow forgets the slots below SP: a call overwrites them. Go's functions keep a word there, the first one of the
// record that x29 points to, which those that they call leave alone.
func (s *state) dropBelow() {
	at, record := s.regs[sp], s.regs[fp]
	if at.kind != relative {
		return
	}
	s.slots = slices.DeleteFunc(s.slots, func(slot slot) bool {
		return slot.base == at.base && slot.off < at.off && (value{relative, slot.base, slot.off}) != record
	})
}

// afterCall applies what the ABI lets a callee do.
func (s *state) afterCall() {
	s.dropBelow()
	for r := range s.regs {
		if !isKept(register(r)) {
			s.regs[r] = value{}
		}
	}
	s.compared = sp
}

// movedSP reports whether SP is at an unknown distance from where it was at the start.
func (s *state) movedSP() bool { return s.regs[sp].kind != relative || s.regs[sp].base != sp }

// record reports whether x29 points to the caller's x29 with the return address above it.
func (s *state) record() bool {
	at := s.regs[fp]
	return at.kind == relative && at.base == sp && s.load(at) == initial(fp) && s.load(at.plus(8)) == initial(lr)
}
