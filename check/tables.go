package check

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/code/pclntab"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// bounds is what an unwind table calls a function.
type bounds struct {
	span
	whole bool // it begins where calls arrive, not in the middle of a function
	outer bool // it is the outermost of its stack
}

// cover is the code that one table covers.
type cover struct {
	name  string
	spans spans // merged
}

// tables finds the unwind tables, those that a walk asks first in front.
func (l *inspection) tables() {
	if l.addFrames(".eh_frame") {
		header, _ := l.m.Section(".eh_frame_hdr")
		l.out.Tables.NoIndex = len(header.Data) == 0
	}
	if t := l.openGo(); t != nil {
		lo, hi := t.Bounds()
		l.golang = span{Start: lo, End: max(lo, hi)}
		l.covered = append(l.covered, cover{"pclntab", spans{l.golang}})
	}
	l.addFrames(".debug_frame")
	l.outer = mem.Joined(l.outer)
}

// coverage counts the code, and what of it the tables cover.
func (l *inspection) coverage() {
	t := &l.out.Tables
	var all, lasting []span
	for _, c := range l.covered {
		if _, n := coverage(l.code, c.spans); n > 0 {
			t.Kinds = append(t.Kinds, TableKind{c.name, n})
		}
		all = append(all, c.spans...)
		if c.name != ".debug_frame" {
			lasting = append(lasting, c.spans...)
		}
	}
	l.out.Code, t.Covered = coverage(l.code, mem.Joined(all))
	_, stays := coverage(l.code, mem.Joined(lasting))
	if lost := t.Covered - min(stays, t.Covered); lost > l.out.Code/10 {
		l.out.Notes = append(l.out.Notes,
			fmt.Sprintf("%s of the code is covered by .debug_frame alone, which strip removes",
				Percent(float64(lost)/float64(l.out.Code))))
	}
}

// addFrames reads one section of frame descriptions and reports whether it has any for code of m.
func (l *inspection) addFrames(name string) bool {
	arch := regs.OfELF(l.m.Machine(), l.m.Class())
	if arch == nil {
		return false
	}
	data, err := symbol.DebugFileOf(l.m).Contents(name)
	l.note(err)
	if len(data) == 0 {
		return false
	}
	config := cfi.Config{WordSize: arch.WordSize, Order: arch.Order, AArch64: arch == regs.ARM64, Budget: l.m.Budget()}
	s := cfi.Section{Addr: addressOf(l.m, name), Data: data}
	if config.EHFrame = s; name == ".debug_frame" {
		config.EHFrame, config.DebugFrame = cfi.Section{}, s
	}
	config.TextBase, config.DataBase = addressOf(l.m, ".text"), addressOf(l.m, ".got")
	table := cfi.New(config)
	var covered []span
	err = table.Each(func(f cfi.FDE) bool {
		if len(l.entries) >= maxFunctions {
			l.note(errTooMany(name))
			return false
		}
		if _, ok := l.code.Find(f.Start); ok {
			covered = append(covered, span{Start: f.Start, End: f.End})
			e := entryOf(table, f, arch)
			l.entries = append(l.entries, e)
			if e.outer {
				l.outer = append(l.outer, e.span)
			}
		}
		return true
	})
	l.note(err)
	if len(covered) == 0 {
		return false
	}
	l.covered = append(l.covered, cover{name, mem.Joined(covered)})
	return true
}

func addressOf(m *module.Module, name string) uint64 {
	s, _ := m.Section(name)
	return uint64(s.Addr)
}

// entryOf tells a function from a part of one that stands apart: at an entry nothing has been
// pushed but what the call pushed.
func entryOf(table *cfi.Table, f cfi.FDE, arch *regs.Arch) bounds {
	b := bounds{span: span{Start: f.Start, End: f.End}}
	row, err := table.Row(f.Start)
	if err != nil {
		return b
	}
	pushed := int64(arch.WordSize)
	if arch.LR != regs.NoReg {
		pushed = 0
	}
	b.outer = row.RA.Kind == cfi.Undefined
	b.whole = !f.CIE.Signal && row.CFA.Kind == cfi.Register && row.CFA.Reg == uint64(arch.SP) && row.CFA.N == pushed
	return b
}

// openGo opens Go's table, nil if m has none that can be read.
func (l *inspection) openGo() *pclntab.Table {
	t, err := pclntab.Open(l.m.Plain, l.m.Budget())
	if err != nil && !errors.Is(err, pclntab.ErrNone) {
		l.note(err)
	}
	return t
}
