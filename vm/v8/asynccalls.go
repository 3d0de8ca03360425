package v8

import (
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/chains"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

// OpenFibers implements vm.FiberLister.
func (r *Runtime) OpenFibers() (bool, error) {
	types := &r.layout.Types
	return r.searched.CanBeSearched() && types.Promise != 0 && types.AsyncFunction != 0, nil
}

// Fibers implements vm.FiberLister: the async functions that are suspended, each with those that wait for it. They are
// of a moment after the stop.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	r.List.Clear()
	c, _ := suspended.Best(func() *scan { return r.newScan(s) })
	defer c.Close() // why it ended is a problem of its moment
	defer c.Keep()
	return r.listed(c), c.Problem("async functions")
}

// listed makes fibers of what c found.
func (r *Runtime) listed(c *scan) []snapshot.Fiber {
	l := c.link()
	late := r.late()
	late.Within(identifyWork)
	n := naming{r: r, late: late, known: map[spot]unwind.Frame{}}
	frames := make([]suspended.Frame, len(l.frames))
	for i := range l.frames {
		frames[i] = n.frame(&l.frames[i])
	}
	settlers := c.settlers(l)
	return r.List.Make(frames, l.awaiting, func(x *chains.Chain) suspended.Wait {
		s := l.settler(settlers, x)
		return suspended.Wait{Text: s.text(), Kind: s.wait()}
	})
}

// spot is a place where functions wait.
type spot struct {
	shared   heap.Shared
	position int
}

// naming names suspended functions: many wait at the same place.
type naming struct {
	r     *Runtime
	late  *view.View
	known map[spot]unwind.Frame
}

// frame is that of f: of the program, or of Node.js itself.
func (n *naming) frame(f *heap.Frame) suspended.Frame {
	key := spot{f.Shared, f.Position}
	out, ok := n.known[key]
	if !ok {
		out = n.named(f)
		n.known[key] = out
	}
	all := n.r.sites.list(out.Site)
	if len(all) == 0 {
		return suspended.Frame{Frame: out, Own: true}
	}
	file := all[0].File
	return suspended.Frame{Frame: out, Own: !strings.HasPrefix(file, "node:"), Test: n.testOf(f, file)}
}

func (n *naming) named(f *heap.Frame) unwind.Frame {
	r := n.r
	out := unwind.Frame{Origin: unwind.ByRuntime, Runtime: r}
	function, err := r.describe(f.Shared, n.late)
	if err != nil {
		out.Note = "not named: " + r.String() + ": " + err.Error()
		return out
	}
	r.findClass(function, f.Receiver, f.Closure, n.late)
	logical := frame{profile.Frame{Kind: profile.JavaScript}, function.label}
	offset := r.heap(n.late).PositionOf(f.Shared, f.Position)
	if offset < 0 {
		offset, logical.Note = function.start, "where it waits is not known: this is where it begins"
	}
	if function.script != nil && offset >= 0 {
		logical.put(r.where(function.script, offset, n.late))
	}
	if out.Site, err = r.sites.of([]frame{logical}); err != nil {
		out.Note = "not named: " + r.String() + ": " + err.Error()
	}
	return out
}
