// Package hotspot walks and names frames of Java in a HotSpot JVM, without its help and without a flag: interpreted,
// compiled, inlined and native ones, and the JVM's own between them.
//
// The JVM describes its structures to debuggers in tables that each build exports ([vmstructs]): nearly every offset
// comes from them. Its code has no unwind tables: [Runtime.Cross] knows the caller by the size of the frame that a
// piece of code says it has ([codecache]), by the layout of interpreted frames, and in the innermost frame by
// instructions.
// [Runtime.Copy] copies in the stop which code the thread is in, as code may be freed. Methods and classes
// ([metadata]) do not move; objects of the heap ([object]) do.
//
// It works for x86-64 and arm64; what differs is a [port] each. Sources: src/hotspot of the JDK, versions 8 to 28:
// cpu/x86/frame_x86.cpp, cpu/x86/templateInterpreterGenerator_x86.cpp and those of cpu/aarch64, code/nmethod.cpp.
package hotspot

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/hotspot/metadata"
	"github.com/fpstack/fpstack/vm/hotspot/vmstructs"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
	"github.com/fpstack/fpstack/work"
)

// Runtime is the JVM of one object in one process. Copy may be called beside the goroutine that walks.
type Runtime struct {
	port    *port
	m       *module.Module
	symbols vmstructs.Symbols
	live    mem.Reader // the process as it is now
	budget  *work.Budget
	jvm     atomic.Pointer[jvm] // nil before the JVM has begun
	err     error               // why it is not known
	known   known               // of code, for Copy too

	texts   sites.Recent[mem.Addr, string] // names of blobs, which are constants of the JVM
	blobs   sites.Recent[mem.Addr, parsed] // by where they begin
	methods sites.Recent[metadata.Key, *metadata.Method]
	places  sites.Recent[place, placed]
	named   *sites.Table[listed, listed]

	inner  atomic.Pointer[inner] // nil before it is asked for
	roster atomic.Pointer[roster]
	called map[int]called // threads by the kernel's number

	virtual     *virtualLayout // nil for none
	virtualRoom int
	whole       mem.Reader                // of the last Fibers
	parked      map[uint64]*virtualThread // of the last Fibers, by number

	pac  atomic.Uint64 // the same for all threads: what is cleared in a return address, on arm64
	acts []activation  // frames of the walk that goes on, or went last, by number
	// What was read after since of a process that runs, for all threads that ran again before.
	since time.Time
	read  once
	met   map[met]*metadata.Method
}

var _ interface {
	unwind.Runtime
	unwind.Crosser
	unwind.Starter
	unwind.Identifier
	unwind.Idler
	snapshot.Copier
	snapshot.ProcessCopier
	DumpCopier() snapshot.Copier                                                // vm.DumpCopier
	ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread             // vm.ThreadDescriber
	Locks(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) []waits.Lock // vm.LockLister
	Functions(yield func(start, end mem.Addr, name string) bool) error          // vm.FunctionLister
} = (*Runtime)(nil)

// Bounds of what is kept of one JVM, bytes.
const (
	maxTexts   = 256 << 10
	maxBlobs   = 4 << 20
	maxMethods = 16 << 20
	maxPlaces  = 8 << 20
	maxNamed   = 64 << 20
	blobSize   = 512
	placeSize  = 96
	namedSize  = 512
)

// New returns the Runtime of a module that holds a HotSpot JVM, nil if it does not.
func New(m *module.Module, image module.Image) (*Runtime, error) {
	p := portOf(m.Machine())
	if p == nil || image.Memory == nil {
		return nil, nil
	}
	names := symbol.OpenDynamic(m)
	if names == nil {
		return nil, nil
	}
	if _, _, ok := names.Lookup(vmstructs.Root); !ok {
		return nil, nil
	}
	return newRuntime(p, m, func(name string) (mem.Addr, bool) {
		v, _, ok := names.Lookup(name)
		return m.Addr(v), ok
	}, image), nil
}

