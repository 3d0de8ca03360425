// Package cpython reads the frames of Python that CPython runs, 3.8 to 3.15: in python itself, in a libpython, or in a
// program that holds the interpreter.
//
// The interpreter keeps the frames of each thread in a chain. [Runtime.Copy] copies it while the thread is stopped,
// with what names take; [Runtime.Identify] puts the frames among the native ones, each group in front of the call of
// the eval loop that runs it, by addresses on the stack, and names them. What objects hold is package object's matter.
//
// It works for what [machines] has.
package cpython

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/work"
)

// Runtime is the CPython of one object in one process. Copy may be called beside the goroutine that walks.
type Runtime struct {
	m      *module.Module
	arch   *regs.Arch
	layout *object.Layout
	at     mem.Addr // of _PyRuntime
	live   mem.Reader
	roster atomic.Pointer[roster]
	budget *work.Budget // its share of the run's
	codes  *codes
	sites  *sites.Table[spot, spot]
	places sites.Recent[position, object.Place]
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
	unwind.Idler
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
	layout, err := layoutOf(m, image, m.Addr(v))
	if err != nil {
		return nil, err
	}
	r := newRuntime(layout, image)
	r.m, r.at, r.arch = m, m.Addr(v), regs.OfELF(m.Machine(), m.Class())
	return r, nil
}

// newRuntime returns a Runtime that knows of no thread yet.
func newRuntime(l *object.Layout, image module.Image) *Runtime {
	r := &Runtime{arch: regs.AMD64, layout: l, live: image.Memory, budget: image.Budget, codes: newCodes(image.Budget),
		sites:  sites.NewTable[spot, spot](image.Budget, maxSiteBytes),
		places: sites.NewRecent[position, object.Place](image.Budget, maxPlaceBytes)}
	r.green = newGreenlets(r, image)
	r.roster.Store(&roster{})
	return r
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

const wordSize = 8

// order is that of all [machines], as a type that costs no call.
var order = binary.LittleEndian
