// Package resolve names what the walk found: physical frames with addresses become logical
// frames with functions, files and lines, and a snapshot with its stacks becomes a dump.
//
// The caller provides the modules of the process and the stacks. Of a frame in which a runtime says what executes
// (unwind.Frame.Site) that runtime is asked, as a [SiteNamer]; what nobody knows keeps its address and says what it
// is in.
//
// It asks each module once for all its addresses, because the symbol table is then read once.
// It knows no ELF and no runtime, stops nothing, and renders nothing. It is for one goroutine
// at a time.
package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"sort"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// SiteNamer is an unwind.Runtime that names its Sites. What it takes to name one it has kept when the Site was first
// seen: it is asked later, also when the process has ended.
type SiteNamer interface {
	// Frames returns the logical frames of a Site, innermost first, nil if it has no name. Index, Module, Addr,
	// Interrupted, Origin and Note are filled in afterwards.
	Frames(site unwind.Site) []profile.Frame
}

// Renamer is a SiteNamer that may learn a better name of a Site that it has named.
type Renamer interface {
	// Renames is how many names have changed so far. It is called by the goroutine that walks.
	Renames() int
}

// Settler is a SiteNamer that gets its names in the background.
type Settler interface {
	// Settle waits, not for long, until it has what names the Sites that it has given so far. Nothing may be stopped.
	Settle()
}

// Options says what is not wanted, and where more is found.
type Options struct {
	NoSymbols bool // addresses and modules alone
	NoInlines bool
	NoLines   bool
	Native    bool // a recording has frames of a runtime's own, too
	// Files leads to debug files; nil: each module speaks for itself alone. It is the
	// caller's to keep open while names are asked for.
	Files *symbol.Files
	// Budget is what reading files and code may take in the whole run: who makes a set of modules
	// charges it to this. Nil: no bound.
	Budget *work.Budget
	// Forgets says that names are asked for as long as the target runs, which may load other objects for ever:
	// symbols of at most 256 of them are kept, those of others read again.
	Forgets bool
	// Shared keeps symbols and names for several Names whose modules are shared and whose other
	// options are the same; nil: each has its own.
	Shared *Shared
}

// Names names the frames of one process, or of several whose modules it is given frame by
// frame: what no module holds must then be of one process, or be asked of a Names of its own.
type Names struct {
	set      *module.Set
	opt      Options
	symbols  map[module.Object]*symbol.Resolver // at most maxShared
	entries  map[module.Object]*unwind.Entries  // at most maxShared
	known    map[place][]profile.Frame
	problems []error
	reported map[string]bool // their texts
	stack    []profile.Frame // memory for the stack at hand
}

// place is an address in a module, nil for none, how it is to be looked up, and what executes there.
type place struct {
	module     *module.Module
	pc, lookup mem.Addr
	runtime    unwind.Runtime // nil for native code
	site       unwind.Site
}

// placeOf is the place of f. A signal trampoline was not called: its PC is where it begins, and the
// byte before that is of another function.
func placeOf(f *unwind.Frame) place {
	p := place{f.Module, f.PC, f.LookupPC(), f.Runtime, f.Site}
	if f.Signal {
		p.lookup = f.PC
	}
	return p
}

// New returns the names of the process with the modules of set, which may be nil if [Names.Dump] is not called.
func New(set *module.Set, opt Options) *Names {
	return &Names{set: set, opt: opt,
		symbols: map[module.Object]*symbol.Resolver{}, entries: map[module.Object]*unwind.Entries{},
		known: map[place][]profile.Frame{}, reported: map[string]bool{}}
}

// Bounds implements unwind.Functions.
func (n *Names) Bounds(m *module.Module, v module.Vaddr) (start, end module.Vaddr, ok bool) {
	if m.Err != nil {
		return 0, 0, false
	}
	return n.of(m).Bounds(v)
}

// DebugFrame implements unwind.Functions.
func (n *Names) DebugFrame(m *module.Module) ([]byte, error) {
	if m.Err != nil {
		return nil, nil
	}
	return n.of(m).DebugFrame()
}

