// Package resolve names what the walk found: physical frames with addresses become logical
// frames with functions, files and lines, and a snapshot with its stacks becomes a dump.
//
// The caller provides the modules of the process and the stacks. Who knows a kind of code
// that no ELF object holds (a JIT, a perf map) is given as a [Resolver] and is asked first;
// what nobody knows keeps its address and says what it lies in.
//
// It asks each module once for all its addresses, because the symbol table is then read once.
// It knows no ELF and no runtime, stops nothing, and renders nothing. It is for one goroutine
// at a time.
package resolve

import (
	"errors"
	"sort"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
)

// Resolver names code that no ELF object holds.
type Resolver interface {
	// Resolve returns the logical frames at f, innermost first, or nil if the code is not
	// its own. Index, Addr, Interrupted, Origin and Note are filled in afterwards.
	Resolve(f *unwind.Frame) []profile.Frame
}

// Options says what is not wanted.
type Options struct {
	NoSymbols bool // addresses and modules alone
	NoInlines bool
	NoLines   bool
}

// Names names the frames of one process.
type Names struct {
	set       *module.Set
	opt       Options
	resolvers []Resolver
	symbols   map[*module.Module]*symbol.Resolver
	known     map[place][]profile.Frame
	problems  []error
}

// place is an address and how it is to be looked up.
type place struct {
	pc, lookup mem.Addr
}

// New returns the names of the process with the modules of set. The resolvers are asked in
// their order.
func New(set *module.Set, opt Options, resolvers ...Resolver) *Names {
	return &Names{set: set, opt: opt, resolvers: resolvers,
		symbols: map[*module.Module]*symbol.Resolver{}, known: map[place][]profile.Frame{}}
}

// Bounds implements unwind.Functions.
func (n *Names) Bounds(m *module.Module, v module.Vaddr) (start, end module.Vaddr, ok bool) {
	if m.Err != nil {
		return 0, 0, false
	}
	return n.of(m).Bounds(v)
}

// of returns the symbols of m, made once.
func (n *Names) of(m *module.Module) *symbol.Resolver {
	r, ok := n.symbols[m]
	if !ok {
		r = symbol.NewResolver(m)
		n.symbols[m] = r
	}
	return r
}

// Prepare names the frames of all stacks, each module's in one go, so that [Names.Stack] finds
// them known.
func (n *Names) Prepare(stacks []unwind.Stack) {
	queries := map[*module.Module][]symbol.Query{}
	for i := range stacks {
		for j := range stacks[i].Frames {
			f := &stacks[i].Frames[j]
			key := place{f.PC, f.LookupPC()}
			if _, ok := n.known[key]; ok {
				continue
			}
			n.known[key] = n.byResolvers(f)
			if n.known[key] == nil && f.Module != nil && f.Module.Err == nil && !n.opt.NoSymbols {
				queries[f.Module] = append(queries[f.Module], symbol.Query{
					Lookup: f.Module.Vaddr(key.lookup), PC: f.Module.Vaddr(key.pc)})
			}
		}
	}
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
	sort.Slice(ms, func(i, j int) bool { return ms[i].ID < ms[j].ID })
	return ms
}

func (n *Names) ask(m *module.Module, queries []symbol.Query) {
	frames, err := n.of(m).Resolve(queries, symbol.Options{NoInlines: n.opt.NoInlines, NoLines: n.opt.NoLines})
	if err != nil {
		n.problems = append(n.problems, err)
	}
	for i, q := range queries {
		n.known[place{m.Addr(q.PC), m.Addr(q.Lookup)}] = frames[i]
	}
}

func (n *Names) byResolvers(f *unwind.Frame) []profile.Frame {
	for _, r := range n.resolvers {
		if frames := r.Resolve(f); frames != nil {
			return frames
		}
	}
	return nil
}

// Err is what kept names from being found so far, nil if nothing did.
func (n *Names) Err() error { return errors.Join(n.problems...) }

// Stack returns s with names. Frames that [Names.Prepare] has not met are named one by one.
func (n *Names) Stack(s *unwind.Stack) profile.Stack {
	out := profile.Stack{Stop: s.Stop.String(), Complete: s.Stop == unwind.Root}
	if s.Err != nil {
		out.Detail = s.Err.Error()
	}
	for i := range s.Frames {
		out.Frames = append(out.Frames, n.frames(i, &s.Frames[i])...)
	}
	return out
}

// frames returns the logical frames of the physical frame with number index.
func (n *Names) frames(index int, f *unwind.Frame) []profile.Frame {
	key := place{f.PC, f.LookupPC()}
	if _, ok := n.known[key]; !ok {
		n.Prepare([]unwind.Stack{{Frames: []unwind.Frame{*f}}})
	}
	known := n.known[key]
	if len(known) == 0 {
		known = []profile.Frame{n.unnamed(f)}
	}
	out := make([]profile.Frame, len(known))
	for i, k := range known {
		k.Index = index
		k.Module = -1
		if f.Module != nil {
			k.Module = f.Module.ID
		}
		if i == len(known)-1 {
			k.Addr = uint64(f.PC)
			k.Interrupted = f.Interrupted
			k.Origin = f.Origin.String()
			k.Note = f.Note
			if f.Signal {
				k.Kind = profile.Signal
			}
		}
		out[i] = k
	}
	return out
}

// unnamed is a frame of which the address alone is known.
func (n *Names) unnamed(f *unwind.Frame) profile.Frame {
	out := profile.Frame{Kind: profile.Unknown}
	if f.Module != nil {
		out.Kind = profile.Native
		out.ModuleAddr = uint64(f.Module.Vaddr(f.PC))
	}
	return out
}
