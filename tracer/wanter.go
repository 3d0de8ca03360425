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
// target or block; a panic costs what it asked for. What all Wanters ask for is copied together; ranges may overlap. What
// is beyond [MaxRanges] or [MaxWanted], or not mapped, is left out, in equal parts: who asks for little gets it. If all together take
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

// divide makes one list of what several ask for, sorted, without what have holds, of at most maxRanges ranges and
// maxBytes bytes, and tells whether that cut. Whoever asks for little gets it, whatever the others ask for: each in
// turn, least first, gets at most an equal part of what is left.
func divide(wants [][]Range, have []mem.Range, maxRanges, maxBytes int) (out []Range, cut bool) {
	lists := make([][]Range, len(wants))
	for i, want := range wants {
		var c bool
		lists[i], c = normalize(want, have, maxRanges, maxBytes)
		cut = cut || c
	}
	slices.SortStableFunc(lists, func(a, b []Range) int { return cmp.Compare(total(a), total(b)) })
	for i, list := range lists {
		left := len(lists) - i
		part, c := limit(list, maxRanges/left, maxBytes/left)
		cut = cut || c
		maxRanges -= len(part)
		maxBytes -= total(part)
		out = append(out, part...)
	}
	return merge(out), cut
}

func total(ranges []Range) int {
	n := 0
	for _, r := range ranges {
		n += r.Len
	}
	return n
}

// normalize sorts ranges, joins those that touch and takes out what have holds already. It looks at no more than
// maxRanges ranges of at most maxBytes bytes each, and tells whether that cut: so no sum of lengths overflows.
func normalize(want []Range, have []mem.Range, maxRanges, maxBytes int) (out []Range, cut bool) {
	if len(want) > maxRanges {
		want, cut = want[:max(0, maxRanges)], true
	}
	out = make([]Range, 0, len(want))
	for _, r := range want {
		if r.Len > maxBytes {
			r.Len, cut = maxBytes, true
		}
		if r.Len > 0 && r.end() > r.Addr { // else it goes round the end of the address space
			out = append(out, r)
		}
	}
	return subtract(merge(out), have), cut
}

// merge sorts ranges and joins those that touch.
func merge(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.Addr, b.Addr) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && out[n-1].end() >= r.Addr {
			out[n-1].Len = int(max(out[n-1].end(), r.end()) - out[n-1].Addr)
			continue
		}
		out = append(out, r)
	}
	return out
}

// limit takes the first ranges that the bounds allow; the last may lose its end.
func limit(ranges []Range, maxRanges, maxBytes int) (out []Range, cut bool) {
	for _, r := range ranges {
		if len(out) >= maxRanges || maxBytes <= 0 {
			return out, true
		}
		if r.Len > maxBytes {
			r.Len, cut = maxBytes, true
		}
		maxBytes -= r.Len
		out = append(out, r)
	}
	return out, cut
}

func (r Range) end() mem.Addr { return r.Addr + mem.Addr(r.Len) }

// subtract returns the parts of want, sorted and apart, that no range of have covers.
func subtract(want []Range, have []mem.Range) []Range {
	held := make([]Range, 0, len(have))
	for _, h := range have {
		held = append(held, Range{h.Start, len(h.Data)})
	}
	held = merge(held)
	var out []Range
	at := 0 // held before it ends below all that is left of want
	for _, w := range want {
		for at < len(held) && held[at].end() <= w.Addr {
			at++
		}
		for i := at; i < len(held) && w.Len > 0 && held[i].Addr < w.end(); i++ {
			if w.Addr < held[i].Addr {
				out = append(out, Range{w.Addr, int(held[i].Addr - w.Addr)})
			}
			end := max(w.Addr, min(w.end(), held[i].end()))
			w = Range{end, int(w.end() - end)}
		}
		if w.Len > 0 {
			out = append(out, w)
		}
	}
	return out
}
