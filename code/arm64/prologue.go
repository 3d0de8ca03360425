package arm64

// Prologue is what instructions do to the frame.
type Prologue struct {
	SetsFP  bool // x29 is pointed to the stack: add x29, sp, #n (also mov x29, sp), sub x29, sp, #n
	MovesSP bool
}

// Before reads the instructions of [start, pc) one after the other, wherever they lead.
func (c *Code) Before(start, pc uint64) Prologue {
	var p Prologue
	left := c.Budget.Purse()
	for at := start &^ (size - 1); at < pc && left.Spend(stepCost); at += size {
		i, ok := c.at(at)
		if !ok {
			break
		}
		p.SetsFP = p.SetsFP || i.Is(0xff8003ff, 0x910003fd) || i.Is(0xff8003ff, 0xd10003fd)
		p.MovesSP = p.MovesSP || i.movesSP()
	}
	return p
}

// Returns reports whether a return is among the instructions of [start, pc), or they cannot all be read.
func (c *Code) Returns(start, pc uint64) bool {
	left := c.Budget.Purse()
	for at := start &^ (size - 1); at < pc; at += size {
		i, ok := c.at(at)
		if !ok || i.flow() == flowReturn || !left.Spend(decodeCost) {
			return true
		}
	}
	return false
}

// BehindEnd is where the last stretch of code before pc begins: behind the last instruction since lowest that is not
// followed by the next one, or lowest.
func (c *Code) BehindEnd(lowest, pc uint64) uint64 {
	left := c.Budget.Purse()
	for at := pc &^ (size - 1); at >= lowest+size && left.Spend(decodeCost); at -= size {
		i, ok := c.at(at - size)
		if !ok {
			return at
		}
		switch i.flow() {
		case flowJump, flowIndirect, flowSlot, flowReturn, flowEnd:
			return at
		}
	}
	return lowest
}

// movesSP recognises what puts SP elsewhere.
func (i Inst) movesSP() bool {
	if i.flow() != flowNext {
		return false
	}
	s := newState(false)
	s.step(i)
	return s.regs[sp] != initial(sp)
}
