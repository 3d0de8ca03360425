package coroutine

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// Who waits for whom. One that awaits another has a pointer to it, and goes on with what that has as its result; the
// other has a pointer back in its promise, by which it lets the first go on. Which of two that lead to each other waits
// is shown by four things, the surest first:
//
//   - one lies in the other, and has a pointer back: only who waits for it has it;
//   - a dry run of one, from its place on, reads the frame of the other: it waits for that;
//   - one of the same kind, of which that is so, has the pointer back at the same offset;
//   - the promise is in front of all else that a frame has: the pointer at the lesser offset is the one back.

// placeKey is a place where coroutines of a kind wait.
type placeKey struct {
	kind   *kind
	number uint64
}

// back is where coroutines of a kind have the pointer to who waits for them.
type back struct {
	of     *kind
	offset int64
}

// linking finds who waits for whom.
type linking struct {
	*scan
	// awaitedAt is where in frames at a place the pointer to the awaited one is: 0 where a run has shown none.
	awaitedAt map[placeKey]int64
	// backAt are offsets of pointers back, in the promises of a kind.
	backAt map[back]bool
	hasAny map[*kind]bool // of backAt
	out    []int          // of each frame which it waits for, -1 for none
}

// awaited is which frame each waits for, -1 for none that is known.
func (c *scan) awaited() []int {
	l := linking{scan: c, awaitedAt: map[placeKey]int64{}, backAt: map[back]bool{},
		hasAny: map[*kind]bool{}, out: make([]int, len(c.frames))}
	for i := range l.out {
		l.out[i] = -1
	}
	for i := range c.frames {
		l.byNesting(i)
	}
	for i := range c.frames {
		if l.out[i] < 0 {
			l.byRun(i)
		}
	}
	for i := range c.frames {
		l.byBack(i)
	}
	for i := range c.frames {
		if !l.hasAny[c.frames[i].kind] {
			l.byOrder(i)
		}
	}
	return l.out
}

// maxTries bounds the frames of one place that are run.
const maxTries = 4

// byNesting finds who waits for frame i, which lies in the frame of that.
func (l *linking) byNesting(i int) {
	f := &l.frames[i]
	if f.outer < 0 {
		return
	}
	outer := &l.frames[f.outer]
	if slices.ContainsFunc(f.refs, func(x ref) bool { return x.to == outer.at }) {
		l.out[f.outer] = i
	}
}

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
	for _, x := range l.frames[to].refs {
		if x.to == f.at {
			k := l.frames[to].kind
			l.backAt[back{k, x.offset}], l.hasAny[k] = true, true
			break
		}
	}
}

// run lets f go on in a dry run, and returns where in it the pointer to the first other frame is that it reads, 0 if it
// comes to none.
func (l *linking) run(f *frame) (offset int64) {
	inModule := func(a mem.Addr) bool { _, ok := l.r.m.Code(l.r.m.Vaddr(a)); return ok }
	c := l.r.newRun(func(a mem.Addr) bool { return inModule(a) && l.r.kindOf(a) == nil })
	own := l.outermost(l.number[f.at])
	c.frame, c.index = uint64(f.at), f.kind.index
	c.memory = func(b []byte, a mem.Addr) bool {
		for _, x := range f.refs { // the first word is read by who lets one go on that waits for it, too
			to, ok := l.number[x.to]
			if offset == 0 && ok && a >= x.to+frameEnds && l.frames[to].holds(a) && l.outermost(to) != own {
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
		if ok && l.backAt[back{l.frames[i].kind, x.offset}] && l.out[by] < 0 && l.out[i] != by {
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
