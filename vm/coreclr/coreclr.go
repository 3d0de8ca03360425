// Package coreclr walks and names managed code of .NET (CoreCLR) processes, without their help: whether the runtime is
// a library or part of a single-file program.
//
// The runtime keeps where its code is in a map of ranges, and beside each method which one it is and how its frames
// are unwound. [Runtime.Copy] copies that for the frames of a stopped thread, as code can be freed; rows come from the
// unwind codes of Windows, which the runtime uses on Linux too, and [Runtime.Identify] finds method, type and generic
// arguments. From .NET 10 on the runtime describes these structures itself (its data contracts); for those before
// there are tables of offsets.
//
// It works for x86-64. Programs that were compiled ahead of time as a whole (NativeAOT) are native code: this package
// tells them ([AheadOfTime]), and reads nothing of them.
//
// Sources: docs/design/datacontracts and src/coreclr of dotnet/runtime, versions 8.0 to 10.0.
package coreclr

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/fpstack/fpstack/hang/waits"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// Runtime is the CoreCLR of one object in one process. Copy may be called beside the goroutine that walks.
type Runtime struct {
	o      *object
	slots  mem.Addr // the table for the debugger: addresses of the runtime's variables
	layout *layout
	memory mem.Reader // the process as it is now
	budget *work.Budget
	table  *maps.Table // mappings, as of the last Mapped
	// sections are for Copy too.
	sections atomic.Pointer[sections]
	lasting  lasting
	domain   atomic.Uint64 // the application domain, for Copy; 0 before it is known
	err      error         // why sections are not all there
	images   map[mem.Addr]*r2rImage
	modules  map[mem.Addr]*Module
	metadata *pages // for names: a module that is replaced is another mapping
	codes    codes
	sites    sites
	names    *namer
	types    int // that were read of the method that is identified
	// view is the memory of the walk that goes on, or went last; missed says that it met code in no section, so that
	// they were read again.
	view   mem.Reader
	missed bool
	// skip is how many walks that meet such code read nothing again, skips how many the last time.
	skip, skips int
	walked      int   // id of its thread, as the process calls it
	trip        *trip // nil before a walk has come to it
}

var _ interface {
	unwind.RowSource
	unwind.Starter
	unwind.Identifier
	unwind.Crosser
	snapshot.Copier
	Functions(yield func(start, end mem.Addr, name string) bool) error // vm.FunctionLister
	Locks(s *snapshot.Snapshot, memory mem.Reader) []waits.Lock        // vm.LockLister
	Joins(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) []waits.Lock
	ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread // vm.ThreadDescriber
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
		c, err = readContract(image.Memory, m.Addr(o.contract))
	}
	l, unknown := layoutOf(o.version, c)
	if unknown != nil {
		return nil, errors.Join(unknown, err)
	}
	r := newRuntime(o, m.Addr(o.table), l, image, m.Budget())
	r.err = err
	return r, nil
}

// newRuntime returns the Runtime with that layout, whose table for the debugger is at slots.
func newRuntime(o *object, slots mem.Addr, l *layout, image module.Image, b *work.Budget) *Runtime {
	r := &Runtime{o: o, slots: slots, layout: l, memory: image.Memory, budget: b, images: map[mem.Addr]*r2rImage{},
		modules: map[mem.Addr]*Module{}, metadata: newPages(image.Memory)}
	r.names = newNamer(r.metadata, image.Path, b)
	r.sections.Store(&sections{})
	r.codes.reset()
	r.sites.reset()
	return r
}

// String names the runtime in messages.
func (r *Runtime) String() string { return fmt.Sprintf(".NET %v", r.o.version) }

// Err is why some code or lines are not known; nil if all are.
func (r *Runtime) Err() error {
	err := errors.Join(r.err, r.names.err())
	if err == nil {
		return nil
	}
	return fmt.Errorf("%v in %q: %w", r, r.o.m.Path, err)
}

// Mapped hears which mappings the process has now: see vm.Mapper.
func (r *Runtime) Mapped(set *module.Set) {
	r.table = set.Table()
	r.metadata.forget()
	r.readSections()
}

// readSections reads where code is, as of now.
func (r *Runtime) readSections() {
	// The first entry of the table for the debugger is the map of ranges.
	// Source: src/coreclr/inc/dacvars.h.
	f := fields{m: r.memory, at: r.slots}
	at := mem.Addr(f.word(0))
	switch {
	case f.err != nil:
		r.err = f.err
	case at != 0: // else the runtime has just begun
		var s *sections
		s, r.err = readSections(r.memory, r.layout, at)
		r.sections.Store(s)
		domain, _ := r.variable(r.layout.domain)
		r.domain.Store(uint64(domain))
	}
}

// Start implements [unwind.Starter].
func (r *Runtime) Start(t *snapshot.Thread, m mem.Reader) {
	r.view, r.missed, r.walked = &view{m, r.memory}, false, t.InnerTID()
}

// view is memory that code is looked up in: what was copied while the thread was stopped, and the process as it is now
// for what was not.
type view struct{ copied, live mem.Reader }

// ReadMem implements mem.Reader.
func (v *view) ReadMem(b []byte, addr mem.Addr) (int, error) {
	if o, ok := v.copied.(*mem.Overlay); ok && !o.Holds(addr, len(b)) {
		return v.live.ReadMem(b, addr)
	}
	return v.copied.ReadMem(b, addr)
}

// holds reports whether the bytes were copied while the thread was stopped.
func (v *view) holds(addr mem.Addr, n int) bool {
	o, ok := v.copied.(*mem.Overlay)
	return !ok || o.Holds(addr, n)
}
