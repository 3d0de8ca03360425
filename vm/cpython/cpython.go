// Package cpython reads the frames of Python that CPython runs, 3.8 to 3.15: in python itself, in a libpython, or in a
// program that holds the interpreter.
//
// The interpreter keeps the frames of each thread in a chain. [Runtime.Copy] copies it while the thread is stopped,
// with what names take; [Runtime.Identify] puts the frames among the native ones, each group in front of the call of
// the eval loop that runs it, by addresses on the stack, and names them. What objects hold is package object's matter.
//
// It works for x86-64.
package cpython

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// Runtime is the CPython of one object in one process. Copy may be called beside the goroutine that walks.
type Runtime struct {
	m      *module.Module
	layout *object.Layout
	at     mem.Addr // of _PyRuntime
	live   mem.Reader
	roster atomic.Pointer[roster]
	codes  codes
	sites  sites
	code   *functions // of the interpreter; nil before a stack asks for it
	shape  shape      // of a call of the eval loop

	holders bool        // who holds the GIL is copied with each thread
	set     *module.Set // of the last Mapped
	asyncio *asyncio    // nil if the process has none, or if tasks are not listed
	parked  waiting     // tasks of the last Fibers
	locals  shownLocals // of the last dump
	copied  frameList   // of tasks that wait, of the last CopyProcess
	green   *greenlets
}

var _ interface {
	unwind.Identifier
	unwind.Waypointer
	snapshot.Copier
	Mapped(set *module.Set)      // vm.Mapper
	DumpCopier() snapshot.Copier // vm.DumpCopier
	snapshot.ProcessCopier       // vm.FiberLister
	MoreFibers() snapshot.ProcessCopier
} = (*Runtime)(nil)

// New returns the Runtime of an object that holds CPython, nil if it does not. An error says that it does, and why its
// frames cannot be read.
func New(m *module.Module, image module.Image) (*Runtime, error) {
	v, ok := findRuntime(m)
	if !ok {
		return nil, tooOld(m)
	}
	r := &Runtime{m: m, at: m.Addr(v), live: image.Memory}
	var err error
	if r.layout, err = layoutOf(m, image.Memory, r.at); err != nil {
		return nil, err
	}
	r.green = newGreenlets(r, image)
	r.roster.Store(&roster{})
	r.codes.reset()
	r.sites.reset()
	return r, nil
}

// Mapped reads which threads the interpreter has, while nothing is stopped: it is called when mappings have changed, as
// they do for a new thread.
func (r *Runtime) Mapped(set *module.Set) {
	r.set = set
	if r.live != nil {
		o := r.readRoster(liveMemory{r.live})
		o.placed(set.Table(), r.roster.Load())
		r.roster.Store(o)
	}
}

// MoreFibers implements vm.MoreFibers: greenlets, besides tasks.
func (r *Runtime) MoreFibers() snapshot.ProcessCopier { return r.green }

// String names the runtime in messages.
func (r *Runtime) String() string {
	if r.layout.FreeThreaded {
		return fmt.Sprintf("CPython %v free-threaded", r.layout.Version)
	}
	return fmt.Sprintf("CPython %v", r.layout.Version)
}

// Region implements [unwind.Runtime]: all of its code has tables, or is another's.
func (r *Runtime) Region(mem.Addr) (unwind.Region, bool) { return unwind.Region{}, false }

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame { return r.sites.frames(site) }

const wordSize = 8

// order is that of x86-64, as a type that costs no call.
var order = binary.LittleEndian

// word reads a word of the target.
func word(m mem.Reader, a mem.Addr) (uint64, error) { return mem.Uint(m, a, wordSize, order) }
