// Package vm recognises the runtimes that a process has, by its modules or by the process as a whole, and has the
// table of those that are known.
//
// It opens no process: the caller gives it modules, passes what it recognised to the walk (unwind.Walker.Use) and its
// Copiers to what stops the threads.
package vm

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/jit/codelog"
	"github.com/fpstack/fpstack/jit/jitdump"
	"github.com/fpstack/fpstack/jit/perfmap"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/symbol/sourcemap"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/coreclr"
	"github.com/fpstack/fpstack/vm/coroutine"
	"github.com/fpstack/fpstack/vm/cpython"
	"github.com/fpstack/fpstack/vm/golang"
	"github.com/fpstack/fpstack/vm/hotspot"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/vm/tokio"
	v8 "github.com/fpstack/fpstack/vm/v8"
	"github.com/fpstack/fpstack/vm/wasmtime"
	"github.com/fpstack/fpstack/work"
)

// Kind is a kind of runtime: New is set, or Whole.
type Kind struct {
	Name string
	// Files are what names of files begin with that may hold it, besides the program itself.
	Files []string
	// New returns the runtime that m holds, nil if it holds none of this kind. An error says that it does, and why it
	// cannot be made. It may read the image now, before the threads are stopped: what it reads of the memory is kept
	// with a snapshot. It keeps the image, if it wants, for words that do not move.
	New func(m *module.Module, image module.Image) (unwind.Runtime, error)
	// Whole makes what looks for a runtime that no module shows: code in mappings without a file, code that is named
	// by a file which the process writes. It is called once for each process, and reads nothing yet. It keeps the
	// image, if it wants.
	Whole func(image module.Image) Whole
}

// FiberLister is a runtime that schedules threads of its own on those of the kernel.
//
// One that is a [snapshot.ProcessCopier] too has what it needs copied while the process is stopped. Another reads it
// from the process as it runs again.
type FiberLister interface {
	// FiberKind is what the runtime calls one: "goroutine".
	FiberKind() string
	// OpenFibers learns whether the process has any, and where, before it is stopped; without it there are none. An
	// error says why they cannot be listed.
	OpenFibers() (present bool, err error)
	// Fibers lists those that s shows, in the runtime's own order. An error says which are missing.
	Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error)
}

// ErrChanged is what an error of [FiberLister.Fibers] wraps that says what the process has done while it was looked at.
var ErrChanged = moment.ErrChanged

// MoreFibers is a FiberLister that has fibers of a second kind too: what it returns is the FiberLister of those.
type MoreFibers interface{ MoreFibers() snapshot.ProcessCopier }

// FiberStacker is a FiberLister whose fibers have no stack that could be walked while no thread runs them: it says
// which functions they are in.
type FiberStacker interface {
	// FiberStack makes to the stack of the fiber with that id, of those that Fibers listed last, if it has one. Its
	// Frames are to be appended to.
	FiberStack(id uint64, to *unwind.Stack)
}

// Whole is a runtime that belongs to a process as a whole. It is used by the goroutine that walks.
type Whole interface {
	unwind.Runtime
	// Scan hears the modules and mappings that the process has, before it is stopped and whenever they have changed.
	// It reports whether the process has such code: while it has none nothing else of the runtime is used. What it
	// reads of the memory is kept with a snapshot. An error says what it has and cannot be used; the rest is.
	Scan(set *module.Set) (present bool, err error)
}

// FunctionLister is a runtime that can list the code that it knows.
type FunctionLister interface {
	// Functions gives yield each function that there is now, [start, end) and its name, which may hold any bytes, until
	// it returns false. An error says why not all are there. It may read the image, and takes its time: nothing may be
	// stopped.
	Functions(yield func(start, end mem.Addr, name string) bool) error
}

