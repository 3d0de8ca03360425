package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
)

// span is a range of link addresses.
type span struct{ lo, hi uint64 }

func (s span) holds(v uint64) bool { return v >= s.lo && v < s.hi }

// codeOf lists where m has code that a compiler wrote: its executable sections without the PLT and
// without .init and .fini, which are pieces of functions; else its executable segments.
func codeOf(m *module.Module) []span {
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
	return merge(out)
}

func add(out []span, at, size uint64) []span {
	if size == 0 || at+size < at {
		return out
	}
	return append(out, span{at, at + size})
}

// merge sorts and joins what overlaps. It changes its argument.
func merge(in []span) []span {
	slices.SortFunc(in, func(a, b span) int { return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi)) })
	out := in[:0]
	for _, s := range in {
		if n := len(out); n > 0 && s.lo <= out[n-1].hi {
			out[n-1].hi = max(out[n-1].hi, s.hi)
			continue
		}
		out = append(out, s)
	}
	return out
}

// padding is the largest gap between two functions that counts as alignment, bytes: compilers align
// functions to 16.
const padding = 15

// coverage returns the bytes of code, and those of them that lie in covered. Gaps no longer than
// the alignment of functions are no code.
// Precondition: both are merged.
func coverage(code, covered []span) (all, in uint64) {
	i := 0
	for _, c := range code {
		at := c.lo
		for ; i < len(covered) && covered[i].hi <= c.lo; i++ {
		}
		for j := i; j < len(covered) && covered[j].lo < c.hi; j++ {
			lo, hi := max(covered[j].lo, c.lo), min(covered[j].hi, c.hi)
			if gap := lo - at; gap > padding {
				all += gap
			}
			all += hi - lo
			in += hi - lo
			at = hi
		}
		if gap := c.hi - at; gap > padding {
			all += gap
		}
	}
	return all, in
}

// find returns the span that holds v.
func find(spans []span, v uint64) (span, bool) {
	i, found := slices.BinarySearchFunc(spans, v, func(s span, v uint64) int { return cmp.Compare(s.lo, v) })
	if !found {
		i--
	}
	if i < 0 || !spans[i].holds(v) {
		return span{}, false
	}
	return spans[i], true
}
