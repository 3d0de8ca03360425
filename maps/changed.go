package maps

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// Span is the addresses [Start, End).
type Span struct{ Start, End mem.Addr }

// Spans is a list of spans, ascending, not overlapping.
type Spans []Span

// Contain reports whether a lies in one of them.
func (s Spans) Contain(a mem.Addr) bool {
	_, found := slices.BinarySearchFunc(s, a, func(x Span, a mem.Addr) int {
		switch {
		case a < x.Start:
			return 1
		case a >= x.End:
			return -1
		}
		return 0
	})
	return found
}

// Union returns the addresses that lie in s or t.
func (s Spans) Union(t Spans) Spans {
	all := slices.Concat(s, t)
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	out := all[:0]
	for _, x := range all {
		if n := len(out); n > 0 && x.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, x.End)
			continue
		}
		out = append(out, x)
	}
	return out
}

// ChangedCode returns the addresses at which before and after map other code: another byte of a file, code
// where the other has none, a file where the other has code of no file. That a mapping begins or ends elsewhere
// is no change of the code that both have.
func ChangedCode(before, after *Table) Spans {
	var out Spans
	a, b := before.All(), after.All()
	for at := mem.Addr(0); ; {
		a, b = behind(a, at), behind(b, at)
		next, more := boundary(a, b, at)
		if !more {
			return out
		}
		if codeAt(a, at) != codeAt(b, at) {
			if n := len(out); n > 0 && out[n-1].End == at {
				out[n-1].End = next
			} else {
				out = append(out, Span{at, next})
			}
		}
		at = next
	}
}

// behind drops the mappings that end at or below at.
func behind(ms []Mapping, at mem.Addr) []Mapping {
	for len(ms) > 0 && ms[0].End <= at {
		ms = ms[1:]
	}
	return ms
}

// boundary is the first address above at where one of the lists begins or ends a mapping. Neither has one that
// ends at or below at.
func boundary(a, b []Mapping, at mem.Addr) (next mem.Addr, more bool) {
	for _, ms := range [][]Mapping{a, b} {
		if len(ms) == 0 {
			continue
		}
		edge := ms[0].Start
		if edge <= at {
			edge = ms[0].End
		}
		if !more || edge < next {
			next, more = edge, true
		}
	}
	return next, more
}

// code tells the code at one address from other code.
type code struct {
	runs       bool
	dev, inode uint64
	path       string
	deleted    bool
	offset     int64 // in the file
}

// codeAt is the code that the first of ms, which ends above at, has at that address.
func codeAt(ms []Mapping, at mem.Addr) code {
	if len(ms) == 0 || ms[0].Start > at || ms[0].Perm&Exec == 0 {
		return code{}
	}
	m := &ms[0]
	c := code{runs: true, dev: m.Dev, inode: m.Inode, path: m.Path, deleted: m.Deleted}
	if m.IsFile() {
		c.offset = m.Offset + int64(at-m.Start)
	}
	return c
}
