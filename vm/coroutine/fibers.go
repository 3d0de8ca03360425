package coroutine

import (
	"cmp"
	"errors"
	"strings"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/chains"
	"github.com/fpstack/fpstack/vm/suspended"
)

// Fibers implements vm.FiberLister: the coroutines that wait, each with those that wait for it. They are of a moment
// after the stop.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	r.List.Clear()
	c, ended := suspended.Best(func() *scan { return r.newScan(s) }) // what it has found is there whatever ended it
	defer c.Close()
	awaited := c.awaited()
	err := r.name(c.frames)
	c.Keep()
	return r.listed(c, awaited), errors.Join(cmp.Or(c.Problem("coroutines of C++"), ended), err)
}

// listed makes fibers of the frames.
func (r *Runtime) listed(c *scan, awaited []int) []snapshot.Fiber {
	awaiting := make([][]int, len(c.frames))
	for i, to := range awaited {
		if to >= 0 {
			awaiting[to] = append(awaiting[to], i)
		}
	}
	frames := make([]suspended.Frame, len(c.frames))
	for i := range c.frames {
		f := &c.frames[i]
		frames[i] = suspended.Frame{Frame: r.frame(f.kind, r.places[placeKey{f.kind, f.number}]), Own: true}
	}
	return r.List.Make(frames, awaiting, func(x *chains.Chain) suspended.Wait {
		f := &c.frames[x.Nodes[0]]
		return waitOf(f, r.places[placeKey{f.kind, f.number}], awaited[x.Nodes[0]] >= 0, x.Cycle)
	})
}

// waitOf says what f waits for.
func waitOf(f *frame, at *place, others, cycle bool) suspended.Wait {
	switch {
	case f.runs:
		return suspended.Wait{Text: "is on the stack of a thread", Kind: snapshot.FiberRuns}
	case cycle:
		return suspended.Wait{Text: "awaits itself: a cycle", Kind: snapshot.FiberNobody}
	case others:
		return suspended.Wait{Text: "awaits other async calls", Kind: snapshot.FiberFuture}
	case !f.held:
		return suspended.Wait{Text: "nothing leads to it: abandoned, or freed", Kind: snapshot.FiberNobody}
	case at != nil && !at.begun && f.known:
		return suspended.Wait{Text: "has not begun", Kind: snapshot.FiberFuture}
	case at != nil && strings.HasSuffix(at.awaiter, "::suspend_always"):
		return suspended.Wait{Text: "awaits that it is resumed", Kind: snapshot.FiberFuture}
	case at == nil || at.awaiter == "":
		return suspended.Wait{Text: "what it awaits is not known"}
	}
	return suspended.Wait{Text: "awaits " + at.awaiter, Kind: snapshot.FiberFuture}
}

// frame is the frame of a stack that stands for a coroutine of that kind, which waits at a place.
func (r *Runtime) frame(k *kind, at *place) unwind.Frame {
	out := unwind.Frame{Origin: unwind.ByRuntime, Runtime: r}
	if k.linkage == "" {
		return unwind.Frame{PC: k.resume.start, Interrupted: true, Module: r.m, Origin: unwind.ByRuntime}
	}
	f := at.frame
	var ok bool
	if out.Site, ok = r.sites.Find(f); !ok {
		out.Site = r.sites.Add(f, f, siteCost+len(f.Func)+len(f.File))
	}
	if f.Line == 0 {
		out.Note = "where it waits is not known"
	}
	return out
}

const siteCost = 512
