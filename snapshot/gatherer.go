package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/mem"
)

// ProcessCopier copies what a runtime needs of the process as a whole: the stacks of threads that it schedules by
// itself. CopyProcess is called once a stop, when all threads are stopped and copied, and reads by g alone. The target
// waits for it: it blocks on nothing and opens nothing. It may be called from any goroutine, and does not keep g.
//
// Where it implements [fmt.Stringer] that is its name in messages.
type ProcessCopier interface {
	CopyProcess(g *Gatherer)
	// Room is about how many bytes that will be, as far as was known before the stop: memory for them is made ready.
	Room() int
}

// GatherBudget is the Budget of a Gatherer that has none of its own. Its Calls and Ranges do not count.
var GatherBudget = Budget{Bytes: 64 << 20, Time: 150 * time.Millisecond}

// GatherRead is how much a ProcessCopier may read in a stop that was not asked for more: some 40,000 goroutines. It is
// read within about 50 ms, and where that takes longer, by a slow machine or one that others use, as much is had within
// the Time of the Budget.
const GatherRead = 128 << 20

// callCost is how many bytes are read in the time that a call takes.
const callCost = 8 << 10

// Gatherer copies many small ranges of one process. What lies near to each other is read at once, and only what is
// wanted of it is kept: where there are ten thousand, calls are what takes the time. It is for one goroutine at a
// time, but for [Gatherer.End].
type Gatherer struct {
	Budget Budget // of each ProcessCopier; the zero Budget is GatherBudget
	// Read is how many bytes each ProcessCopier may read, of which it keeps what it wants; a call counts as 8 KiB more.
	// 0: any.
	Read int
	// Until is when all ends; the zero Time: never.
	Until time.Time

	memory PieceReader
	ranges []mem.Range
	short  []Shortfall
	left   int       // bytes
	unread int       // bytes of Read
	end    time.Time // when the time of the ProcessCopier is over
	err    error     // why the ProcessCopier gets no more, nil if it does
	broken error     // why nobody does
	rest   []byte
	run    []byte // what was read last
	ended  atomic.Bool
}

// maxReady bounds the memory that is made ready for a stop, bytes.
const maxReady = 32 << 20

// Ready makes memory ready for copiers, so that no page fault of ours lengthens the stop.
func (g *Gatherer) Ready(copiers []ProcessCopier) {
	room := 0
	for _, c := range copiers {
		room += min(max(c.Room(), 0), maxReady)
	}
	g.rest, g.run = touched(min(room, maxReady)), touched(maxRun)
}

// touched returns n bytes whose pages are there.
func touched(n int) []byte {
	const page = 4 << 10
	b := make([]byte, n)
	for i := 0; i < n; i += page {
		b[i] = 1
	}
	return b
}

// Run lets copiers copy what they need, by memory. A panic in a ProcessCopier is a Shortfall.
func (g *Gatherer) Run(copiers []ProcessCopier, memory PieceReader) {
	g.memory = memory
	for _, c := range copiers {
		g.copy(c)
	}
}

// Copied returns what Run copied, ascending, none overlapping, and what it did not copy. It is called once, when Run
// has returned, and sorts: the target need not wait for that.
func (g *Gatherer) Copied() ([]mem.Range, []Shortfall) { return flat(g.ranges), g.short }

// End makes all further reads fail, and one that has not ended: who waits for Run does no longer. What was read before
// is kept.
func (g *Gatherer) End() { g.ended.Store(true) }

func (g *Gatherer) copy(c ProcessCopier) {
	budget := g.Budget
	if budget == (Budget{}) {
		budget = GatherBudget
	}
	g.left, g.unread, g.end, g.err = budget.Bytes, g.Read, time.Now().Add(budget.Time), g.broken
	if !g.Until.IsZero() && g.Until.Before(g.end) {
		g.end = g.Until
	}
	defer func() {
		if p := recover(); p != nil {
			g.err = fmt.Errorf("a fault of fpstack, please report it: %v", p)
		}
		if g.err != nil {
			g.short = append(g.short, Shortfall{copierName(c), g.err})
		}
	}()
	c.CopyProcess(g)
}

