package v8

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/chains"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

// asyncCalls are the async functions that wait, as they were listed last.
type asyncCalls struct {
	stacks map[uint64][]unwind.Frame
}

// Fibers implements vm.FiberLister: the async functions that are suspended, each with those that wait for it, those of
// which there are most first. They are of a moment after the stop. Where the heap moves meanwhile it looks again.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	r.asyncs = asyncCalls{stacks: map[uint64][]unwind.Frame{}}
	var best *scan
	for range maxScans {
		c := r.newScan(s)
		err := c.read()
		if best == nil || len(c.frames)-c.moved > len(best.frames)-best.moved {
			if best != nil {
				best.moment.Close()
			}
			best = c
		} else {
			c.moment.Close()
		}
		if err != nil || best.moved == 0 || len(c.frames) > maxRetried {
			break
		}
	}
	defer best.moment.Close()
	defer best.keep()
	return r.listed(best), best.problem()
}

// listed makes fibers of what c found.
func (r *Runtime) listed(c *scan) []snapshot.Fiber {
	l := c.link()
	late := r.late()
	late.Within(identifyWork)
	n := naming{r: r, late: late, known: map[spot]unwind.Frame{}}
	frames, own := make([]unwind.Frame, len(l.frames)), make([]bool, len(l.frames))
	for i := range l.frames {
		frames[i], own[i] = n.frame(&l.frames[i])
	}
	settlers := c.settlers(l)
	all := chains.Of(len(l.frames), l.awaiting)
	groups := chains.Groups(all, func(i int) string {
		var b strings.Builder
		for _, k := range all[i].Nodes {
			fmt.Fprintf(&b, "%d ", frames[k].Site)
		}
		return b.String() + l.settler(settlers, all, i).text()
	})
	order, ids := chains.Order(groups), make([]uint64, len(all))
	for id, i := range order {
		ids[i] = uint64(id + 1)
	}
	var out []snapshot.Fiber
	for _, i := range order {
		x := l.settler(settlers, all, i)
		f := snapshot.Fiber{Kind: asyncCall, ID: ids[i], State: x.text(), Wait: x.wait(), System: true}
		for _, by := range all[i].AwaitedBy {
			f.AwaitedBy = append(f.AwaitedBy, ids[by])
		}
		var stack []unwind.Frame
		for _, k := range all[i].Nodes {
			stack = append(stack, frames[k])
			f.System = f.System && !own[k]
		}
		r.asyncs.stacks[f.ID] = stack
		out = append(out, f)
	}
	return out
}

// FiberStack implements vm.FiberStacker.
func (r *Runtime) FiberStack(id uint64, to *unwind.Stack) {
	to.Frames, to.Stop = append(to.Frames, r.asyncs.stacks[id]...), unwind.Root
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

// frame is that of f, and whether it is of the program rather than of Node.js.
func (n *naming) frame(f *heap.Frame) (out unwind.Frame, own bool) {
	key := spot{f.Shared, f.Position}
	out, ok := n.known[key]
	if !ok {
		out = n.named(f)
		n.known[key] = out
	}
	all := n.r.sites.list(out.Site)
	return out, len(all) == 0 || !strings.HasPrefix(all[0].File, "node:")
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
