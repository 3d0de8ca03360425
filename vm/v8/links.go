package v8

import (
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// links are who waits for whom among suspended functions.
type links struct {
	frames   []heap.Frame
	awaiting [][]int // of each frame, those that wait for it
	// leaves are the promises that a frame waits for and that no other frame settles. None: another frame does, or what
	// it waits for is not known.
	leaves [][]mem.Addr
	linked []bool // of each frame: what it waits for is known
}

// linking finds them.
type linking struct {
	links
	byAddr  map[mem.Addr]int        // frames by their object
	owner   map[mem.Addr]int        // frames by the promise that is settled when they end
	sources map[mem.Addr][]mem.Addr // of a promise, those that settle it
	awaits  map[int]mem.Addr        // of a frame, the promise that it waits for
}

// link follows the promises of c, once.
func (c *scan) link() *links {
	if c.links != nil {
		return c.links
	}
	l := &linking{byAddr: map[mem.Addr]int{}, owner: map[mem.Addr]int{}, sources: map[mem.Addr][]mem.Addr{},
		awaits: map[int]mem.Addr{}}
	l.addFrames(c)
	promises := make([]mem.Addr, 0, len(c.waiters))
	for p := range c.waiters {
		promises = append(promises, p)
	}
	slices.Sort(promises)
	twice := map[int]bool{}
	for _, p := range promises {
		for _, w := range c.waiters[p] {
			if w.Frame == 0 {
				if w.Promise != p && w.Promise != 0 {
					l.sources[w.Promise] = append(l.sources[w.Promise], p)
				}
				continue
			}
			i, ok := l.byAddr[w.Frame]
			if before, has := l.awaits[i]; ok && has && before != p {
				twice[i] = true // a function waits for one promise: one of them is what is left of an object
			} else if ok {
				l.awaits[i] = p
			}
		}
	}
	for i := range twice {
		delete(l.awaits, i)
	}
	if !l.join() {
		c.Full = true
	}
	c.links = &l.links
	return c.links
}

// addFrames takes the frames of c: objects of function* are async functions only where a promise steps them on.
func (l *linking) addFrames(c *scan) {
	results := map[mem.Addr]mem.Addr{} // by object
	for _, waiters := range c.waiters {
		for _, w := range waiters {
			if w.Result != 0 {
				results[w.Frame] = w.Result
			}
		}
	}
	l.frames = make([]heap.Frame, 0, len(c.frames))
	for i := range c.frames {
		f := c.frames[i]
		if f.Kind == heap.Generator {
			var stepped bool
			if f.Promise, stepped = results[f.Addr]; !stepped {
				continue
			}
		}
		l.byAddr[f.Addr] = len(l.frames)
		if f.Promise != 0 {
			l.owner[f.Promise] = len(l.frames)
		}
		l.frames = append(l.frames, f)
	}
	n := len(l.frames)
	l.awaiting, l.leaves, l.linked = make([][]int, n), make([][]mem.Addr, n), make([]bool, n)
}

// maxLinks bounds the promises that are followed, and the links between functions, together.
const maxLinks = 1 << 20

// ways are what settles a promise in the end.
type ways struct {
	frames   []int
	promises []mem.Addr // that nothing else settles
}

// join follows what each frame waits for to the frames, or the promises, that settle it. It is false if there is more
// than is followed.
func (l *linking) join() (whole bool) {
	known, left := map[mem.Addr]*ways{}, maxLinks // many wait for the same
	for i := range l.frames {
		p, ok := l.awaits[i]
		if !ok {
			continue
		}
		w := known[p]
		if w == nil {
			w = l.waysTo(p, &left)
			known[p] = w
		}
		if left -= len(w.frames); left < 0 {
			return false
		}
		l.linked[i], l.leaves[i] = true, w.promises
		for _, child := range w.frames {
			l.awaiting[child] = append(l.awaiting[child], i)
		}
	}
	return true
}

// waysTo follows p back, and takes from left what it follows; below zero it is not whole.
func (l *linking) waysTo(p mem.Addr, left *int) *ways {
	w, seen := &ways{}, map[mem.Addr]bool{p: true}
	for queue := []mem.Addr{p}; len(queue) > 0 && *left >= 0; queue = queue[1:] {
		at := queue[0]
		*left--
		if child, owned := l.owner[at]; owned {
			w.frames = append(w.frames, child)
			continue
		}
		from := l.sources[at]
		if len(from) == 0 {
			w.promises = append(w.promises, at)
		}
		for _, q := range from {
			if !seen[q] {
				seen[q] = true
				queue = append(queue, q)
			}
		}
	}
	return w
}
