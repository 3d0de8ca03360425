package pclntab

import "github.com/fpstack/fpstack/work"

// maxSteps is how many steps one question may take over all tables that it reads. The
// largest generated functions of real programs need some ten thousand for each.
const maxSteps = 1 << 18

// budget is what one question may still take.
type budget struct {
	steps int
	run   *work.Budget
}

func (t *Table) question() *budget { return &budget{maxSteps, t.budget} }

// stepCost is the steps of a run that one of a question takes.
const stepCost = 4

// value looks pc up in the table of values at off: pairs of a zigzag difference of the value,
// which begins at -1, and the number of instruction quanta that the new value is good for.
// A zero difference ends the table, except as the first. Offset 0 means no table.
// Source: runtime/symtab.go, pcvalue and step.
func (f *Func) value(off uint32, pc uint64, left *budget) (int32, bool) {
	if off == 0 || uint64(off) >= uint64(len(f.t.pcs)) || pc < f.Entry || pc >= f.End {
		return 0, false
	}
	b := f.t.pcs[off:]
	at, v := f.Entry, int32(-1)
	begun := left.steps
	defer func() { left.charge(begun - left.steps) }()
	for first := true; left.steps > 0; first = false {
		left.steps--
		d, n := uvarint(b)
		if n == 0 || (d == 0 && !first) {
			return 0, false
		}
		b = b[n:]
		v += int32(-(d & 1) ^ (d >> 1))
		if d, n = uvarint(b); n == 0 {
			return 0, false
		}
		b = b[n:]
		at += uint64(d) * f.t.quantum
		if pc < at {
			return v, true
		}
	}
	return 0, false
}

// uvarint reads 7 bits a byte, lowest first, and returns how many bytes it took; 0 if b ends
// or the number has more than 32 bits.
func uvarint(b []byte) (v uint32, n int) {
	for i := 0; i < len(b) && i < 5; i++ {
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// charge takes the steps that were gone from the run's budget. Without it the question ends.
func (b *budget) charge(steps int) {
	if !b.run.Spend(int64(steps) * stepCost) {
		b.steps = 0
	}
}
