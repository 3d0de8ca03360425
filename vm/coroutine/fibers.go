package coroutine

import (
	"cmp"
	"errors"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/chains"
	"github.com/fpstack/fpstack/vm/suspended"
)

// Fibers implements vm.FiberLister: the coroutines that wait, each with those that wait for it. They are of a moment
// after the stop.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	r.List.Clear()
	c, ended := suspended.Best(func() *scan { return r.newScan(s) })
	//lint:ignore SA5001 what it has found is there, whatever ended it
	defer c.Close()
	awaited := c.awaited()
	err := r.name(c.frames)
	c.Keep()
	c.Miss(r.refused)
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
		at := r.places[placeKey{f.kind, f.number}]
		frames[i] = suspended.Frame{Frame: r.frame(f.kind, at), Own: at == nil || isOfProgram(&at.frame)}
	}
	return r.List.Make(frames, awaiting, func(x *chains.Chain) suspended.Wait {
		f := &c.frames[x.Nodes[0]]
		return waitOf(f, r.places[placeKey{f.kind, f.number}], awaited[x.Nodes[0]] >= 0, x.Cycle)
	})
}

// frame is the frame of a stack that stands for a coroutine of that kind, which waits at a place.
func (r *Runtime) frame(k *kind, at *place) unwind.Frame {
	out := unwind.Frame{Origin: unwind.ByRuntime, Runtime: r}
	if k.linkage == "" || at == nil {
		return unwind.Frame{PC: k.resume.start, Interrupted: true, Module: r.m, Origin: unwind.ByRuntime}
	}
	f := at.frame
	var ok bool
	if out.Site, ok = r.sites.Find(f); !ok {
		out.Site = r.sites.Add(f, f, siteCost+len(f.Func)+len(f.File))
	}
	switch {
	case f.Line == 0:
		out.Note = "where it waits is not known"
	case at.behind:
		out.Note = "it goes on there: where it waits is not known"
	}
	return out
}

const siteCost = 512
