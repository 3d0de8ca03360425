package arm64

import (
	"github.com/fpstack/fpstack/code/paths"
	"github.com/fpstack/fpstack/work"
)

// CallNumber returns the number of the system call that the instruction just before pc makes, if the function [start,
// end) loads it as a constant on every way there. It reports false where another instruction is there, where the number
// came from elsewhere, and where ways are not known: indirect jumps inside of the function.
//
// Source: syscall(2), "Architecture calling conventions".
func (c *Code) CallNumber(start, end, pc uint64) (int64, bool) {
	if end > c.End() || start < c.Start || end <= start || end-start > paths.MaxFunction ||
		pc < start+size || pc > end {
		return 0, false
	}
	left := c.Budget.Purse()
	joins, ok := c.jumpTargets(start, end, &left)
	if !ok {
		return 0, false
	}
	s := newState(false)
	for at := start; at < pc; at += size {
		i, ok := c.at(at)
		if !ok || !left.Spend(stepCost) {
			return 0, false
		}
		if joins[at] {
			s.set(x8, value{})
		}
		if at == pc-size {
			n := s.get(x8)
			return n.off, i.Is(0xffe0001f, 0xd4000001) && n.kind == constant
		}
		switch i.flow() {
		case flowNext:
			s.step(i)
		case flowCond:
		default:
			s.set(x8, value{})
		}
	}
	return 0, false
}

// jumpTargets returns where direct jumps of the function [start, end) lead. It reports false if there are jumps whose
// targets are not known, and if it may do no more work.
func (c *Code) jumpTargets(start, end uint64, left *work.Purse) (map[uint64]bool, bool) {
	targets := map[uint64]bool{}
	for at := start; at < end; at += size {
		i, ok := c.at(at)
		if !ok || !left.Spend(decodeCost) {
			return nil, false
		}
		switch i.flow() {
		case flowCond, flowJump:
			targets[i.target(at)] = true
		case flowIndirect:
			return nil, false
		}
	}
	return targets, true
}
