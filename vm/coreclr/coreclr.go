// Package coreclr walks and names managed code of .NET (CoreCLR) processes, without their help: whether the runtime is
// a library or part of a single-file program.
//
// The runtime keeps where its code is in a map of ranges, and beside each method which one it is and how its frames
// are unwound. [Runtime.Copy] copies that for the frames of a stopped thread, as code can be freed; rows come from the
// unwind codes of Windows, which the runtime uses on Linux too, and [Runtime.Identify] finds method, type and generic
// arguments. From .NET 10 on the runtime describes these structures itself (its data contracts); for those before
// there are tables of offsets.
//
// It works for x86-64 and arm64. Programs that were compiled ahead of time as a whole (NativeAOT) are native code: this
// package tells them ([AheadOfTime]), and reads nothing of them.
//
// Sources: docs/design/datacontracts and src/coreclr of dotnet/runtime, versions 8.0 to 10.0.
package coreclr

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
	"github.com/fpstack/fpstack/work"
)

// Runtime is the CoreCLR of one object in one process. Copy may be called beside the goroutine that walks.
type Runtime struct {
	o      *object
	slots  mem.Addr // the table for the debugger: addresses of the runtime's variables
	layout *layout
	live   mem.Reader // the process as it is now
	budget *work.Budget
	table  *maps.Table // mappings, as of the last Mapped
	// sections are for Copy too.
	sections atomic.Pointer[sections]
	known    known
	domain   atomic.Uint64   // the application domain, for Copy; 0 before it is known
	err      error           // of the descriptor
	looked   map[string]bool // libraries that were looked at; nil: none are, as in a core
	profiler error           // that one of them is a profiler
	images   sites.Recent[imageKey, *r2rImage]
	modules  sites.Recent[moduleKey, *knownModule]
	codes    codes
	places   sites.Recent[place, unwind.Site]
	executed *sites.Table[execution, *executed]
	names    *namer
	types    int // that were read of the method that is identified
	// walk is the memory of the walk that goes on, or went last: what was copied, over the process as it is now.
	// lasting is what neither moves nor is freed while a module is loaded: images and what is known of modules.
	walk, lasting  view.View
	walks          int   // that were begun
	again          retry // to read sections for code that is in none
	walked         int   // id of the thread of the last walk, as the process calls it
	trip           *trip // nil before a walk has come to it
	searched       suspended.Memory
	suspended.List // of async methods
}

var _ interface {
	unwind.RowSource
	unwind.Starter
	unwind.Identifier
	unwind.Crosser
	snapshot.Copier
	Functions(yield func(start, end mem.Addr, name string) bool) error // vm.FunctionLister
	Locks(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) []waits.Lock
	ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread // vm.ThreadDescriber
	unwind.Idler
} = (*Runtime)(nil)

// New returns the Runtime of a module that holds CoreCLR, nil if it does not. An error says that it does, and why its
// frames cannot be read.
func New(m *module.Module, image module.Image) (*Runtime, error) {
	o := recognise(m)
	if o == nil || image.Memory == nil {
		return nil, nil
	}
	var c *contract
	var err error
	if o.hasContract {
		v := view.Lasting(image.Memory, image.Budget)
		c, err = readContract(&v, m.Addr(o.contract))
	}
	l, unknown := layoutOf(o, c)
	if unknown != nil {
		return nil, errors.Join(unknown, err)
	}
	r := newRuntime(o, m.Addr(o.table), l, image)
	r.err = err
	return r, nil
}

// Bounds of what is kept of one process, bytes.
const (
	maxImages   = 4 << 20
	maxModules  = 4 << 20
	maxPlaces   = 8 << 20
	maxExecuted = 32 << 20
)

// newRuntime returns the Runtime with that layout, whose table for the debugger is at slots.
func newRuntime(o *object, slots mem.Addr, l *layout, image module.Image) *Runtime {
	b := image.Budget
	r := &Runtime{o: o, slots: slots, layout: l, live: image.Memory, budget: b,
		images: sites.NewRecent[imageKey, *r2rImage](b, maxImages), codes: newCodes(b),
		modules:  sites.NewRecent[moduleKey, *knownModule](b, maxModules),
		places:   sites.NewRecent[place, unwind.Site](b, maxPlaces),
		executed: sites.NewTable[execution, *executed](b, maxExecuted)}
	r.searched = suspended.Of(image)
	r.names = newNamer(image.Memory, image.Path, b)
	if image.Live != nil {
		r.looked = map[string]bool{}
	}
	r.sections.Store(&sections{})
	r.begin(nil)
	return r
}

// String names the runtime in messages.
func (r *Runtime) String() string { return fmt.Sprintf(".NET %v", r.o.version) }

// Err is why some code or lines are not known; nil if all are.
func (r *Runtime) Err() error {
	err := errors.Join(r.err, r.profiler, r.sections.Load().err, r.executed.Err(), r.names.err())
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v in %q: %w", r, r.o.m.Path, err)
}

// Mapped hears which mappings the process has now: see vm.Mapper.
func (r *Runtime) Mapped(set *module.Set) {
	r.table = set.Table()
	r.findProfiler(set)
	r.readSections()
}

// readSections reads where code is, as of now.
func (r *Runtime) readSections() {
	// The first entry of the table for the debugger is the map of ranges.
	// Source: src/coreclr/inc/dacvars.h.
	v := view.Over(nil, r.live, r.budget)
	at, err := v.Word(r.slots)
	switch {
	case err != nil:
		s := *r.sections.Load()
		s.err = fmt.Errorf("read where its code is: %w", err)
		r.sections.Store(&s)
	case at != 0: // else the runtime has just begun
		s := readSections(v, r.layout, mem.Addr(at))
		for i := range s.list {
			x := &s.list[i]
			key := *x
			key.heap.end = 0 // it grows
			x.id = numbered(&r.codes, &r.codes.sections, key, codeSize)
		}
		r.sections.Store(s)
		if domain, err := r.variable(r.layout.domain); err == nil {
			r.domain.Store(uint64(domain))
		}
	}
}

// Start implements [unwind.Starter].
func (r *Runtime) Start(t *snapshot.Thread, m mem.Reader) {
	r.begin(m)
	r.walked = t.InnerTID()
}

// stackSteps bounds what is read for one stack: some ten thousand places that were not met before.
const stackSteps = 256 << 20

// begin begins a moment whose memory is m over that of the process: what one moment was refused another may have.
func (r *Runtime) begin(m mem.Reader) {
	r.walks++
	r.walk, r.lasting = view.Over(m, r.live, r.budget), view.Lasting(r.live, r.budget)
	r.walk.Within(stackSteps)
	r.names.walks = r.walks
}