func newRuntime(p *port, m *module.Module, symbols vmstructs.Symbols, image module.Image) *Runtime {
	b := image.Budget
	r := &Runtime{port: p, m: m, symbols: symbols, live: image.Memory, budget: b,
		texts:   sites.NewRecent[mem.Addr, string](b, maxTexts),
		blobs:   sites.NewRecent[mem.Addr, parsed](b, maxBlobs),
		methods: sites.NewRecent[metadata.Key, *metadata.Method](b, maxMethods),
		places:  sites.NewRecent[place, placed](b, maxPlaces),
		named:   sites.NewTable[listed, listed](b, maxNamed), called: map[int]called{}, met: map[met]*metadata.Method{},
		read: once{from: image.Memory}}
	r.roster.Store(&roster{})
	r.begin()
	return r
}

// begin reads what the JVM says of itself, if it has begun and that is not known yet.
func (r *Runtime) begin() {
	if r.jvm.Load() != nil {
		return
	}
	blocks := mem.NewBlocks(r.live, maxBlocks)
	defer blocks.Hold()()
	v := view.Lasting(blocks, r.budget)
	switch j, err := readJVM(&v, r.symbols, r.port); {
	case err == nil:
		r.jvm.Store(j)
		r.err = nil
	case errors.Is(err, vmstructs.ErrNotReady):
		r.err = nil
	default:
		r.err = err
	}
}

// maxBlocks bounds what is held of the memory while the JVM's tables are read.
const maxBlocks = 1 << 11

// Mapped hears that mappings have changed: the JVM may have begun, and threads. See vm.Mapper.
func (r *Runtime) Mapped(*module.Set) {
	r.begin()
	r.listThreads(false)
}

// String names the runtime in messages.
func (r *Runtime) String() string {
	if j := r.jvm.Load(); j != nil {
		return fmt.Sprintf("Java %d (HotSpot)", j.version)
	}
	return "Java (HotSpot)"
}

// Err is why its frames, or its threads, are not known; nil if they are.
func (r *Runtime) Err() error {
	err := cmp.Or(r.err, r.named.Err())
	if j := r.jvm.Load(); j != nil && err == nil {
		err = j.noThreads
	}
	if err != nil {
		return fmt.Errorf("%v in %q: %w", r, r.m.Path, err)
	}
	return nil
}

// Region implements [unwind.Runtime]. It has no rows: what is at a PC Cross finds out each time.
func (r *Runtime) Region(pc mem.Addr) (unwind.Region, bool) {
	j := r.jvm.Load()
	if j == nil {
		return unwind.Region{}, false
	}
	h := j.heapOf(pc)
	if h == nil {
		return unwind.Region{}, false
	}
	start := r.known.start(j, pc)
	proved := start != 0 && start != j.nowhere() // its code heap may have grown since the mappings were read
	if start == 0 {
		_, err := r.blobAt(r.lasting(), j, pc)
		proved = err == nil
	}
	return unwind.Region{Start: h.Low, End: h.High, Generation: 1, Alike: true, Proved: proved}, true
}

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame { return r.list(site) }

// lasting is memory of the JVM that is neither moved nor freed.
func (r *Runtime) lasting() *view.View {
	v := view.Lasting(r.live, r.budget)
	return &v
}

// signs learns from a thread which bits of return addresses sign them.
func (r *Runtime) signs(t *snapshot.Thread) {
	if t.PACMask != 0 && t.PACMask != r.pac.Load() {
		r.pac.Store(t.PACMask)
	}
}

// unsigned is the return address that a word has.
func (r *Runtime) unsigned(word uint64) mem.Addr { return mem.Addr(regs.StripPAC(word, r.pac.Load())) }

// Start implements [unwind.Starter].
func (r *Runtime) Start(t *snapshot.Thread, _ mem.Reader) {
	r.acts = r.acts[:0]
	r.signs(t)
	if t.Stopped > 0 && t.Time.Add(t.Stopped).Before(r.since) {
		return
	}
	clear(r.met)
	if r.read.had = nil; t.Stopped > 0 { // what a recording stops is another moment each
		r.since, r.read.had = time.Now(), map[piece][]byte{}
	}
}

const wordSize = 8
