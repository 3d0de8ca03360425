package v8

import (
	"math"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// Who can settle a promise is found backwards: a promise is settled by one of two functions of V8, which have it in
// their context, or by an object of C++ that has it. What refers to those, and to that, is searched for level by level,
// up to an object of the program. Where nothing does, nothing can settle it: that is asked several times, as a search
// misses what a collector moves meanwhile from what it has still to look at to what it has looked at. V8 moves an
// object twice before it is old.

const (
	minPasses  = 2 // searches that find nobody, where nothing has moved
	maxPasses  = 4 // where something has
	maxLevels  = 10
	maxReached = 3 << 28 // bytes that are searched for all levels together
	maxLeaves  = 1 << 11
	maxWaiting = 1 << 18 // functions that wait for leaves, of all of these together
	maxHits    = 1 << 14 // of a level
	maxBack    = 1 << 12 // words of an object in front of one that is found in it
	fewSharers = 3       // closures of one context of which each may be said to have its variables
)

// settlers says of each promise that functions of l wait for who can settle it.
func (c *scan) settlers(l *links) map[mem.Addr]settler {
	var leaves []mem.Addr
	awaited := map[mem.Addr][]int{} // by which frames each is
	for i := range l.leaves {
		for _, p := range l.leaves[i] {
			if awaited[p] == nil && len(leaves) == maxLeaves { // of the others it stays unknown
				continue
			}
			if awaited[p] == nil {
				leaves = append(leaves, p)
			}
			awaited[p] = append(awaited[p], i)
		}
	}
	waiting, held := map[mem.Addr]map[int]bool{}, 0 // frames that go on when it is settled, and only then
	for k, p := range leaves {
		if held > maxWaiting {
			leaves = leaves[:k]
			break
		}
		waiting[p] = map[int]bool{}
		for _, i := range awaited[p] {
			l.dependents(i, waiting[p])
		}
		held += len(waiting[p])
	}
	out := map[mem.Addr]settler{}
	c.reach(l, leaves, waiting, out)
	c.Moment.Part()
	nobody := slices.DeleteFunc(slices.Clone(leaves), func(p mem.Addr) bool { return out[p].kind != settledByNobody })
	changed := map[mem.Addr]bool{} // promises that were settled, or moved
	again := func() (moved bool) {
		same := c.Again()
		for _, p := range nobody {
			if part, ok := c.of[p]; !ok || !same[part] {
				changed[p] = true
			}
		}
		return slices.Contains(same, false)
	}
	nobody = agreed(nobody, again, func(of []mem.Addr) []mem.Addr {
		c.reach(l, of, waiting, out)
		c.Moment.Part()
		return slices.DeleteFunc(of, func(p mem.Addr) bool { return out[p].kind != settledByNobody })
	})
	for _, p := range nobody {
		if changed[p] || c.Moment.Faults() > 0 { // what was not read may have settled it
			out[p] = settler{}
		}
	}
	return out
}

// agreed are those of nobody, which a search has found nobody to settle, that further searches agree on; reach is one.
// again reports whether something has moved since the last.
func agreed(nobody []mem.Addr, again func() bool, reach func([]mem.Addr) []mem.Addr) []mem.Addr {
	for pass := 1; len(nobody) > 0; pass++ {
		if moved := again(); pass == maxPasses || pass >= minPasses && !moved {
			break
		}
		nobody = reach(nobody)
	}
	return nobody
}

// dependents adds frame i and those that wait for it.
func (l *links) dependents(i int, to map[int]bool) {
	for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
		if at := queue[0]; !to[at] {
			to[at] = true
			queue = append(queue, l.awaiting[at]...)
		}
	}
}

// role is what is looked for of what refers to an object.
type role int

const (
	rolePromise role = iota // a promise itself
	roleContext             // the context of functions that settle it
	roleFields              // what has a promise as a property
	roleSettler             // what leads to such a function
)

// target is an object that is referred to.
type target struct {
	word   uint64
	role   role
	leaves []int
}

// reach is one search for who can settle promises.
type reach struct {
	*scan
	l       *links
	leaves  []mem.Addr
	waiting map[mem.Addr]map[int]bool
	frames  map[mem.Addr]int // by their object, and by their registers
	maps    map[uint64]bool
	best    []settler        // of each leaf
	native  []bool           // of each leaf: memory outside of the heap refers to it
	soft    []settler        // of each leaf, what is on the way that may be all that can be said
	seen    map[uint64][]int // what was looked for, and for which leaves
	joined  [][]int          // of each leaf, others that had led to the same before
	next    []target
	at      map[uint64]int // in next
	failed  bool
	// searched is how many bytes were, in all levels.
	searched int64
}

// reach puts what it finds of leaves into out.
func (c *scan) reach(l *links, leaves []mem.Addr, waiting map[mem.Addr]map[int]bool, out map[mem.Addr]settler) {
	g := &reach{scan: c, l: l, leaves: leaves, waiting: waiting, frames: map[mem.Addr]int{}, maps: map[uint64]bool{},
		best: make([]settler, len(leaves)), soft: make([]settler, len(leaves)),
		native: make([]bool, len(leaves)), seen: map[uint64][]int{},
		joined: make([][]int, len(leaves))}
	for i := range l.frames {
		g.frames[l.frames[i].Addr] = i
		if a, ok := l.frames[i].Registers.Object(); ok {
			g.frames[a] = i
		}
	}
	g.reset()
	for i, p := range leaves {
		g.add(heap.TagOf(p), rolePromise, []int{i})
	}
	for level := 0; level < maxLevels && len(g.next) > 0 && !g.failed && g.searched < maxReached; level++ {
		before := c.Moment.Faults()
		g.level()
		g.failed = g.failed || c.Moment.Faults() > before
	}
	for i, p := range leaves {
		out[p] = g.outcome(i)
	}
}

