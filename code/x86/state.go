package x86

// The interpretation follows values symbolically: a register or stack slot holds an
// unknown value, a constant, or "the value that base had at the start, plus off". At the
// start each register r holds r+0, and the slot at rsp+0 holds the return address.

// base names what a value is relative to: a register's value at the start (regRA for the
// return address), or, from firstAligned on, an SP that was rounded or moved by an unknown
// amount: each such event is a new base.
type base uint8

const (
	firstAligned base = base(registers) + 1
	lastBase     base = 255
)

// valueKind says what is known of a value.
type valueKind uint8

const (
	unknown  valueKind = iota
	constant           // off
	relative           // base + off
	loaded             // what memory held at base + off at the start
)

// value is one symbolic value.
type value struct {
	kind valueKind
	base base
	off  int32
}

// maxOffset bounds sums, far from overflow; no frame is that large.
const maxOffset = 1 << 30

func initial(r register) value { return value{kind: relative, base: base(r)} }

// isInitial reports whether v is what r held at the start.
func (v value) isInitial(r register) bool { return v == initial(r) }

// plus adds n to an address or constant; anything else becomes unknown.
func (v value) plus(n int64) value {
	sum := int64(v.off) + n
	if v.kind != relative && v.kind != constant ||
		n < -maxOffset || n > maxOffset || sum < -maxOffset || sum > maxOffset {
		return value{}
	}
	v.off = int32(sum)
	return v
}

// slot is a word of memory that the code has written, or that was known at the start.
type slot struct {
	base base
	off  int32
	v    value
}

// pointer is a base that stands for a loaded value that was used as an address.
type pointer struct {
	base base
	v    value
}

// maxSlots bounds what is remembered of the stack: 15 registers and some copies.
const maxSlots = 64

// state is what is known before an instruction.
type state struct {
	regs     [registers]value
	slots    []slot
	pointers []pointer
	nextBase base
	compared register // register that the instruction before compared with SP; noReg without
	forward  bool     // memory that was not written keeps its start value as `loaded`
}

// newState is the state at a start: every register holds its own value.
func newState(forward bool) *state {
	s := &state{nextBase: firstAligned, compared: noReg, forward: forward}
	for r := range s.regs {
		s.regs[r] = initial(register(r))
	}
	if !forward {
		s.slots = append(make([]slot, 0, 8), slot{base: base(rsp), v: initial(regRA)})
	}
	return s
}

func (s *state) clone() *state {
	c := *s
	c.slots = append(make([]slot, 0, len(s.slots)+4), s.slots...)
	c.pointers = append([]pointer(nil), s.pointers...)
	return &c
}

// dereferenced turns a loaded value into an address relative to a base of its own.
func (s *state) dereferenced(v value) value {
	if v.kind != loaded {
		return v
	}
	for _, p := range s.pointers {
		if p.v == v {
			return value{kind: relative, base: p.base}
		}
	}
	a := s.fresh()
	if a.kind == relative {
		s.pointers = append(s.pointers, pointer{a.base, v})
	}
	return a
}

// fresh is an address of which nothing is known but that it is one and the same.
func (s *state) fresh() value {
	if s.nextBase == lastBase {
		return value{}
	}
	s.nextBase++
	return value{kind: relative, base: s.nextBase - 1}
}

// load returns the word at address a.
func (s *state) load(a value) value {
	if a.kind != relative {
		return value{}
	}
	for i := range s.slots {
		if s.slots[i].base == a.base && s.slots[i].off == a.off {
			return s.slots[i].v
		}
	}
	if s.forward && a.base < firstAligned {
		return value{loaded, a.base, a.off}
	}
	return value{}
}

// store writes v to address a. Values that no unwinding needs are kept only to replace
// one that was there. Writes through unknown addresses are assumed not to hit slots.
func (s *state) store(a, v value) {
	if a.kind != relative {
		return
	}
	for i := range s.slots {
		if s.slots[i].base == a.base && s.slots[i].off == a.off {
			s.slots[i].v = v
			return
		}
	}
	if (v.kind == relative || s.forward) && len(s.slots) < maxSlots {
		s.slots = append(s.slots, slot{a.base, a.off, v})
	}
}

// push moves SP down by size and stores v there.
func (s *state) push(v value, size int64) {
	s.regs[rsp] = s.regs[rsp].plus(-size)
	s.store(s.regs[rsp], v)
}

// pop returns the word at SP and moves SP up by size.
func (s *state) pop(size int64) value {
	v := s.load(s.regs[rsp])
	s.regs[rsp] = s.regs[rsp].plus(size)
	return v
}

// dropBelow forgets the slots below SP: a call overwrites them.
func (s *state) dropBelow() {
	sp := s.regs[rsp]
	if sp.kind != relative {
		return
	}
	kept := s.slots[:0]
	for _, slot := range s.slots {
		if slot.base != sp.base || slot.off >= sp.off {
			kept = append(kept, slot)
		}
	}
	s.slots = kept
}

// afterCall applies what the ABI lets a callee do.
func (s *state) afterCall(mode64 bool) {
	s.dropBelow()
	for r := rax; r <= r15; r++ {
		if r != rsp && !isKept(r, mode64) {
			s.regs[r] = value{}
		}
	}
}
