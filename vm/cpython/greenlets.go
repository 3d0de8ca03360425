package cpython

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/vm/view"
)

// greenlets lists the greenlets of a process: those of package greenlet from 2.0 on, which gevent is built on. The
// interpreter knows of none but those that run, and no list has them: they are searched for in the memory, before the
// process is stopped.
type greenlets struct {
	r      *Runtime
	search func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error
	types  map[mem.Addr]string // of greenlets, with their names
	known  []mem.Addr          // objects that the search found
	cut    error               // why not all of the memory was searched
	short  error               // why some classes of them may be missing
	parked waiting             // of the last Fibers
	facts  map[int]string      // of the last Fibers, by thread

	copied frameList // of the last CopyProcess
}

func newGreenlets(r *Runtime, image module.Image) *greenlets {
	g := &greenlets{r: r, search: image.Search}
	if image.Replayed { // they are among what was copied
		g.search = nil
	}
	return g
}

// String names the ProcessCopier in messages.
func (g *greenlets) String() string { return g.r.String() + " (greenlets)" }

// FiberKind implements vm.FiberLister.
func (g *greenlets) FiberKind() string { return "greenlet" }

const (
	greenletModule = "greenlet" // also the name of the class in it
	greenletFile   = "_greenlet."
	greenletBasic  = 24 // bytes of a greenlet behind its header: weak references, dictionary, implementation

	maxTypes     = 1 << 8
	maxGreenlets = 1 << 17
	maxSearched  = 1 << 30 // bytes
)

var errOldGreenlets = errors.New("greenlets cannot be listed: those of package greenlet before 2.0 are not read")

// OpenFibers implements vm.FiberLister: it learns which types greenlets have, and searches for objects of them.
func (g *greenlets) OpenFibers() (present bool, err error) {
	r := g.r
	g.types, g.known, g.cut, g.parked, g.facts = nil, nil, nil, waiting{}, nil
	if r.live == nil {
		return false, nil
	}
	m := r.running()
	dict, ok := r.moduleDict(m, greenletModule)
	if !ok {
		return false, unread("greenlets", m)
	}
	typ, ok := r.layout.Item(m, dict, greenletModule)
	if !ok {
		return false, unread("greenlets", m)
	}
	t, ok := r.layout.TypeAt(m, typ)
	if !ok || t.Size() != r.layout.Header+greenletBasic {
		return false, errOldGreenlets
	}
	g.types = map[mem.Addr]string{}
	g.addTypes(m, typ, 0)
	g.short = unread("greenlets", m)
	if g.search == nil || r.set == nil { // replayed: they are among what was copied
		return true, nil
	}
	return g.find(r.set.Table()), nil
}

// addTypes adds the type at a and those that are derived from it.
func (g *greenlets) addTypes(m *view.View, a mem.Addr, depth int) {
	const maxDepth = 16
	t, ok := g.r.layout.TypeAt(m, a)
	if _, had := g.types[a]; !ok || had || len(g.types) >= maxTypes || depth == maxDepth {
		return
	}
	g.types[a] = t.Name[strings.LastIndexByte(t.Name, '.')+1:]
	g.r.layout.Subclasses(m, a, func(sub mem.Addr) bool {
		g.addTypes(m, sub, depth+1)
		return len(g.types) < maxTypes
	})
}

// find searches the memory of objects for greenlets, and reports whether there are any.
func (g *greenlets) find(table *maps.Table) bool {
	memory := search.Memory{Search: g.search, Table: table, Most: maxSearched, Budget: g.r.budget}
	s := g.searcher()
	g.cut = memory.Each(func(at mem.Addr, b []byte) bool {
		s.look(at, b)
		return true
	}).Cut
	all := g.survey(table, g.r.running(), nil, s.found)
	for i := range all.list {
		g.known = append(g.known, all.list[i].addr)
	}
	return len(g.known) > 0
}

// typeSearch finds objects by the word that says their type.
type typeSearch struct {
	types  *search.Words
	header mem.Addr
	found  []mem.Addr
}

func (g *greenlets) searcher() *typeSearch {
	s := &typeSearch{types: search.NewWords(), header: mem.Addr(g.r.layout.Header)}
	for t := range g.types {
		s.types.Add(uint64(t), 0)
	}
	return s
}

// look adds the objects that b, which lies at address at, has the types of.
func (s *typeSearch) look(at mem.Addr, b []byte) {
	s.types.In(b, func(i, _ int) bool {
		s.found = append(s.found, at+mem.Addr(i)-s.header+wordSize)
		return len(s.found) < 2*maxGreenlets
	})
}

// Room implements [snapshot.ProcessCopier].
func (g *greenlets) Room() int {
	const usual = 2 << 10 // bytes of a greenlet with its frames
	return len(g.known) * usual
}

// CopyProcess implements [snapshot.ProcessCopier]: it copies the greenlets, the frames of those that wait, and what
// names take.
func (g *greenlets) CopyProcess(to *snapshot.Gatherer) {
	if g.types == nil || g.r.set == nil {
		return
	}
	m := newRounds(to.Gather)
	all := g.survey(g.r.set.Table(), &m.view, m, g.known)
	codes := newExecutions()
	g.copied = nil
	list := all.list
	for len(list) > 0 && !m.spent {
		n := min(block, len(list))
		walks := map[mem.Addr]*frameWalk{}
		for i := range list[:n] {
			walks[list[i].addr] = &frameWalk{x: &list[i], most: maxParkedFrames}
		}
		inRounds(m, addresses(list[:n]), func(at mem.Addr) {
			walks[at].on(g.r.layout, &m.view, func(f *object.Frame) {
				g.copied.add(f.Addr)
				codes.add(f)
			})
		})
		codes.read(g.r, m)
		list = list[n:]
	}
}

