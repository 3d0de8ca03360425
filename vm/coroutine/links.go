package coroutine

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// Who waits for whom. One that awaits another has a pointer to it, and goes on with what that has as its result; the
// other has a pointer back in its promise, by which it lets the first go on. Which of two that lead to each other waits
// is shown by three things, the surest first:
//
//   - a dry run of one, from its place on, reads the frame of the other: it waits for that;
//   - another pair of which that is so has the pointer back at the same offset;
//   - the promise is in front of all else that a frame has: the pointer at the lesser offset is the one back.

// place is what a number of a kind says: where the pointer to the awaited frame is.
type placeKey struct {
	kind   *kind
	number uint64
}

// linking finds who waits for whom.
type linking struct {
	*scan
	// awaitedAt is where in frames at a place the pointer to the awaited one is: 0 where a run has shown none.
	awaitedAt map[placeKey]int64
	// backAt are offsets of pointers back.
	backAt map[int64]bool
	out    []int // of each frame which it waits for, -1 for none
}

// awaited is which frame each waits for, -1 for none that is known.
func (c *scan) awaited() []int {
	l := linking{scan: c, awaitedAt: map[placeKey]int64{}, backAt: map[int64]bool{}, out: make([]int, len(c.frames))}
	for i := range l.out {
		l.out[i] = -1
	}
	for i := range c.frames {
		l.byRun(i)
	}
	for i := range c.frames {
		l.byBack(i)
	}
	if len(l.backAt) == 0 {
		for i := range c.frames {
			l.byOrder(i)
		}
	}
	return l.out
}

// maxTries bounds the frames of one place that are run.
const maxTries = 4

// byRun finds what frame i awaits by the place where frames like it have the pointer that they go on with.
func (l *linking) byRun(i int) {
	f := &l.frames[i]
	if !f.known || len(f.refs) == 0 {
		return
	}
	key := placeKey{f.kind, f.number}
	offset, tried := l.awaitedAt[key]
	if !tried || offset < 0 && -offset < maxTries {
		if found := l.run(f); found > 0 {
			offset = found
		} else {
			offset--
		}
		l.awaitedAt[key] = offset
	}
	k := slices.IndexFunc(f.refs, func(x ref) bool { return x.offset == offset })
	if k < 0 {
		return
	}
	to, ok := l.number[f.refs[k].to]
	if !ok {
		return
	}
	l.out[i] = to
	for _, back := range l.frames[to].refs {
		if back.to == f.at {
			l.backAt[back.offset] = true
			break
		}
	}
}

// run lets f go on in a dry run, and returns where in it the pointer to the first other frame is that it reads, 0 if it
// comes to none.
func (l *linking) run(f *frame) (offset int64) {
	inModule := func(a mem.Addr) bool { _, ok := l.r.m.Code(l.r.m.Vaddr(a)); return ok }
	c := l.r.newRun(func(a mem.Addr) bool { return inModule(a) && l.r.kindOf(a) == nil })
	c.frame, c.index = uint64(f.at), f.kind.index
	c.memory = func(b []byte, a mem.Addr) bool {
		for _, x := range f.refs { // the first word is read by who lets one go on that waits for it, too
			to, ok := l.number[x.to]
			if offset == 0 && ok && a >= x.to+frameEnds && l.frames[to].holds(a) && !f.holds(a) {
				offset = x.offset
			}
		}
		got, ok := l.Moment.Bytes(a, len(b))
		return ok && copy(b, got) == len(b)
	}
	if c.begin(f.kind.resume.start) {
		c.goOn(4*maxSteps, func(pc mem.Addr) bool { return offset == 0 && !c.over && inModule(pc) })
	}
	return offset
}

// byBack finds who waits for frame i by its pointer back, where others have one.
func (l *linking) byBack(i int) {
	for _, x := range l.frames[i].refs {
		by, ok := l.number[x.to]
		if ok && l.backAt[x.offset] && l.out[by] < 0 && l.out[i] != by {
			l.out[by] = i
			return
		}
	}
}

// byOrder finds who waits for frame i, of those that have a pointer to it, too.
func (l *linking) byOrder(i int) {
	f := &l.frames[i]
	for _, x := range f.refs {
		by, ok := l.number[x.to]
		if !ok || l.out[by] >= 0 || l.out[i] == by {
			continue
		}
		k := slices.IndexFunc(l.frames[by].refs, func(y ref) bool { return y.to == f.at })
		if k >= 0 && x.offset < l.frames[by].refs[k].offset {
			l.out[by] = i
			return
		}
	}
}
