package maps

import "github.com/fpstack/fpstack/mem"

// Span is addresses of a process.
type Span = mem.Span[mem.Addr]

// Spans is a list of them, ascending, not overlapping.
type Spans = mem.Spans[mem.Addr]

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
				out = append(out, Span{Start: at, End: next})
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