// Kinds are the kinds that are known. Of several that know the same code the first names it: those that read it out
// of the runtime come before those that read files for profilers.
var Kinds = []Kind{
	{Name: "Go", New: func(m *module.Module, image module.Image) (unwind.Runtime, error) {
		return made(golang.New(m, image))
	}},
	{Name: "V8", Files: []string{"libnode", "libv8"},
		New: func(m *module.Module, image module.Image) (unwind.Runtime, error) { return made(v8.New(m, image)) }},
	{Name: ".NET", Files: []string{"libcoreclr.so"},
		New: func(m *module.Module, image module.Image) (unwind.Runtime, error) { return made(coreclr.New(m, image)) }},
	{Name: "CPython", Files: []string{"libpython"},
		New: func(m *module.Module, image module.Image) (unwind.Runtime, error) { return made(cpython.New(m, image)) }},
	{Name: "HotSpot", Files: []string{"libjvm.so"},
		New: func(m *module.Module, image module.Image) (unwind.Runtime, error) { return made(hotspot.New(m, image)) }},
	{Name: "C++",
		New: func(m *module.Module, image module.Image) (unwind.Runtime, error) {
			return made(coroutine.New(m, image))
		}},
	{Name: "tokio",
		New: func(m *module.Module, image module.Image) (unwind.Runtime, error) { return made(tokio.New(m, image)) }},
	{Name: "wasmtime", Whole: func(i module.Image) Whole { return wasmtime.New(i) }},
	{Name: jitLogs, Whole: func(image module.Image) Whole {
		return codelog.New(jitLogs, image, jitdump.Format{}, perfmap.Format{})
	}},
}

// Translator is a runtime of a language that is made from others. maps is [sourcemap.Files.Map], or
// [sourcemap.Files.Inside] where ofFiles is false: then maps of texts that are as their files have them are not wanted.
type Translator interface {
	Translate(maps func(file, link string) *sourcemap.Map, ofFiles bool)
}

// Mapper is a runtime of a module that has code elsewhere too: it hears all mappings of the process when it was made,
// and whenever they have changed.
type Mapper interface {
	Mapped(set *module.Set)
}

const jitLogs = "jitdump or perf map"

// made keeps a nil pointer from becoming a Runtime that is not nil.
func made[R any, P interface {
	*R
	unwind.Runtime
}](r P, err error) (unwind.Runtime, error) {
	if r == nil {
		return nil, err
	}
	return r, err
}

// Table recognises modules, and keeps by build id which of them hold no runtime. It is for one goroutine at a time.
type Table struct {
	kinds  []Kind
	none   map[string]bool
	budget *work.Budget

	holders   bool
	translate bool
	debug     *symbol.Files
}

// NewTable returns a Table of those kinds. What runtimes read and keep of a process is taken from b.
func NewTable(kinds []Kind, b *work.Budget) *Table {
	return &Table{kinds: kinds, none: map[string]bool{}, budget: b}
}

// CopyHolders makes the runtimes of each Process made from now on copy with each thread who has the lock of its
// interpreter: see [Process.HoldsLock].
func (t *Table) CopyHolders() { t.holders = true }

// Translate makes the runtimes of each Process made from now on show the places that all source maps name, not only
// those inside of texts that were made in memory. They are read in the view of the process when they are wanted.
func (t *Table) Translate() { t.translate = true }

// Debug lets runtimes of each Process made from now on name places by debug files too.
func (t *Table) Debug(files *symbol.Files) { t.debug = files }

// Debugger is a runtime that names places by debug files.
type Debugger interface {
	Debug(files *symbol.Files)
}

// maxNone bounds the modules that are remembered.
const maxNone = 1 << 12

// Recognise returns the runtimes that m, a module of image, holds: a program may have several. An error says which of
// them cannot be used; the others are returned with it.
func (t *Table) Recognise(m *module.Module, image module.Image) ([]unwind.Runtime, error) {
	id := m.BuildID()
	if m.Err != nil || m.Made() || id != "" && t.none[id] {
		return nil, nil
	}
	var all []unwind.Runtime
	var errs []error
	for i := range t.kinds {
		if t.kinds[i].New == nil {
			continue
		}
		switch r, err := t.kinds[i].New(m, image); {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s in %q: %w", t.kinds[i].Name, m.Path, err))
		case r != nil:
			all = append(all, r)
		}
	}
	if len(all)+len(errs) > 0 {
		return all, errors.Join(errs...)
	}
	if len(t.none) >= maxNone {
		clear(t.none)
	}
	t.none[id] = true
	return nil, nil
}
