package x86

import (
	"github.com/fpstack/fpstack/code/paths"
	"github.com/fpstack/fpstack/work"
)

// CallNumber returns the number of the system call that the instruction just before pc makes, if the
// function [start, end) loads it as a constant on every way there. It reports false where another
// instruction is there, where the number came from elsewhere, and where ways are not known: indirect
// jumps inside of the function, bytes that are no instructions.
//
// Source: syscall(2), "Architecture calling conventions".
func (c *Code) CallNumber(start, end, pc uint64) (int64, bool) {
	const length = 2 // of syscall and of int $0x80
	if end > c.End() || start < c.Start || end <= start || end-start > paths.MaxFunction ||
		pc < start+length || pc > end {
		return 0, false
	}
	left := c.Budget.Purse()
	joins, ok := c.jumpTargets(start, end, &left)
	if !ok {
		return 0, false
	}
	s := newState(false)
	for at := start; at < pc; {
		in, ok := c.decode(at)
		if !ok || !left.Spend(stepCost) {
			return 0, false
		}
		if joins[at] {
			s.set(rax, value{})
		}
		if at == pc-length {
			return int64(s.regs[rax].off), in.entersKernel() && s.regs[rax].kind == constant
		}
		switch in.flow() {
		case flowNext:
			s.step(&in)
		case flowCond:
		default:
			s.set(rax, value{})
		}
		at += uint64(in.n)
	}
	return 0, false
}

// jumpTargets returns where direct jumps of the function [start, end) lead. It reports false if there are
// jumps whose targets are not known, or bytes that are no instruction, and if it may do no more work.
func (c *Code) jumpTargets(start, end uint64, left *work.Purse) (map[uint64]bool, bool) {
	targets := map[uint64]bool{}
	for at := start; at < end; {
		in, ok := c.decode(at)
		if !ok || !left.Spend(decodeCost) {
			return nil, false
		}
		at += uint64(in.n)
		switch in.flow() {
		case flowCond, flowJump:
			targets[c.target(at, in.imm)] = true
		case flowIndirect:
			return nil, false
		}
	}
	return targets, true
}

// entersKernel recognises syscall, and int $0x80 of 386.
func (in *inst) entersKernel() bool {
	if in.vex {
		return false
	}
	if in.mode64 {
		return in.space == map0F && in.op == 0x05
	}
	return in.space == mapOne && in.op == 0xcd && in.imm&0xff == 0x80
}
