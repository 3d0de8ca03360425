// Package coroutine lists the coroutines of C++20 that wait: functions whose frame is an object on the heap, which no
// thread has on its stack and no list has.
//
// A frame begins with two pointers to functions that the compiler makes of each coroutine: one that lets it go on, one
// that ends it. Those functions are known by their symbols, or, where there are none, by the code that puts both into a
// new frame and by what they do with it ([Runtime.OpenFibers]). Frames are then searched for in writable memory by the
// first pointer ([Runtime.Fibers]), while the process runs. Where one waits is the number of a place in the frame: what
// the first function does with it a dry run shows, in which nothing of the process is written or run. Who waits for
// whom is shown by whose frame a dry run comes to next, and by the pointers of frames to one another.
//
// A frame that has come to its end has no first pointer. One that was freed has another word there, as glibc puts its
// own into what is free, unless that was joined with its neighbours: of a frame to which nothing leads it is not known
// whether it lives.
//
// Source: the ABI that GCC, Clang and MSVC share: "C++ Coroutines: the frame" in clang/docs/DebuggingCoroutines.rst of
// LLVM and gcc/cp/coroutines.cc of GCC. Seen: GCC 12, Clang 14 and 19.
package coroutine

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/work"
)

// Runtime is the coroutines of one module of one process. It is used by the goroutine that walks.
type Runtime struct {
	m        *module.Module
	port     *port
	budget   *work.Budget
	table    *maps.Table
	searched suspended.Memory
	keep     func(mem.Range)
	suspended.List
	kinds   []kind
	places  map[placeKey]*place
	isPlace map[placeKey]bool // of numbers that were found
	refused error             // why a dry run has ended early, for want of work that may be done
	sites   *sites.Table[profile.Frame, profile.Frame]
}

// maxSites bounds what is kept of the names of places, bytes.
const maxSites = 16 << 20

var order = binary.LittleEndian

// New returns the Runtime of a module of image that may have coroutines, nil if it has none.
func New(m *module.Module, image module.Image) (*Runtime, error) {
	p := ports[m.Machine()]
	if p == nil || m.VDSO || !mayHave(m) {
		return nil, nil
	}
	return newRuntime(m, p, image), nil
}

func newRuntime(m *module.Module, p *port, image module.Image) *Runtime {
	return &Runtime{m: m, port: p, budget: image.Budget, searched: suspended.Of(image), keep: image.Keep,
		places: map[placeKey]*place{}, isPlace: map[placeKey]bool{},
		sites: sites.NewTable[profile.Frame, profile.Frame](image.Budget, maxSites)}
}

// String names the runtime in messages.
func (r *Runtime) String() string { return "C++" }

// Region implements unwind.Runtime: all code of coroutines is in modules.
func (r *Runtime) Region(mem.Addr) (unwind.Region, bool) { return unwind.Region{}, false }

// Mapped implements vm.Mapper.
func (r *Runtime) Mapped(set *module.Set) { r.table = set.Table() }

// Err says what is not named for want of memory, nil for nothing.
func (r *Runtime) Err() error { return r.sites.Err() }

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame {
	if f, ok := r.sites.Get(site); ok {
		return []profile.Frame{f}
	}
	return nil
}

// OpenFibers implements vm.FiberLister: it finds which coroutines the program has.
func (r *Runtime) OpenFibers() (present bool, err error) {
	if !r.searched.CanBeSearched() {
		return false, nil
	}
	r.kinds, err = r.findKinds()
	if err == nil {
		err = r.refused
	}
	if err != nil {
		err = fmt.Errorf("find coroutines of C++: %w", err)
	}
	return len(r.kinds) > 0, err
}
