package codelog

import (
	"slices"
	"sort"

	"github.com/fpstack/fpstack/mem"
)

// span is a piece of the address space that one record has: [start, end).
type span struct {
	start, end mem.Addr
	record     int32
}

// maxChunk bounds the spans of a chunk: what one insertion moves.
const maxChunk = 512

// index says which record has an address. What comes later covers what was there before, in whole or in part. A file
// has millions of records in no order of addresses, so that the spans lie in chunks: one more costs a search and the
// move of a few hundred.
type index struct {
	chunks [][]span // ascending, none empty
	count  int
	// under has, by record, what it covered, as it was then: for samples of a time before. Nil: it is not kept.
	under map[int32][]span
}

// at returns where the first span is that ends behind a: its chunk and its place there.
func (x *index) at(a mem.Addr) (chunk, i int) {
	chunk = sort.Search(len(x.chunks), func(c int) bool { return x.chunks[c][len(x.chunks[c])-1].end > a })
	if chunk < len(x.chunks) {
		s := x.chunks[chunk]
		i = sort.Search(len(s), func(i int) bool { return s[i].end > a })
	}
	return chunk, i
}

// find returns the span that holds a.
func (x *index) find(a mem.Addr) (span, bool) {
	c, i := x.at(a)
	if c == len(x.chunks) || x.chunks[c][i].start > a {
		return span{}, false
	}
	return x.chunks[c][i], true
}

// put lets s have its addresses, which are not none.
func (x *index) put(s span) {
	covered := x.place(s.start, s.end, []span{s})
	if x.under != nil && len(covered) > 0 {
		x.under[s.record] = covered
	}
}

// clear lets nobody have [start, end).
func (x *index) clear(start, end mem.Addr) { x.place(start, end, nil) }

// place puts pieces in the place of what is in [start, end), and returns that.
func (x *index) place(start, end mem.Addr, pieces []span) (covered []span) {
	c, i := x.at(start)
	if covered = x.cut(c, i, end); len(covered) > 0 {
		first, last := covered[0], covered[len(covered)-1]
		if first.start < start {
			pieces = slices.Insert(pieces, 0, span{first.start, start, first.record})
		}
		if last.end > end {
			pieces = append(pieces, span{end, last.end, last.record})
		}
	}
	x.insert(c, i, pieces)
	return covered
}

// cut takes out the spans from place i of chunk c that begin below end. The chunks stay, maybe empty ones.
func (x *index) cut(c, i int, end mem.Addr) (out []span) {
	for ; c < len(x.chunks); c, i = c+1, 0 {
		s := x.chunks[c]
		n := i
		for n < len(s) && s[n].start < end {
			n++
		}
		out = append(out, s[i:n]...)
		x.chunks[c] = slices.Delete(s, i, n)
		if n < len(s) {
			break
		}
	}
	x.count -= len(out)
	return out
}

// insert puts pieces to place i of chunk c, and takes out the chunks that cut left empty.
func (x *index) insert(c, i int, pieces []span) {
	x.count += len(pieces)
	switch {
	case c < len(x.chunks):
	case len(pieces) == 0:
		return
	case c == 0:
		x.chunks = append(x.chunks, nil)
	default:
		c--
		i = len(x.chunks[c])
	}
	x.chunks[c] = slices.Insert(x.chunks[c], i, pieces...)
	first := c
	if len(x.chunks[c]) > 0 {
		first++
	}
	empty := first
	for empty < len(x.chunks) && len(x.chunks[empty]) == 0 {
		empty++
	}
	x.chunks = slices.Delete(x.chunks, first, empty)
	if s := x.chunks[c:]; len(s) > 0 && len(s[0]) > maxChunk {
		half := len(s[0]) / 2
		x.chunks = slices.Insert(x.chunks, c+1, slices.Clone(s[0][half:]))
		x.chunks[c] = x.chunks[c][:half:half]
	}
}

// all runs over the spans, ascending.
func (x *index) all(yield func(span) bool) {
	for _, c := range x.chunks {
		for _, s := range c {
			if !yield(s) {
				return
			}
		}
	}
}
