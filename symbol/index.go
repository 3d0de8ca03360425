package symbol

import (
	"cmp"
	"slices"
	"sort"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

// index is the symbols of a module in order of address. It gives the same answers as a pass,
// at the cost of sorting them once.
type index struct {
	entries []entry
	covers  [][]segment // for each table: what symbols with a size cover, not overlapping
	starts  []uint64    // where symbols begin, ascending
	ends    []uint64    // where symbols with a size end, ascending
	labels  []int32     // the best label without size at each address, ascending; numbers in entries
}

// segment is a range in which one symbol wins. entry is a number in index.entries.
type segment struct {
	start, end uint64
	entry      int32
}

// It is nil where the symbols take more room or work than b allows.
func newIndex(b *work.Budget, tables ...*rawTable) *index {
	x, left := &index{}, b.Purse()
	if !b.Hold(indexSize(tables)) {
		return nil
	}
	for _, t := range tables {
		if t == nil {
			continue
		}
		from := len(x.entries)
		var e entry
		for i, n := 0, t.count(); i < n && left.Spend(symbolCost); i++ {
			if t.read(i, &e) {
				x.entries = append(x.entries, e)
			}
		}
		part := x.entries[from:]
		// The best of those with one start comes last.
		slices.SortFunc(part, func(a, b entry) int {
			left.Spend(coverCost)
			if a.start != b.start {
				return cmp.Compare(a.start, b.start)
			}
			return order(&b, &a, &left)
		})
		x.covers = append(x.covers, flatten(part, int32(from)))
	}
	x.edges(&left)
	if left.Spent() {
		b.Release(indexSize(tables))
		return nil
	}
	return x
}

// indexSize is about how many bytes an index takes: of each symbol an entry, two segments, its start
// and end.
func indexSize(tables []*rawTable) (size int64) {
	for _, t := range tables {
		if t != nil {
			size += int64(t.count()) * 128
		}
	}
	return size
}

// order sorts the better first.
func order(a, b *entry, left *work.Purse) int {
	if better(a, b, left) {
		return -1
	}
	if better(b, a, left) {
		return 1
	}
	return 0
}

// flatten cuts symbols, ascending by start, into ranges that each belong to the one with the
// highest start. base is the number of the first.
func flatten(entries []entry, base int32) []segment {
	var out []segment
	var open []int32 // begun and perhaps not ended, the highest start on top
	var at uint64
	until := func(limit uint64) {
		for len(open) > 0 && at < limit {
			top := open[len(open)-1]
			end := entries[top].end
			if end <= at {
				open = open[:len(open)-1]
				continue
			}
			out = append(out, segment{at, min(end, limit), base + top})
			at = min(end, limit)
		}
		at = limit
	}
	for i := range entries {
		if entries[i].size == 0 {
			continue
		}
		until(entries[i].start)
		open = append(open, int32(i))
	}
	until(^uint64(0))
	return out
}

// edges fills starts, ends and labels.
func (x *index) edges(left *work.Purse) {
	for i := range x.entries {
		e := &x.entries[i]
		x.starts = append(x.starts, e.start)
		if e.size != 0 {
			x.ends = append(x.ends, e.end)
		} else {
			x.labels = append(x.labels, int32(i))
		}
	}
	slices.Sort(x.starts)
	slices.Sort(x.ends)
	slices.SortFunc(x.labels, func(i, j int32) int {
		left.Spend(coverCost)
		a, b := &x.entries[i], &x.entries[j]
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return order(a, b, left)
	})
	x.labels = slices.CompactFunc(x.labels, func(i, j int32) bool {
		return x.entries[i].start == x.entries[j].start
	})
}

// find answers as pass.answer does.
func (x *index) find(v module.Vaddr) *Symbol {
	addr := uint64(v)
	for _, segments := range x.covers {
		i := sort.Search(len(segments), func(i int) bool { return segments[i].end > addr })
		if i < len(segments) && segments[i].start <= addr {
			e := &x.entries[segments[i].entry]
			return e.symbol(e.end)
		}
	}
	i := sort.Search(len(x.labels), func(i int) bool { return x.entries[x.labels[i]].start > addr })
	if i == 0 {
		return nil
	}
	e := &x.entries[x.labels[i-1]]
	ended, _ := slices.BinarySearch(x.ends, addr+1)
	if addr >= e.end || ended > 0 && x.ends[ended-1] > e.start {
		return nil
	}
	end := e.end
	if next, _ := slices.BinarySearch(x.starts, addr+1); next < len(x.starts) {
		end = min(end, x.starts[next])
	}
	return e.symbol(end)
}
