package sampler

import (
	"encoding/binary"
	"io"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

const (
	// mapsEvery is how often the mappings of a process that runs are read again.
	mapsEvery = time.Second
	// firstCut is how soon they are read again because a walk was cut.
	firstCut = 2 * time.Millisecond
	// mapsCost bounds what reading them may take: a fiftieth of the time.
	mapsCost = 50
	// readingShare is the part of the time, one in so many, that reading tables and code may take in the long run.
	readingShare = 20
	// maxUnmapped is how many modules of one program are kept ready that it has unmapped: it may load one of them
	// again.
	maxUnmapped = 64
	// maxKnown bounds the sleeping stacks remembered of one program.
	maxKnown = 1 << 13
)

// program is what one process runs from one exec to the next. It belongs to the counting
// goroutine, but for table.
type program struct {
	number int32
	main   bool // of the first process
	image  image
	begun  time.Duration              // when it was first seen
	table  atomic.Pointer[maps.Table] // as read last

	runtimes Runtimes // nil for none
	made     map[madeSite]int32
	set      *module.Set
	walker   walker
	memory   mem.Overlay   // of the walk under way
	ranges   []mem.Range   // of memory
	renewed  time.Duration // when the walker last heard that time passes
	places   map[*module.Module]int32
	known    map[uint64]profile.NodeID // sleeping stacks by what is on them
	hopeless map[mem.Addr]bool         // where a walk without a stop ends, and one with it too
	calls    map[mem.Addr]int64        // the calls that go on by restart_syscall, by PC
	read     time.Duration             // when the mappings were read last
	cost     time.Duration             // and how long that took
	cutEvery time.Duration             // how often they are read again because a walk was cut
	closed   bool
	doubt    bool // the last walk was cut, and the mappings may be older than that stack
}

func newProgram(number int32, p image, table *maps.Table, now time.Duration, runtimes Runtimes) *program {
	g := &program{number: number, image: p, begun: now, runtimes: runtimes, read: now, cutEvery: firstCut,
		places: map[*module.Module]int32{}, made: map[madeSite]int32{}, known: map[uint64]profile.NodeID{},
		hopeless: map[mem.Addr]bool{}, calls: map[mem.Addr]int64{}}
	g.table.Store(table)
	return g
}

// open makes what the first walk needs.
func (g *program) open(c *counter) {
	if g.set != nil {
		return
	}
	g.set = module.NewSet(g.table.Load(), c.files.Image(g.image.Image()))
	g.set.Charge(c.opt.Names.Budget)
	g.set.Keep(maxUnmapped)
	if g.runtimes == nil {
		g.walker = g.image.Walker(g.set, c.bounds, nil)
		return
	}
	g.runtimes.Scan(g.set)
	g.walker = g.image.Walker(g.set, c.bounds, g.runtimes)
}

// close drops what only walks need. Modules that the book holds stay; where a recording stays longer than its programs
// what reading them held of the budget comes back.
func (g *program) close(stay bool) {
	if c, ok := g.runtimes.(io.Closer); ok {
		c.Close()
	}
	if stay && g.set != nil {
		g.set.Release()
	}
	g.closed = true
	g.set, g.walker, g.places, g.known, g.made = nil, nil, nil, nil, nil
}

// prepare makes c ready for a sample of a thread of g: what its runtimes need is copied too.
func (g *program) prepare(c *tracer.Copy) *tracer.Copy {
	c.Copiers = nil
	if g.runtimes != nil {
		c.Copiers = g.runtimes.Copiers()
	}
	return c
}

// refresh reads the mappings again if they are older than age, but not so often that it costs
// much. It reports whether they were read.
func (g *program) refresh(age, now time.Duration, clock func() time.Duration) bool {
	if now-g.read < max(age, mapsCost*g.cost) {
		return false
	}
	began := clock()
	table, err := g.image.Maps()
	g.set.Budget().Earn(int64(now-g.read) / readingShare) // a step is about a nanosecond
	g.read, g.cost = now, clock()-began
	if err != nil || !g.same(table) {
		return false
	}
	g.table.Store(table)
	g.set.Update(table)
	clear(g.calls)
	if len(g.places) > 2*len(g.set.All()) { // of modules that are forgotten: the book knows their numbers
		clear(g.places)
	}
	return true
}

// renewEvery is how long what is known of code that no file holds is believed: a JIT compiler
// may write other code to the same place.
const renewEvery = 5 * time.Millisecond

// gentleMaps is mapsEvery where each reading counts.
const gentleMaps = 10 * time.Second

// mapsAge is how old the mappings of a process that runs may be.
func (o *Options) mapsAge() time.Duration {
	if o.Gentle {
		return gentleMaps
	}
	return mapsEvery
}

// same reports whether a table is of the program still, as an exec may have come between.
func (g *program) same(*maps.Table) bool { return !g.image.Replaced() }

// walk walks what was copied into s. It reads the mappings again if the innermost frame or the
// stack lies in none.
func (g *program) walk(c *counter, s *unwind.Stack, t *snapshot.Thread, stale bool) {
	g.open(c)
	now := c.clock()
	g.refresh(c.opt.mapsAge(), now, c.clock)
	if stale || g.strange(t) {
		g.refresh(0, now, c.clock)
	}
	if now-g.renewed >= renewEvery {
		g.renewed = now
		g.walker.Renew()
	}
	memory := &g.memory
	g.ranges = append(append(g.ranges[:0], t.Stack), t.Copied...)
	memory.Reset(g.image, g.ranges...)
	opt := unwind.Options{Mode: c.opt.Unwind, MaxFrames: c.opt.MaxFrames}
	g.walker.WalkInto(s, t, memory, opt)
	// A program that has just begun maps its libraries bit by bit. Where that does not help,
	// it is tried less and less often.
	g.doubt = cut(s) && g.read < now
	age := g.cutEvery
	if g.outside(s) {
		age = 0 // a JIT compiler has made more memory executable
	}
	if g.doubt && g.refresh(age, now, c.clock) {
		g.doubt = false
		g.walker.WalkInto(s, t, memory, opt)
		if g.cutEvery = firstCut; cut(s) {
			g.cutEvery = min(2*age+firstCut, mapsEvery)
		}
	}
}

// outside reports whether the outermost frame of s is in memory that was not executable when mappings were read last.
func (g *program) outside(s *unwind.Stack) bool {
	if len(s.Frames) == 0 {
		return false
	}
	m := g.table.Load().Find(s.Frames[len(s.Frames)-1].LookupPC())
	return m == nil || m.Perm&maps.Exec == 0
}

// callNumber is the number of the call that a thread sleeps in, also where our stop, or somebody else's, made it one
// that goes on by restart_syscall.
func (g *program) callNumber(c *counter, arch *regs.Arch, call *snapshot.Syscall) int64 {
	return resolve.CallNumber(arch.Name, call.Number, func() (int64, bool) {
		n, known := g.calls[call.PC]
		if !known {
			g.open(c)
			var proved bool
			if n, proved = g.walker.CallNumber(&snapshot.Thread{Arch: arch, Syscall: call}, g.image); !proved {
				n = -1
			}
			if len(g.calls) >= maxKnown {
				clear(g.calls)
			}
			g.calls[call.PC] = n
		}
		return n, n >= 0
	})
}

// cut reports whether a walk ended where mappings that are not known yet might lead on.
func cut(s *unwind.Stack) bool { return s.Stop == unwind.NoRule || s.Stop == unwind.BadCFA }

// strange reports whether a thread executes where nothing is mapped as far as is known.
func (g *program) strange(t *snapshot.Thread) bool {
	var pc mem.Addr
	switch {
	case t.Registers != nil:
		pc, _ = t.Registers.PC()
	case t.Syscall != nil:
		pc = t.Syscall.PC
	}
	return pc != 0 && g.table.Load().Find(pc) == nil
}

// place returns the number of the module of f in the book.
func (g *program) place(b *book, f *unwind.Frame) int32 {
	m := f.Module
	if m == nil {
		return -1
	}
	n, ok := g.places[m]
	if ok {
		return n
	}
	mapping := g.table.Load().Find(f.LookupPC())
	id := identity{path: m.Path, build: m.BuildID()}
	if mapping != nil && mapping.IsFile() {
		id.dev, id.inode = mapping.Dev, mapping.Inode
	} else if id.build == "" {
		id.path, id.inode = id.path+"\x00", uint64(g.number)<<32|uint64(m.ID) // of this program alone
	}
	n = b.place(id, func() place {
		p := place{m: m, start: m.Start(), end: m.End()}
		if mapping != nil {
			p.start, p.end, p.offset = mapping.Start, mapping.End, mapping.Offset
		}
		return p
	})
	g.places[m] = n
	return n
}

// first is the main program as its mappings show it: the first file with code. It has no
// number where there is none.
func (g *program) first(c *counter) (int32, bool) {
	g.open(c)
	for _, m := range g.table.Load().All() {
		if m.IsFile() && m.Perm&maps.Exec != 0 {
			f := unwind.Frame{PC: m.Start, Interrupted: true, Module: g.set.Find(m.Start)}
			if f.Module == nil {
				return 0, false
			}
			return g.place(c.book, &f), true
		}
	}
	return 0, false
}

// sleepKey names a sleeping stack by all that decides what a walk of it gives.
func (c *counter) sleepKey(call *snapshot.Syscall, copied *tracer.Copy) uint64 {
	h := &c.hash
	h.Reset()
	var head [24]byte
	for i, v := range []uint64{uint64(call.SP), uint64(call.PC), uint64(call.Number)} {
		binary.LittleEndian.PutUint64(head[8*i:], v)
	}
	h.Write(head[:])
	stack := copied.Thread.Stack
	if call.SP > stack.Start && call.SP < stack.End() {
		stack.Data = stack.Data[call.SP-stack.Start:] // below SP lies nothing of a sleeper
	}
	h.Write(stack.Data)
	for _, r := range copied.Thread.Copied {
		binary.LittleEndian.PutUint64(head[:], uint64(r.Start))
		binary.LittleEndian.PutUint64(head[8:], uint64(len(r.Data)))
		h.Write(head[:16])
		h.Write(r.Data)
	}
	return h.Sum64()
}
