package v8

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
)

// DumpCopier implements vm.DumpCopier: it copies the async functions that wait for one on the stack, some eight reads
// each. That takes longer than the rest of a stop, so that samples of a recording do without.
func (r *Runtime) DumpCopier() snapshot.Copier { return awaitCopier{r} }

// awaitCopier copies promises and generators, which are young objects and move.
type awaitCopier struct{ *Runtime }

// Copy implements [snapshot.Copier].
func (c awaitCopier) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	areas := c.areas.Load()
	if t.Arch != c.port.arch || len(areas.list) == 0 {
		return
	}
	var w wanted
	w.walk(areas, c.Runtime, t)
	v := view.Stopped(f, fetchSpan)
	h := c.heap(&v)
	for _, closure := range w.list[:w.n] {
		closure, err := h.Follow(closure)
		if err != nil {
			continue
		}
		waiting, _ := h.Awaiting(closure) // what is missing is found missing again by who names it
		for _, g := range waiting {
			if function, err := h.SuspendedClosure(g); err == nil {
				_, _ = h.FunctionAt(function)
			}
		}
	}
}

// fetchSpan is how much is copied for the first word that is read of an object, bytes: most objects that lead from one
// async function to the next are smaller.
const fetchSpan = 96

// withAwaiting is the Site of a, which site names, with the async functions in front of it that wait for the function
// that it has resumed. It is site where there are none, or they were not copied.
func (r *Runtime) withAwaiting(site unwind.Site, a *activation, v *view.View) unwind.Site {
	tagged, known := a.slot(v, r.layout.Frame.Function)
	closure, pointer := tagged.Object()
	if !known || !pointer || a.area.made || site == 0 {
		return site
	}
	copied := v.Alone()
	h := r.heap(&copied)
	closure, err := h.Follow(closure)
	if err != nil {
		return site
	}
	waiting, err := h.Awaiting(closure)
	var frames []frame
	for _, g := range waiting {
		f, why := r.suspended(g, h, v)
		if why != nil {
			err = why
			break
		}
		frames = append(frames, f)
	}
	if err != nil {
		a.note, a.gap = "functions may be missing that wait for this one: "+err.Error(), true
	}
	if len(frames) == 0 {
		return site
	}
	frames[len(frames)-1].Note = a.note
	all, err := r.sites.of(append(frames, r.sites.list(site)...))
	if err != nil {
		return site
	}
	return all
}

// suspended is the frame of the async function whose generator is at g. What moves is read by copied.
func (r *Runtime) suspended(g mem.Addr, copied heap.Heap, v *view.View) (frame, error) {
	call, err := r.heap(v).Suspended(g)
	if err != nil {
		return frame{}, err
	}
	f, err := r.describe(call.Shared, v)
	if err != nil {
		return frame{}, err
	}
	closure, err := copied.SuspendedClosure(g)
	if receiver, err2 := copied.SuspendedReceiver(g); err == nil && err2 == nil {
		r.findClass(f, receiver, closure, v)
	}
	out := frame{profile.Frame{Kind: profile.JavaScript, Inlined: true, Async: true}, f.label}
	if f.script != nil {
		offset := call.Offset
		if offset < 0 {
			offset = f.start
		}
		out.put(r.where(f.script, offset, v))
	}
	return out, nil
}
