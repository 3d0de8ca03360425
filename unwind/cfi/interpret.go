package cfi

import (
	"cmp"

	"github.com/fpstack/fpstack/work"
)

// interpret runs the instructions of f up to pc and returns the Row there.
// Precondition: f covers pc.
func (t *Table) interpret(s *frames, f *FDE, pc uint64) (*Row, error) {
	p := &t.program
	p.bases = s.bases
	initial, err := t.initial(s, f.CIE)
	if err != nil {
		return nil, err
	}
	c := s.cursor(f.program.start, f.program.end)
	p.start(f.CIE, initial, f.Start, pc)
	err = cmp.Or(p.run(&c), t.pay(p))
	if err == nil {
		err = p.now.check()
	}
	if err != nil {
		return nil, s.formatError("FDE", f.Offset, err)
	}
	return t.row(f), nil
}

// initial returns the rules after the instructions of a CIE, which run once.
func (t *Table) initial(s *frames, cie *CIE) (*state, error) {
	if cie.ran {
		return &cie.initial, cie.initialErr
	}
	cie.ran = true
	p := &t.program
	c := s.cursor(cie.program.start, cie.program.end)
	p.start(cie, &state{}, 0, ^uint64(0))
	if err := cmp.Or(p.run(&c), t.pay(p)); err != nil {
		cie.initialErr = s.formatError("CIE", cie.Offset, err)
	}
	p.now.copyTo(&cie.initial)
	return &cie.initial, cie.initialErr
}

const (
	// instructionCost is the steps of a [work.Budget] that one instruction takes.
	instructionCost = 16
	// usualRules is how many rules a row has room for without being counted: real ones have some ten. A
	// hostile one has 256, 48 bytes each.
	usualRules, ruleSize = 32, 48
)

// pay takes from the budget what p did, and what its rules will take.
func (t *Table) pay(p *program) error {
	if !t.budget.Spend(int64(p.work) * instructionCost) {
		return t.budget.Refusal()
	}
	if n := len(p.now.regs); n > usualRules && !t.budget.Hold(int64(n)*ruleSize) {
		return work.ErrMemory
	}
	return nil
}

// row makes a Row of what the program has now.
func (t *Table) row(f *FDE) *Row {
	p := &t.program
	r := t.newRow()
	*r = Row{
		Start: p.loc, End: f.End, CFA: p.now.cfa,
		RAReg: f.CIE.RAReg, Signal: f.CIE.Signal, PACSigned: p.now.signed,
	}
	if p.next != 0 && p.next < f.End {
		r.End = p.next
	}
	regs := t.newRegs(len(p.now.regs))
	for _, reg := range p.now.regs {
		if reg.Reg == r.RAReg {
			r.RA = reg.Rule
		} else {
			regs = append(regs, reg)
		}
	}
	r.Regs = regs[:len(regs):len(regs)]
	return r
}

// newRow takes a Row from a block of them: a module needs ten or thousands.
func (t *Table) newRow() *Row {
	if len(t.spareRows) == 0 {
		t.spareRows = make([]Row, t.chunk)
		t.chunk = min(2*t.chunk, 256)
	}
	r := &t.spareRows[0]
	t.spareRows = t.spareRows[1:]
	return r
}

// newRegs returns an empty slice with room for n rules.
func (t *Table) newRegs(n int) []RegRule {
	if len(t.spareRegs) < n {
		t.spareRegs = make([]RegRule, max(n, 4*t.chunk))
	}
	regs := t.spareRegs[:0:n]
	t.spareRegs = t.spareRegs[n:]
	return regs
}
