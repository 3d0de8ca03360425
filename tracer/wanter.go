//go:build linux

package tracer

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// Range is memory that a Wanter asks for.
type Range struct {
	Addr mem.Addr
	Len  int // bytes
}

// Wanter says which memory to copy while the threads stand, besides their stacks: the few
// words of a runtime that will name frames later.
//
// Want is called in rounds, from 0, until no Wanter wants more or [MaxRounds] is reached,
// so that a pointer copied in one round can be followed in the next. s holds the mappings,
// the threads that stand with Registers and Stack, and in Memory what was copied so far;
// it is read by s.Reader(t, nil) and must be neither changed nor kept.
//
// Want computes and returns: the target waits for it. It must not open files, read the
// target or block. What all Wanters ask for is copied together; ranges may overlap. What
// is beyond [MaxRanges] or [MaxWanted], or not mapped, is left out; if all together take
// longer than a few milliseconds the threads are released and nothing of it is kept. In a
// rolling snapshot it is asked for each batch.
type Wanter interface {
	Want(s *snapshot.Snapshot, round int) []Range
}

// Bounds on what Wanters get in one stop.
const (
	MaxRounds = 3
	MaxRanges = 4096
	MaxWanted = 4 << 20 // bytes
)

// normalize sorts ranges, joins those that touch and takes out what have holds already.
// It keeps at most maxRanges ranges and maxBytes bytes, and tells whether that cut.
func normalize(want []Range, have []mem.Range, maxRanges, maxBytes int) (out []Range, cut bool) {
	if len(want) > maxRanges {
		want, cut = want[:maxRanges], true
	}
	want = slices.DeleteFunc(slices.Clone(want), func(r Range) bool {
		return r.Len <= 0 || r.Addr+mem.Addr(r.Len) < r.Addr
	})
	slices.SortFunc(want, func(a, b Range) int { return cmp.Compare(a.Addr, b.Addr) })
	for _, r := range want {
		if n := len(out); n > 0 && out[n-1].end() >= r.Addr {
			out[n-1].Len = int(max(out[n-1].end(), r.end()) - out[n-1].Addr)
			continue
		}
		out = append(out, r)
	}
	out = subtract(out, have)
	for i := range out {
		if out[i].Len > maxBytes {
			return out[:i], true
		}
		maxBytes -= out[i].Len
	}
	return out, cut
}

func (r Range) end() mem.Addr { return r.Addr + mem.Addr(r.Len) }

// subtract returns the parts of want, which is sorted, that no range of have covers.
func subtract(want []Range, have []mem.Range) []Range {
	for _, h := range have {
		var left []Range
		for _, w := range want {
			if h.End() <= w.Addr || w.end() <= h.Start {
				left = append(left, w)
				continue
			}
			if w.Addr < h.Start {
				left = append(left, Range{w.Addr, int(h.Start - w.Addr)})
			}
			if h.End() < w.end() {
				left = append(left, Range{h.End(), int(w.end() - h.End())})
			}
		}
		want = left
	}
	return want
}