// outcome is who settles leaf i.
func (g *reach) outcome(i int) settler {
	switch {
	case g.best[i].kind != settledByUnknown:
		return g.best[i]
	case g.native[i]:
		return settler{kind: settledByNative}
	case !g.ended(i):
		return g.soft[i]
	}
	for _, k := range g.joined[i] {
		switch {
		case g.best[k].kind != settledByUnknown:
			return g.best[k]
		case !g.ended(k) || len(g.joined[k]) > 0 || g.native[k]:
			return g.soft[i]
		}
	}
	return settler{kind: settledByNobody}
}

// ended reports whether all that leads to leaf i was followed.
func (g *reach) ended(i int) bool {
	return !g.failed && !slices.ContainsFunc(g.next, func(t target) bool { return slices.Contains(t.leaves, i) })
}

func (g *reach) reset() { g.next, g.at = nil, map[uint64]int{} }

// add has what refers to t looked for, for leaves of which nothing is known yet.
func (g *reach) add(t heap.Tagged, as role, leaves []int) {
	w := uint64(t)
	if before, followed := g.seen[w]; followed {
		for _, k := range leaves {
			if len(before) > 0 && !slices.Contains(before, k) { // what was found by that is found for it
				g.joined[k] = append(g.joined[k], before[0])
			}
		}
		return
	}
	i, ok := g.at[w]
	if !ok {
		i = len(g.next)
		g.at[w] = i
		g.next = append(g.next, target{word: w, role: as})
	}
	for _, k := range leaves {
		if g.best[k].kind == settledByUnknown && !slices.Contains(g.next[i].leaves, k) {
			g.next[i].leaves = append(g.next[i].leaves, k)
		}
	}
}

// hit is a word that refers to a target.
type hit struct {
	at     mem.Addr
	target int
}

// level looks for all that refers to the targets at hand.
func (g *reach) level() {
	targets, words := g.next, search.NewWords()
	for i := range targets {
		words.Add(targets[i].word, i)
		g.seen[targets[i].word] = targets[i].leaves
	}
	g.reset()
	var hits []hit
	memory := g.Anywhere() // as C++ has what it holds
	extent := memory.Each(func(start mem.Addr, b []byte) bool {
		return words.In(b, func(i, number int) bool {
			hits = append(hits, hit{start + mem.Addr(i), number})
			return len(hits) < maxHits
		})
	})
	g.searched += extent.Bytes
	if !extent.Whole() || len(hits) == maxHits {
		g.failed = true
	}
	sharers := map[int]int{} // closures by their context, a target
	found := make([]holder, len(hits))
	for i, h := range hits {
		found[i] = g.holderOf(h.at)
		if g.r.layout.IsFunctionType(found[i].typ) && targets[h.target].role == roleSettler {
			sharers[h.target]++
		}
	}
	for i, h := range hits {
		if t := &targets[h.target]; sharers[h.target] > fewSharers {
			g.ends(t, settler{kind: settledByVariable})
		} else {
			g.visit(t, &found[i])
		}
	}
}

// holder is the object that has a word.
type holder struct {
	at     mem.Addr
	typ    uint16
	offset int32 // of the word
	state  holderState
}

type holderState int

const (
	inObject holderState = iota
	outside              // of the heap
	unclear
)

// holderOf finds the object that the word at a lies in: the nearest word in front of it that is a Map begins it.
func (g *reach) holderOf(a mem.Addr) holder {
	for back := range maxBack {
		at := a - mem.Addr(back)*wordSize
		w, ok := g.Moment.Peek(at)
		switch {
		case !ok && (back == 0 || g.IsMapped(at)): // freed meanwhile, or not to be read
			return holder{state: unclear}
		case !ok:
			return holder{state: outside, at: a}
		case w&3 != 1 || back == 0 || !g.isMap(w):
			continue
		}
		n := min(int(a-at)+wordSize, math.MaxInt16)
		if _, ok := g.View.Bytes(at, n); !ok { // so that it is saved
			return holder{state: unclear}
		}
		typ, err := g.heap.Type(at)
		if err != nil {
			return holder{state: unclear}
		}
		if size, fixed := g.heap.SizeByMap(mem.Addr(w - 1)); fixed && int(a-at) >= size {
			break // words of memory that is no heap
		}
		return holder{at: at, typ: typ, offset: int32(a - at)}
	}
	return holder{state: outside, at: a}
}

// isHandle reports whether the word at a is a handle by which C++ keeps an object: one of a block of them, each of
// which has its number in that; one that is neither free nor weak. Source: GlobalHandles::Node in
// src/handles/global-handles.cc.
func (g *reach) isHandle(a mem.Addr) bool {
	const (
		size   = 32
		number = 16 // bits of the second word in front of it
		last   = 255
		state  = 24 // bits in front of its state
		strong = 1
	)
	if w, ok := g.Moment.Peek(a + wordSize); !ok || w>>state&3 != strong {
		return false
	}
	index := func(at mem.Addr) int {
		w, ok := g.Moment.Peek(at + wordSize)
		if !ok {
			return -1
		}
		return int(w >> number & 0xff)
	}
	i := index(a)
	return i >= 0 && (i == 0 || index(a-size) == i-1) && (i == last || index(a+size) == i+1)
}

func (g *reach) isMap(w uint64) bool {
	is, ok := g.maps[w]
	if !ok && len(g.maps) < 1<<20 {
		is = heap.MayRefer(w) && g.heap.IsMap(mem.Addr(w-1))
		g.maps[w] = is
	}
	return is
}