const (
	// maxGap is how many bytes that nobody wants are read to save a call, which takes as long as two pages of them.
	maxGap = 4 << 10
	// maxRun bounds what is read by one call, so that the time is asked in between.
	maxRun = 256 << 10
	// gatherBlock is what room is made for at once, bytes.
	gatherBlock = 1 << 20
)

// Gather copies what is wanted and returns the bytes of each, in their order, nil for what was not had whole. They
// are not to be changed. It is false when the budget is spent: then it copies nothing any more, and the snapshot says
// so.
func (g *Gatherer) Gather(wants []Want) (got [][]byte, ok bool) {
	got = make([][]byte, len(wants))
	order := make([]int, 0, len(wants))
	for i, w := range wants {
		if w.Len > 0 && w.Addr+mem.Addr(w.Len)-1 >= w.Addr {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(wants[a].Addr, wants[b].Addr) })
	for from := 0; from < len(order) && g.err == nil; {
		n, end := together(wants, order[from:])
		start := wants[order[from]].Addr
		if r := g.read(start, int(end-start)); len(r.Data) > 0 {
			for _, i := range order[from : from+n] {
				got[i] = g.keep(r, wants[i])
			}
		}
		from += n
	}
	return got, g.err == nil
}

// together returns how many of the wants that order begins with are read at once, and where the last of them ends.
func together(wants []Want, order []int) (n int, end mem.Addr) {
	first := wants[order[0]]
	end = first.Addr + mem.Addr(first.Len)
	for n = 1; n < len(order); n++ {
		next := wants[order[n]]
		if next.Addr > end && next.Addr-end > maxGap || next.Addr+mem.Addr(next.Len)-first.Addr > maxRun {
			break
		}
		end = max(end, next.Addr+mem.Addr(next.Len))
	}
	return n, end
}

// read reads n bytes at a as far as they are mapped. They are valid until the next read.
func (g *Gatherer) read(a mem.Addr, n int) mem.Range {
	switch {
	case g.ended.Load():
		g.err, g.broken = ErrSpent, ErrSpent
		return mem.Range{}
	case n > g.left && n > maxRun, g.Read > 0 && g.unread < n+callCost, time.Now().After(g.end):
		g.err = ErrSpent
		return mem.Range{}
	case n > len(g.run):
		g.run = make([]byte, n)
	}
	g.unread -= n + callCost
	pieces := [1]Piece{{Addr: a, Data: g.run[:n]}}
	if err := g.memory.ReadPieces(pieces[:]); err != nil {
		g.err, g.broken = err, err
		return mem.Range{}
	}
	if g.ended.Load() { // the threads may have run meanwhile
		g.err, g.broken = ErrSpent, ErrSpent
		return mem.Range{}
	}
	return mem.Range{Start: a, Data: g.run[:pieces[0].Got]}
}

// keep copies what is wanted out of r, as far as it is there, and returns it if it is whole.
func (g *Gatherer) keep(r mem.Range, w Want) []byte {
	n := min(w.Len, len(r.Data)-int(w.Addr-r.Start))
	switch {
	case n <= 0:
		return nil
	case n > g.left:
		g.err = ErrSpent
		return nil
	}
	g.left -= n
	b := g.room(n)
	copy(b, r.Data[w.Addr-r.Start:])
	g.ranges = append(g.ranges, mem.Range{Start: w.Addr, Data: b})
	if n < w.Len {
		return nil
	}
	return b
}

// room returns n bytes that nothing is copied to yet.
func (g *Gatherer) room(n int) []byte {
	if n > len(g.rest) {
		g.rest = make([]byte, max(n, gatherBlock))
	}
	b := g.rest[:n:n]
	g.rest = g.rest[n:]
	return b
}

// flat sorts ranges by their start and cuts what overlaps.
func flat(ranges []mem.Range) []mem.Range {
	slices.SortFunc(ranges, func(a, b mem.Range) int { return cmp.Compare(a.Start, b.Start) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && r.Start < out[n-1].End() {
			held := int(out[n-1].End() - r.Start)
			if held >= len(r.Data) {
				continue
			}
			r = mem.Range{Start: r.Start + mem.Addr(held), Data: r.Data[held:]}
		}
		out = append(out, r)
	}
	return out
}
