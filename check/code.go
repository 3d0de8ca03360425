package check

import (
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// span is a range of link addresses, spans a list of them, ascending and apart.
type (
	span  = mem.Span[uint64]
	spans = mem.Spans[uint64]
)

// codeOf lists where m has code that a compiler wrote: its executable sections without the PLT and
// without .init and .fini, which are pieces of functions; else its executable segments.
func codeOf(m *module.Module) spans {
	var out []span
	for _, s := range m.Sections() {
		if s.Flags&module.SHFAlloc == 0 || s.Flags&module.SHFExecInstr == 0 || s.Type == module.SHTNobits ||
			len(s.Data) == 0 {
			continue
		}
		if strings.HasPrefix(s.Name, ".plt") || s.Name == ".iplt" || s.Name == ".init" || s.Name == ".fini" {
			continue
		}
		out = add(out, uint64(s.Addr), uint64(len(s.Data)))
	}
	if out == nil {
		for _, p := range m.Segments() {
			if p.Type == module.PTLoad && p.Flags&module.PFX != 0 {
				out = add(out, uint64(p.Addr), uint64(len(p.Data)))
			}
		}
	}
	return mem.Joined(out)
}

func add(out []span, at, size uint64) []span {
	if size == 0 || at+size < at {
		return out
	}
	return append(out, span{Start: at, End: at + size})
}

// padding is the largest gap between two functions that counts as alignment, bytes: compilers align
// functions to 16.
const padding = 15

// coverage returns the bytes of code, and those of them that lie in covered. Gaps no longer than
// the alignment of functions are no code.
func coverage(code, covered spans) (all, in uint64) {
	i := 0
	for _, c := range code {
		at := c.Start
		for ; i < len(covered) && covered[i].End <= c.Start; i++ {
		}
		for j := i; j < len(covered) && covered[j].Start < c.End; j++ {
			lo, hi := max(covered[j].Start, c.Start), min(covered[j].End, c.End)
			if gap := lo - at; gap > padding {
				all += gap
			}
			all += hi - lo
			in += hi - lo
			at = hi
		}
		if gap := c.End - at; gap > padding {
			all += gap
		}
	}
	return all, in
}
