package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// DumpCopier implements vm.DumpCopier: a dump has who holds the GIL and whether the garbage collector is at work. All
// threads are stopped then, so that it is copied with one of them: that which began the interpreter. With a thread
// that waits for a lock of Python that lock is copied.
func (r *Runtime) DumpCopier() snapshot.Copier { return stateCopier{r} }

type stateCopier struct{ *Runtime }

// Copy implements [snapshot.Copier].
func (c stateCopier) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	o := c.roster.Load()
	if !c.reads(t) || o.of(t) == 0 {
		return
	}
	m := view.Stopped(f, 0)
	prefetch := func(wants []snapshot.Want) { f.Fetch(wants...) }
	if _, ok := c.lockOf(t, &m, &m, prefetch); ok {
		c.withsOf(t, &m, &m, prefetch)
	}
	if o.of(t) != o.oldest {
		return
	}
	for _, g := range c.gils() {
		f.Fetch(g.want(c.layout))
	}
	f.Fetch(snapshot.Want{Addr: c.collectingAt(o), Len: 4})
}

// collectingAt is where the main interpreter says whether its garbage collector is at work.
func (r *Runtime) collectingAt(o *roster) mem.Addr {
	if r.layout.Interp.Collecting == 0 {
		return r.at + mem.Addr(r.layout.Interp.CollectingInRuntime)
	}
	if o.main() == nil {
		return 0
	}
	return o.main().addr + mem.Addr(r.layout.Interp.Collecting)
}
