package check

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/symbol"
)

// verdict is what one function does with the frame pointer.
type verdict uint8

const (
	unclear verdict = iota
	kept
	missing
	notNeeded
)

// frames counts what functions do with the frame pointer.
func (l *inspection) frames(all functions) {
	list := all.list
	f := &l.out.Frames
	f.From, f.All = all.from, len(list)
	if len(list) == 0 {
		f.From = ""
		return
	}
	for _, fn := range sample(list, l.opt.Sample) {
		f.Looked++
		switch l.judge(fn) {
		case kept:
			f.Kept++
		case missing:
			f.Missing++
		case notNeeded:
			f.NotNeeded++
		default:
			f.Unclear++
		}
	}
}

// inCode leaves the functions that lie in the code of m, each start once, none beyond its section
// or the next one.
func (l *inspection) inCode(list []symbol.Function) []symbol.Function {
	var out []symbol.Function
	for _, f := range list {
		if code, ok := l.code.Find(uint64(f.Start)); ok {
			f.End = min(f.End, module.Vaddr(code.End))
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b symbol.Function) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	return slices.CompactFunc(out, func(a, b symbol.Function) bool { return a.Start == b.Start })
}

// sample chooses n of list evenly, all for 0.
func sample(list []symbol.Function, n int) []symbol.Function {
	if n <= 0 || len(list) <= n {
		return list
	}
	out := make([]symbol.Function, n)
	for i := range out {
		out[i] = list[i*len(list)/n]
	}
	return out
}

// judge reads the instructions of one function.
func (l *inspection) judge(f symbol.Function) verdict {
	if l.outer.Contain(uint64(f.Start)) || f.Start == l.m.Entry() {
		return notNeeded
	}
	code, ok := l.m.Text(f.Start)
	if !ok {
		return unclear
	}
	if size := uint64(f.End - f.Start); size < uint64(len(code)) {
		code = code[:size]
	}
	grows := l.golang.Holds(uint64(f.Start))
	switch regs.OfELF(l.m.Machine(), l.m.Class()) {
	case regs.AMD64, regs.I386:
		c := x86.Code{Start: uint64(f.Start), Data: code, Mode64: l.m.Class() == 8, Budget: l.m.Budget()}
		return judged(records(c.Records(c.Start, c.End(), grows)))
	case regs.ARM64:
		c := arm64.Code{Start: uint64(f.Start), Data: code, Budget: l.m.Budget()}
		return judged(records(c.Records(c.Start, c.End(), grows)))
	}
	return unclear
}

// records is [x86.Records] for any machine.
type records x86.Records

// judged draws the conclusion.
func judged(r records) verdict {
	switch {
	case r.Bare > 0:
		return missing
	case r.Made:
		return kept
	case r.Calls == 0 && r.Whole:
		return notNeeded
	}
	return unclear
}