// of returns the symbols of m, made once for all places where the object is mapped.
func (n *Names) of(m *module.Module) *symbol.Resolver {
	r, ok := n.symbols[m.Object()]
	if !ok {
		if len(n.symbols) >= maxShared && n.opt.Forgets {
			for _, old := range n.symbols {
				n.close(old.Close)
			}
			clear(n.symbols)
		}
		r = n.opt.Shared.of(m, n.opt.Files)
		n.symbols[m.Object()] = r
	}
	return r
}

// Prepare names the frames of all stacks, each module's in one go, so that [Names.Stack] finds
// them known.
func (n *Names) Prepare(stacks []unwind.Stack) {
	queries := map[*module.Module][]symbol.Query{}
	for i := range stacks {
		n.collect(stacks[i].Frames, queries)
	}
	n.askAll(queries)
}

// Frames names single physical frames, each module's in one go: result i is the logical frames
// at frames[i], innermost first, at least one. Their Module is the module's ID, -1 for none.
func (n *Names) Frames(frames []unwind.Frame) [][]profile.Frame {
	queries := map[*module.Module][]symbol.Query{}
	n.collect(frames, queries)
	n.askAll(queries)
	out := make([][]profile.Frame, len(frames))
	for i := range frames {
		out[i] = n.add(nil, 0, &frames[i])
	}
	return out
}

// Forget drops the answers kept: who keeps them itself needs them once. Symbol tables stay.
func (n *Names) Forget() { clear(n.known) }

// Keep drops the symbols of objects that are no longer to be named, which no set has any more, with their debug files.
func (n *Names) Keep(live func(module.Object) bool) {
	for o, r := range n.symbols {
		if !live(o) {
			n.close(r.Release)
			delete(n.symbols, o)
		}
	}
	for o := range n.entries {
		if !live(o) {
			delete(n.entries, o)
		}
	}
	n.Forget()
}

// close ends the use of symbols, unless others share them.
func (n *Names) close(end func() error) {
	if n.opt.Shared == nil {
		n.problem(end())
	}
}

// collect adds what is not known of frames to the queries of their modules.
func (n *Names) collect(frames []unwind.Frame, queries map[*module.Module][]symbol.Query) {
	var last place // where a function calls itself the next frame is the same
	for i := range frames {
		f := &frames[i]
		key := placeOf(f)
		if key == last && i > 0 {
			continue
		}
		last = key
		if _, ok := n.known[key]; ok {
			continue
		}
		n.known[key] = OfSite(f)
		if s, ok := f.Runtime.(Settler); ok && n.known[key] == nil {
			s.Settle()
			n.known[key] = OfSite(f)
		}
		if key.site == 0 && f.Module != nil && f.Module.Err == nil && !n.opt.NoSymbols {
			queries[f.Module] = append(queries[f.Module], symbol.Query{
				Lookup: f.Module.Vaddr(key.lookup), PC: f.Module.Vaddr(key.pc)})
		}
	}
}

func (n *Names) askAll(queries map[*module.Module][]symbol.Query) {
	for _, m := range modulesOf(queries) {
		n.ask(m, queries[m])
	}
}

// modulesOf lists the modules in the order of their use, so that problems come in a steady order.
func modulesOf(queries map[*module.Module][]symbol.Query) []*module.Module {
	ms := make([]*module.Module, 0, len(queries))
	for m := range queries {
		ms = append(ms, m)
	}
	sort.Slice(ms, func(i, j int) bool {
		if ms[i].ID != ms[j].ID { // they may be equal in sets of several processes
			return ms[i].ID < ms[j].ID
		}
		return ms[i].Path < ms[j].Path
	})
	return ms
}

func (n *Names) ask(m *module.Module, queries []symbol.Query) {
	queries = n.opt.Shared.recall(m, queries, n.learn)
	if len(queries) == 0 {
		return
	}
	frames, err := n.of(m).Resolve(queries, symbol.Options{NoInlines: n.opt.NoInlines, NoLines: n.opt.NoLines})
	n.problem(err)
	n.enter(m, queries, frames)
	for i, q := range queries {
		n.learn(m, q, frames[i])
		n.opt.Shared.keep(m, q, frames[i])
	}
}

