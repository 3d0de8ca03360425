package arm64

import "github.com/fpstack/fpstack/code/paths"

// Call is one direct call.
type Call struct {
	At uint64 // of the instruction
	To uint64
}

// Calls lists the direct calls of the function [start, end). It reports false where it also has others, where it is not
// all in the range, and where the budget does not suffice.
func (c *Code) Calls(start, end uint64) ([]Call, bool) {
	var all []Call
	ok := c.each(start, end, func(at uint64, i Inst) bool {
		switch i.flow() {
		case flowCall:
			all = append(all, Call{at, i.target(at)})
		case flowCallAny:
			return false
		}
		return true
	})
	return all, ok
}

// Stays reports whether the function [start, end) is left by a return alone, or never: no jump leads out of it, and
// none to where a register says.
func (c *Code) Stays(start, end uint64) bool {
	return c.each(start, end, func(at uint64, i Inst) bool {
		switch i.flow() {
		case flowCond, flowJump:
			to := i.target(at)
			return start <= to && to < end
		case flowIndirect, flowSlot:
			return false
		}
		return true
	})
}

// OnlyReads reports whether no instruction of [start, end) may write memory.
func (c *Code) OnlyReads(start, end uint64) bool {
	return c.each(start, end, func(_ uint64, i Inst) bool { return !i.mayStore() })
}

// each calls visit for the instructions of [start, end), and reports whether these are all there and each visit was
// true.
func (c *Code) each(start, end uint64, visit func(at uint64, i Inst) bool) bool {
	if end <= start || end-start > paths.MaxFunction || start%size != 0 {
		return false
	}
	left := c.Budget.Purse()
	for at := start; at < end; at += size {
		i, ok := c.at(at)
		if !ok || !left.Spend(decodeCost) || !visit(at, i) {
			return false
		}
	}
	return true
}

// mayStore reports whether the instruction may write memory. Source: C4.1, "Loads and Stores".
func (i Inst) mayStore() bool {
	op := i.Field(25, 4)
	switch {
	case op == 0b0010, op == 0: // SVE, SME
		return true
	case op&0b0101 != 0b0100:
		return false
	case i.Is(0x3a000000, 0x28000000): // ldp, stp
		return i>>22&1 == 0
	case i.Is(0x3b000000, 0x18000000): // ldr of a literal
		return false
	case i.Is(0x3b000000, 0x39000000), i.Is(0x3b200000, 0x38000000), i.Is(0x3b200c00, 0x38200800): // ldr, str
		opc, vector := i.Field(22, 2), i>>26&1 == 1
		return opc == 0 || vector && opc == 0b10
	}
	return true
}

// Stored is a word of 8 bytes on the stack: its distance from SP, and what is in it.
type Stored struct {
	Off   int64
	Value int64
	IsSP  bool // that is the distance of an address from SP
}

// Written lists the words from SP on that the function [start, end) has surely written when it comes to the
// instruction at, with what: by the instructions before that to which no way leads but through the first of them.
func (c *Code) Written(start, end, at uint64) []Stored {
	if end > c.End() || start < c.Start || at < start || at >= end || end-start > paths.MaxFunction {
		return nil
	}
	left := c.Budget.Purse()
	joins, ok := c.jumpTargets(start, end, &left)
	if !ok {
		return nil
	}
	from := at
	for from > start && !joins[from] {
		i, ok := c.at(from - size)
		if !ok || i.flow() != flowNext || !left.Spend(stepCost) {
			break
		}
		from -= size
	}
	s := newState(false)
	for ; from < at; from += size {
		i, _ := c.at(from)
		s.step(i)
	}
	return s.written()
}

// written lists what is known of the words from SP on.
func (s *state) written() (all []Stored) {
	if s.movedSP() {
		return nil
	}
	now := s.regs[sp].off
	for _, slot := range s.slots {
		w := Stored{Off: slot.off - now, Value: slot.v.off}
		switch {
		case slot.base != sp || w.Off < 0:
			continue
		case slot.v.kind == relative && slot.v.base == sp:
			w.Value, w.IsSP = w.Value-now, true
		case slot.v.kind != constant:
			continue
		}
		all = append(all, w)
	}
	return all
}
