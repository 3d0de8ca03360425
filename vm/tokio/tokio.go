// Package tokio lists the tasks of a Rust program's tokio runtime: futures that wait for something, which no thread
// holds, each with the async functions that it is in.
//
// A task is an object on the heap that begins with a header, which leads to a table of functions made by the compiler
// for each type of future. Neither is listed anywhere that is found without debug information. So tables are found by
// their shape in the data of the program ([Runtime.OpenFibers]), and tasks by the address of a table in writable memory
// ([Runtime.Fibers]), while the process runs; that each is a task that lives is shown by its state and by its
// neighbours in the list of its runtime, which lead back to it.
//
// Source: tokio/src/runtime/task/{core,raw,state}.rs of tokio; seen in 1.28.2 and 1.54.1.
package tokio

import (
	"bytes"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/work"
)

// Runtime is the tokio in one module of one process. It is used by the goroutine that walks.
type Runtime struct {
	port    *port
	m       *module.Module
	image   module.Image
	scratch mem.Reader // of the process as it runs
	budget  *work.Budget
	table   *maps.Table
	vtables []vtable
	files   *symbol.Files    // nil for none
	lines   *symbol.Resolver // while fibers are listed
	symbols *symbol.Table
	takes   map[mem.Addr]bool   // functions by which the result of a task is asked for
	names   map[mem.Addr]string // of the futures of tables
	sites   *sites.Table[profile.Frame, profile.Frame]
	stacks  map[uint64]unwind.Stack // of the last Fibers
	held    int64                   // taken from budget for these, bytes
}

// maxSites bounds what is kept of the names of places, bytes.
const maxSites = 16 << 20

// mark is in the read-only data of each program with tokio: in names of its threads and in messages.
var mark = []byte("tokio")

// rustc is in the .comment section of programs that its compiler has made, and in those that are linked with its code.
var rustc = []byte("rustc")

// large is so much read-only data that to search it takes a part of a dump: node has fifty megabytes.
const large = 32 << 20

// worthSearching reports whether n bytes of data may have the mark, in a program with that .comment section: many are
// searched only where a compiler of Rust is named, or nobody. Older versions of rustc do not name themselves: what is
// large and of theirs is not known.
func worthSearching(n int, comment []byte) bool {
	return n < large || len(comment) == 0 || bytes.Contains(comment, rustc)
}

// New returns the Runtime of a module of image that holds tokio, nil if it does not.
func New(m *module.Module, image module.Image) (*Runtime, error) {
	p := ports[m.Machine()]
	if p == nil {
		return nil, nil
	}
	_, data, _ := m.Plain(".rodata")
	_, comment, _ := m.Plain(".comment")
	_, ofGo, _ := m.Plain(".go.buildinfo")
	if len(ofGo) > 0 && !bytes.Contains(comment, rustc) {
		return nil, nil
	}
	if !worthSearching(len(data), comment) || !bytes.Contains(data, mark) {
		return nil, nil
	}
	return newRuntime(m, p, image), nil
}

func newRuntime(m *module.Module, p *port, image module.Image) *Runtime {
	r := &Runtime{m: m, port: p, image: image, scratch: image.Scratch, budget: image.Budget,
		names: map[mem.Addr]string{}, sites: newSites(image.Budget)}
	if r.scratch == nil {
		r.scratch = image.Memory
	}
	return r
}

func newSites(b *work.Budget) *sites.Table[profile.Frame, profile.Frame] {
	return sites.NewTable[profile.Frame, profile.Frame](b, maxSites)
}

// String names the runtime in messages.
func (r *Runtime) String() string { return "tokio" }

// Region implements unwind.Runtime: all code of Rust is in modules.
func (r *Runtime) Region(mem.Addr) (unwind.Region, bool) { return unwind.Region{}, false }

// Mapped implements vm.Mapper.
func (r *Runtime) Mapped(set *module.Set) { r.table = set.Table() }

// Debug implements vm.Debugger.
func (r *Runtime) Debug(files *symbol.Files) { r.files = files }

// openNames opens what names places, until closeNames.
func (r *Runtime) openNames() {
	r.lines = symbol.NewResolver(r.m, r.files)
	r.symbols = r.lines.Table()
}

func (r *Runtime) closeNames() error {
	err := r.lines.Close()
	r.lines, r.symbols = nil, nil
	return err
}

// Err says what is not named for want of memory, nil for nothing.
func (r *Runtime) Err() error { return r.sites.Err() }

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame {
	if f, ok := r.sites.Get(site); ok {
		return []profile.Frame{f}
	}
	return nil
}

// frame is the frame of a stack that stands for f.
func (r *Runtime) frame(f profile.Frame) unwind.Frame {
	out := unwind.Frame{Origin: unwind.ByRuntime, Runtime: r, Note: f.Note}
	f.Note, f.Module = "", -1
	var ok bool
	if out.Site, ok = r.sites.Find(f); !ok {
		out.Site = r.sites.Add(f, f, siteCost+len(f.Func)+len(f.File))
	}
	return out
}

const siteCost = 512