// learn keeps the answer to one query.
func (n *Names) learn(m *module.Module, q symbol.Query, frames []profile.Frame) {
	n.known[place{module: m, pc: m.Addr(q.PC), lookup: m.Addr(q.Lookup)}] = frames
}

// maxProblems bounds what one Names reports.
const maxProblems = 1000

// problem keeps an error that was not met before: a recording asks the same module again and again.
func (n *Names) problem(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			n.problem(e)
		}
		return
	}
	if why := n.opt.Budget.Stopped(); why != nil && errors.Is(err, why) { // of every module: reported once
		err = fmt.Errorf("names are missing: %w", why)
	}
	if err == nil || n.reported[err.Error()] || len(n.problems) >= maxProblems {
		return
	}
	n.reported[err.Error()] = true
	n.problems = append(n.problems, err)
}

// OfSite returns the logical frames that the runtime of f names, nil if f has none.
func OfSite(f *unwind.Frame) []profile.Frame {
	if n, ok := f.Runtime.(SiteNamer); ok && f.Site != 0 {
		return n.Frames(f.Site)
	}
	return nil
}

// Err is what kept names from being found so far, nil if nothing did.
func (n *Names) Err() error { return errors.Join(n.problems...) }

// Stack returns s with names. Frames that [Names.Prepare] has not met are named one by one.
func (n *Names) Stack(s *unwind.Stack) profile.Stack {
	out := ended(s)
	frames := n.stack[:0]
	for i := range s.Frames {
		frames = n.add(frames, i, &s.Frames[i])
	}
	out.Frames = append(out.Frames, frames...) // all that they take, and not what they have grown to
	if clear(frames); cap(frames) <= maxStack {
		n.stack = frames
	}
	return out
}

// ended is how s ends, without its frames.
func ended(s *unwind.Stack) profile.Stack {
	out := profile.Stack{Stop: s.Stop.String(), Complete: s.Stop == unwind.Root}
	if s.Err != nil {
		out.Detail = s.Err.Error()
	}
	return out
}

// maxStack bounds the frames for which memory is kept from one stack to the next.
const maxStack = 1 << 12

// add appends the logical frames of the physical frame with number index.
func (n *Names) add(out []profile.Frame, index int, f *unwind.Frame) []profile.Frame {
	key := placeOf(f)
	known, ok := n.known[key]
	if !ok {
		n.Prepare([]unwind.Stack{{Frames: []unwind.Frame{*f}}})
		known = n.known[key]
	}
	if len(known) == 0 {
		known = []profile.Frame{n.unnamed(f)}
	}
	for i := range known {
		out = append(out, known[i])
		k := &out[len(out)-1]
		k.Index = index
		k.Stub = k.Stub || f.Stub
		k.Unsure = f.Unsure
		k.Module = -1
		if f.Module != nil && !f.Module.Made() { // the name of one that was made says nothing
			k.Module = f.Module.ID
		}
		if i == len(known)-1 {
			k.Addr = uint64(f.PC)
			k.Interrupted = f.Interrupted
			k.Origin = f.Origin.String()
			k.Note, k.Gap = joined(f.Note, k.Note), f.Gap
			if f.Signal {
				k.Kind = profile.Signal
			}
		}
	}
	return out
}

// joined is what the walk and a runtime note of one frame.
func joined(walk, runtime string) string {
	if walk == "" || runtime == "" || walk == runtime {
		return cmp.Or(walk, runtime)
	}
	return walk + "; " + runtime
}

// unnamed is a frame of which the address alone is known.
func (n *Names) unnamed(f *unwind.Frame) profile.Frame {
	if n.set != nil {
		if out, ok := Nameless(n.set.Table(), f); ok {
			return out
		}
	}
	out := profile.Frame{Kind: profile.Unknown}
	if f.Module != nil {
		out.Kind = profile.Native
		out.ModuleAddr = uint64(f.Module.Vaddr(f.PC))
	}
	return out
}
