package cfi

import (
	"errors"
	"fmt"
)

const (
	maxRegs   = 256    // distinct registers with a rule in one row
	maxReg    = 0xffff // highest DWARF number: RISC-V ends at 8191
	maxOffset = 1 << 28
)

// state is the rules while call frame instructions run. The return address column is one
// of regs.
type state struct {
	cfa    Rule
	regs   []RegRule // ascending
	signed bool
}

// copyTo makes dst equal to s and reuses the memory of dst.
func (s *state) copyTo(dst *state) {
	dst.cfa, dst.signed = s.cfa, s.signed
	dst.regs = append(dst.regs[:0], s.regs...)
}

// find returns the place of reg, and whether it is there.
func (s *state) find(reg uint64) (int, bool) {
	for i := range s.regs {
		if s.regs[i].Reg >= reg {
			return i, s.regs[i].Reg == reg
		}
	}
	return len(s.regs), false
}

// rule returns the rule of reg, the zero Rule where there is none.
func (s *state) rule(reg uint64) Rule {
	if i, ok := s.find(reg); ok {
		return s.regs[i].Rule
	}
	return Rule{}
}

// set gives reg a rule; Unspecified takes it away.
func (s *state) set(reg uint64, rule Rule) error {
	if reg > maxReg {
		return fmt.Errorf("register number %#x not supported", reg)
	}
	i, ok := s.find(reg)
	switch {
	case rule.Kind == Unspecified && ok:
		s.regs = append(s.regs[:i], s.regs[i+1:]...)
	case rule.Kind == Unspecified:
	case ok:
		s.regs[i].Rule = rule
	case len(s.regs) == maxRegs:
		return fmt.Errorf("more than %d registers have rules", maxRegs)
	default:
		s.regs = append(s.regs, RegRule{})
		copy(s.regs[i+1:], s.regs[i:])
		s.regs[i] = RegRule{reg, rule}
	}
	return nil
}

// check refuses what no code can mean: no CFA, or offsets no stack has. Go writes rows with
// a CFA of SP+1,073,741,840 where a function never comes to.
func (s *state) check() error {
	if s.cfa.Kind == Unspecified {
		return errors.New("no rule for the CFA")
	}
	if bogus(s.cfa.N) {
		return fmt.Errorf("bogus CFA offset %d", s.cfa.N)
	}
	for i := range s.regs {
		if bogus(s.regs[i].Rule.N) {
			return fmt.Errorf("bogus offset %d of register %d", s.regs[i].Rule.N, s.regs[i].Reg)
		}
	}
	return nil
}

func bogus(offset int64) bool { return offset > maxOffset || offset < -maxOffset }
