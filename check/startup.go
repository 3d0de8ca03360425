package check

import (
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol"
)

// startUp are the functions that the linker adds to each object from crt1.o, crtbegin.o and the like.
// Nobody builds them with a program, and most have neither tables nor frames.
var startUp = []string{"_start", "_start_c", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux",
	"frame_dummy", "_dl_relocate_static_pie", "call_weak_fn"}

func isStartUp(name string) bool {
	return slices.Contains(startUp, name) || strings.HasPrefix(name, "__x86.get_pc_thunk.")
}

// maxStartUp bounds the start-up code of an object without symbols, bytes: that of gcc's crtbegin.o
// for amd64 has 185.
const maxStartUp = 200

// maxCut bounds the pieces of start-up code; programs have about six.
const maxCut = 64

// withoutStartUp takes the start-up code out of the code and out of list, and returns that.
func (l *inspection) withoutStartUp(list []symbol.Function) []symbol.Function {
	named := symbol.New(l.m)
	if !hasSection(l.m, ".symtab") && l.debug != nil {
		named = symbol.New(l.debug)
	}
	addrs := make([]module.Vaddr, len(list))
	for i := range list {
		addrs[i] = list[i].Start
	}
	symbols, _ := named.Lookup(addrs) // symbols that cannot be read were reported
	var cut []span
	kept := make([]symbol.Function, 0, len(list))
	for i, f := range list {
		if s := symbols[i]; s != nil && s.Start == f.Start && isStartUp(s.Name) {
			if len(cut) < maxCut {
				cut = append(cut, span{Start: uint64(f.Start), End: uint64(f.End)})
			}
			continue
		}
		kept = append(kept, f)
	}
	if cut == nil {
		cut = l.unnamedStartUp()
	}
	l.code = without(l.code, mem.Joined(cut))
	return kept
}

// unnamedStartUp finds it where there are no symbols: behind the entry of a program, at the beginning of a
// library, up to the first table.
func (l *inspection) unnamedStartUp() []span {
	if len(l.covered) == 0 || l.golang != (span{}) || l.m.VDSO {
		return nil
	}
	tabled := l.covered[0].spans
	at := uint64(l.m.Entry())
	code, program := l.code.Find(at)
	if !program {
		if len(l.code) == 0 {
			return nil
		}
		return gapAt(tabled, l.code[0])
	}
	var cut []span
	for i := range l.entries {
		if e := l.entries[i].span; e.Holds(at) {
			cut, at = append(cut, e), e.End
			break
		}
	}
	return append(cut, gapAt(tabled, span{Start: at, End: code.End})...)
}

// gapAt returns what lies between the beginning of in and the next of tabled, if that is short.
func gapAt(tabled spans, in span) spans {
	hi := in.End
	for _, s := range tabled {
		if s.End > in.Start {
			hi = min(hi, s.Start)
			break
		}
	}
	if hi <= in.Start || hi-in.Start > maxStartUp+padding {
		return nil
	}
	return spans{{Start: in.Start, End: hi}}
}

// without takes cut out of code.
func without(code, cut spans) spans {
	var out spans
	for _, c := range code {
		for _, x := range cut {
			if x.End <= c.Start || x.Start >= c.End {
				continue
			}
			if x.Start > c.Start {
				out = append(out, span{Start: c.Start, End: x.Start})
			}
			c.Start = min(x.End, c.End)
		}
		if c.Start < c.End {
			out = append(out, c)
		}
	}
	return out
}