func addresses(list []greenlet) []mem.Addr {
	out := make([]mem.Addr, len(list))
	for i := range list {
		out[i] = list[i].addr
	}
	return out
}

// Fibers implements vm.FiberLister: the greenlets that have begun and not ended, those that run first.
func (g *greenlets) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	if g.types == nil {
		return nil, nil
	}
	m := g.r.whole(s)
	candidates := g.known
	if len(candidates) == 0 {
		search := g.searcher()
		for _, r := range s.Whole {
			search.look(r.Start, r.Data)
		}
		candidates = search.found
	}
	all := g.survey(s.Maps, m, nil, candidates)
	g.parked, g.facts = newWaiting(), map[int]string{}
	threads := g.r.stackEnds(s)
	var fibers []snapshot.Fiber
	for i := range all.list {
		fibers = append(fibers, g.fiber(m, threads, &all, &all.list[i]))
	}
	missing := g.missing(&all, m)
	g.countParked(threads, &all, missing != nil)
	slices.SortStableFunc(fibers, func(a, b snapshot.Fiber) int {
		switch {
		case (a.TID != 0) != (b.TID != 0):
			return b.TID - a.TID
		}
		return byName(a, b)
	})
	return fibers, missing
}

// missing says what is missing of all, which was read from m.
func (g *greenlets) missing(all *survey, m *view.View) error {
	switch missing := len(g.known) - len(all.list) - all.ended; {
	case m.Refused() != nil:
		return errors.New("greenlets or frames of them are left out: " + tooMuch)
	case missing > 0:
		return fmt.Errorf("%d of %d greenlets are left out: they were not copied within the time and the "+
			"memory for it", missing, len(g.known))
	case g.parked.short > 0:
		return g.parked.shortOf("greenlets")
	case g.short != nil:
		return g.short
	case g.cut != nil:
		return fmt.Errorf("greenlets may be missing: %w", g.cut)
	}
	return nil
}

// fiber makes one of x.
func (g *greenlets) fiber(m *view.View, threads *stackEnds, all *survey, x *greenlet) snapshot.Fiber {
	f := snapshot.Fiber{Kind: g.FiberKind(), ID: uint64(x.addr), Name: g.name(x), State: "parked"}
	switch {
	case all.runs[x.addr]:
		f.State = "running"
		if f.TID = threads.at(x.onStack()); f.TID == 0 {
			f.Missing = "the thread that runs it is not known"
		}
		return f
	case x.stop == 0:
		f.State, f.Missing = "not started", "it has no stack yet"
		return f
	case x.top == 0: // as of one that runs
		f.State, f.Missing = "unknown", "whether its thread runs it was not read"
		return f
	}
	p := g.frames(m, x)
	if len(p.frames) == 0 {
		f.Missing = "its frames were not copied"
	}
	g.parked.add(f.ID, p)
	return f
}

// frames are the functions that x waits in, innermost first.
func (g *greenlets) frames(m *view.View, x *greenlet) parked {
	var p parked
	room := g.r.frameRoom()
	w := frameWalk{x: x, most: min(room, maxParkedFrames)}
	whole := w.on(g.r.layout, m, func(f *object.Frame) {
		if shown, ok := g.r.pythonFrame(m, f); ok {
			p.frames = append(p.frames, shown)
		}
	})
	switch {
	case !whole && w.had == room:
		p.why = errNoRoom
	case !whole:
		p.why = errCut
	}
	return p
}

var errCut = errors.New(noteCut)

// FiberStack implements vm.FiberStacker.
func (g *greenlets) FiberStack(id uint64, to *unwind.Stack) { g.parked.stacks[id].put(to) }

func (g *greenlets) name(x *greenlet) string {
	switch kind := g.types[x.typ]; {
	case x.main:
		return fmt.Sprintf("main %#x", uint64(x.addr))
	case kind != greenletModule:
		return fmt.Sprintf("%s %#x", kind, uint64(x.addr))
	}
	return fmt.Sprintf("%#x", uint64(x.addr))
}

// countParked notes of each thread how many of its greenlets wait, at the least where some may be missing.
func (g *greenlets) countParked(threads *stackEnds, all *survey, more bool) {
	others := map[int]int{}
	for i := range all.list {
		x := &all.list[i]
		if tid := threads.at(x.onStack()); tid != 0 && x.stop != 0 && x.top != 0 && !all.runs[x.addr] {
			others[tid]++
		}
	}
	for tid, n := range others {
		switch {
		case more:
			g.facts[tid] = fmt.Sprintf("%d or more of its greenlets are parked", n)
		case n == 1:
			g.facts[tid] = "one of its greenlets is parked"
		default:
			g.facts[tid] = fmt.Sprintf("%d of its greenlets are parked", n)
		}
	}
}

// isGreenletCode reports whether a lies in the file of package greenlet.
func isGreenletCode(table *maps.Table, a mem.Addr) bool {
	m := table.Find(a)
	return m != nil && strings.HasPrefix(path.Base(m.Path), greenletFile)
}
