// Package v8 reads the frames of JavaScript that V8 runs: in Node.js, and in other programs that hold V8 with its
// debugging symbols.
//
// V8's code has no unwind tables: machine code that it makes while the program runs, and the builtins, which are part
// of the program. All of it keeps a frame pointer, so that [Runtime.Row] knows the caller of every frame but the
// innermost, and [Runtime.Cross] reads instructions and stack there. [Runtime.Copy] copies the functions of the frames
// while the thread is stopped, [Runtime.Identify] finds what they execute when it runs again, and checks what it reads
// then by what was copied. What the objects of the heap hold is package heap's matter.
//
// What it does of a machine is in amd64.go and arm64.go. Sources: src/execution/frame-constants.h,
// src/builtins/x64/builtins-x64.cc and src/objects/code.h of V8, versions 9.4 to 14.6.
package v8

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol/sourcemap"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/v8/node"
	"github.com/fpstack/fpstack/vm/v8/wasm"
	"github.com/fpstack/fpstack/work"
)

// Runtime is the V8 of one object in one process, with all its isolates. Copy may be called beside the goroutine that
// walks.
type Runtime struct {
	m        *module.Module // the first place where the object was met: its code may be mapped at others too
	port     *port
	layout   *heap.Layout
	builtins *builtins
	live     mem.Reader // the process as it is now; nil where it is not to be had
	areas    atomic.Pointer[areas]
	budget   *work.Budget
	returns  atomic.Pointer[deoptReturns] // nil before the builtins were read
	types    typeCache
	codes    codeCache
	sites    book
	// proved are the areas of code that was made in which code of V8 was met, foreign PCs where there was none.
	proved  map[maps.Span]bool
	foreign sites.Recent[mem.Addr, time.Time]
	node    node.Layout
	wasm    wasm.Codes
	// maps finds source maps; nil where there are no files. ofFiles: also those of texts that their files have.
	maps    func(file, link string) *sourcemap.Map
	ofFiles bool
	look    func(path string) (*module.File, error) // opens files to compare; nil where there are none

	searched       suspended.Memory
	table          *maps.Table
	suspended.List // of async functions
}

var _ interface {
	unwind.Runtime
	unwind.RowSource
	unwind.Crosser
	unwind.Identifier
	snapshot.Copier
	Functions(yield func(start, end mem.Addr, name string) bool) error // vm.FunctionLister
	DumpCopier() snapshot.Copier                                       // vm.DumpCopier
} = (*Runtime)(nil)

// New returns the Runtime of an object that holds V8, nil if it does not. An error says that it does, and why its
// frames cannot be read. Which code is V8's is known after [Runtime.Mapped].
func New(m *module.Module, image module.Image) (*Runtime, error) {
	port := portOf(m)
	if port == nil {
		return nil, nil
	}
	tables, err := findTables(m, port)
	switch {
	case err != nil:
		return nil, err
	case tables == nil:
		return nil, nil
	}
	defer tables.dynamic.Forget()
	layout, err := heap.Read(func(name string) (int32, bool) {
		n, ok := tables.constant(name)
		if other, known := port.fallback[name]; !ok && known {
			return other, true
		}
		return n, ok
	})
	switch {
	case errors.Is(err, heap.ErrNotV8):
		return nil, nil
	case err != nil:
		return nil, err
	}
	r := newRuntime(layout, tables.builtins(), image.Budget)
	r.port = port
	r.m, r.live, r.node, r.look = m, image.Memory, tables.node(), image.Look
	r.searched = suspended.Of(image)
	return r, nil
}

// newRuntime is one without code and memory.
func newRuntime(l *heap.Layout, builtins *builtins, b *work.Budget) *Runtime {
	r := &Runtime{port: &onAMD64, layout: l, builtins: builtins, budget: b, types: newTypeCache(b),
		codes: newCodeCache(b),
		sites: newBook(b), wasm: wasm.New(b), proved: map[maps.Span]bool{},
		foreign: sites.NewRecent[mem.Addr, time.Time](b, maxForeign)}
	r.areas.Store(&areas{})
	return r
}

// Translate implements vm.Translator: r shows where places come from by the maps that are found, in place of the
// JavaScript that V8 runs. It is called before the first name is wanted.
func (r *Runtime) Translate(maps func(file, link string) *sourcemap.Map, ofFiles bool) {
	r.maps, r.ofFiles = maps, ofFiles
}

// String names the runtime in messages.
func (r *Runtime) String() string { return fmt.Sprintf("V8 %v", r.layout.Version) }

// Err is why builtins are not known, that this V8 was not tried, and how many frames there was no room for; nil if all
// is known that was wanted.
func (r *Runtime) Err() error {
	errs := []error{r.sites.named.Err()}
	if why := r.layout.Untried(); why != "" {
		errs = append(errs, fmt.Errorf("%v in %q: %s", r, r.m.Path, why))
	}
	if r.builtins.err != nil {
		errs = append(errs, fmt.Errorf("V8 in %q: read its builtins: %w", r.m.Path, r.builtins.err))
	}
	return errors.Join(errs...)
}

// Region implements [unwind.Runtime]. All that a mapping of the process's own code holds is one Region: where a
// function was replaced is seen by its instructions.
func (r *Runtime) Region(pc mem.Addr) (unwind.Region, bool) {
	a := r.areas.Load().find(pc)
	if a == nil || !r.ours(a, pc) {
		return unwind.Region{}, false
	}
	return unwind.Region{Start: a.start, End: a.end, Generation: 1, Alike: true}, true
}

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame { return r.sites.frames(site) }

// maxForeign bounds the PCs that are remembered to be of others, bytes.
const maxForeign = 1 << 20

const wordSize = 8

// order is that of each port, as a type that costs no call.
var order = binary.LittleEndian
