package unwind

import (
	"fmt"
	"hash/maphash"
	"math"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// Functions says what symbols and debug information say of functions. It is asked only for code
// that no mapped table covers.
type Functions interface {
	// Bounds returns the function of m that holds v, [start, end), or false, so that its code can
	// be read from its beginning.
	Bounds(m *module.Module, v module.Vaddr) (start, end module.Vaddr, ok bool)
	// DebugFrame returns the contents of m's .debug_frame, inflated if need be; nil if it has none.
	// They must stay readable while m is.
	DebugFrame(m *module.Module) ([]byte, error)
}

// Walker walks the stacks of one process and keeps what it learned of each PC, so that the next
// walks are cheap; its memory is bounded however long it is used. It is for one goroutine at a
// time, the one that uses its modules.
type Walker struct {
	modules   *module.Set
	functions Functions
	runtimes  Runtimes                  // nil for none
	arch      *regs.Arch                // of the threads walked last, for which sites holds
	tables    map[module.Object]*tables // at most maxTables
	sites     sites
	record    *compiled             // the frame record of arch as a row, nil for none
	paths     map[pathKey]*compiled // nil value: no way
	leaves    map[leafKey][]leafCall
	spare     []regs.Saved // for rows to come
	chain     []mem.Addr   // frame records that were proved in this walk, ascending: see leadsBack

	changes int    // of modules, when mapped was set
	mapped  uint64 // counts the changes of mappings, from 1
	moment  uint64 // counts those and the moments that Renew reported, from 1
	vouch   vouch  // of the region that was asked for last
	seed    maphash.Seed
	buffer  [2*codeWindow + 2]byte
	filled  int64  // sites that were looked up so far
	cursor  cursor // of the walk that goes on
}

// NewWalker returns a Walker for the process with those modules. functions may be nil: then
// code without tables is read without knowing where its functions begin, and no .debug_frame is read. What tables and
// code take to be read is charged to the budget of modules (see [module.Set.Charge]); without one nothing bounds it.
func NewWalker(modules *module.Set, functions Functions) *Walker {
	return &Walker{modules: modules, functions: functions, tables: map[module.Object]*tables{},
		sites: newSites(), paths: map[pathKey]*compiled{}, leaves: map[leafKey][]leafCall{}, changes: modules.Changes(),
		mapped: 1, moment: 1, seed: maphash.MakeSeed()}
}

// Renew says that time has passed since the last walk, so that code which no file holds may
// have been replaced in place. What is known of such code is compared with the memory before
// it is used again, by one read a PC. Code of files costs nothing: that its mapping changed, the
// Walker learns from its modules (see [module.Set.Update]).
//
// Who walks the threads of one moment has no need of it; who walks again later has.
func (w *Walker) Renew() { w.moment++ }

// MaxFrames bounds a walk that has no limit of its own. A stack of 8 MiB, the default of
// Linux, holds at most half a million frames.
const MaxFrames = 1 << 20

// maxSwitches bounds how many steps of one walk may lead to a stack pointer that is not above
// the last one: to another stack (signal handlers on an alternate stack, Go's system stack, coroutines), or
// out of a frame of no size (vfork, leaves that return by the link register).
const maxSwitches = 64

// Walk returns the stack of t. memory is the process's, with t's stack laid over it (see
// snapshot.Snapshot.Reader).
//
// A thread without registers is walked from the SP and PC of its system call if these are
// known; otherwise it has no frames and the Stop NoContext.
func (w *Walker) Walk(t *snapshot.Thread, memory mem.Reader, opt Options) Stack {
	var s Stack
	w.WalkInto(&s, t, memory, opt)
	return s
}

// WalkInto is Walk that writes into s and uses the memory of s.Frames again: what was walked
// before is walked without an allocation. What s.Frames held is lost. It keeps none of its
// arguments.
//
// It is fastest if memory is a [mem.Overlay] in which one copied range holds the stack.
func (w *Walker) WalkInto(s *Stack, t *snapshot.Thread, memory mem.Reader, opt Options) {
	s.Frames, s.Stop, s.Err = s.Frames[:0], Root, nil
	c := &w.cursor
	if !c.start(w, t, memory) {
		s.Stop, s.Err = NoContext, fmt.Errorf("thread %d has no registers", t.TID)
		return
	}
	w.begin(c.arch)
	w.startRuntimes(t, memory)
	c.frames = s.Frames
	c.bare, c.own = opt.Mode == FramePointersOnly, opt.Stack
	c.next.Interrupted = !opt.Called
	c.enter()
	limit := opt.MaxFrames
	if limit <= 0 || limit > MaxFrames {
		limit = MaxFrames
	}
	e := endedEarly
	// Tables and code are mapped files, which may become shorter while they are read.
	if err := module.Guard("unwind tables", func() error { e = c.run(limit); return nil }); err != nil {
		e = failed(ReadFault, err)
	}
	s.Frames, s.Stop, s.Err, s.Late = c.frames, e.stop, e.err, c.late
	if c.refused != nil && e.err != nil {
		s.Err = fmt.Errorf("%w; code was not read: %w", e.err, c.refused)
	}
	if c.late && e.err != nil && e.stop != DepthLimit {
		s.Stop, s.Err = ReadFault, fmt.Errorf("stack was read while the thread ran again: %w", s.Err)
	}
	*c = cursor{}
	w.identify(t, s, memory)
}

// begin notices what has changed since the last walk.
func (w *Walker) begin(a *regs.Arch) {
	w.chain = w.chain[:0]
	if n := w.modules.Changes(); n != w.changes {
		w.changes = n
		w.mapped++
		w.moment++
		w.forget()
		if w.runtimes != nil {
			w.runtimes.Scan(w.modules)
		}
	}
	if a != w.arch {
		w.arch, w.sites, w.record = a, newSites(), recordRow(a)
		clear(w.paths)
		clear(w.leaves)
	}
}

// stopEvery is how many frames are climbed before it is asked whether the run is to end.
const stopEvery = 64

// run walks until an end.
func (c *cursor) run(limit int) *ending {
	c.push()
	for {
		if err := c.w.modules.Budget().Stopped(); err != nil {
			return failed(ReadFault, err)
		}
		c.climb(min(limit, len(c.frames)+stopEvery))
		if len(c.frames) >= limit {
			if c.isRoot() {
				return atRoot
			}
			return end(DepthLimit, "limit of %d frames", limit)
		}
		e := c.step()
		if e == nil {
			e = c.keepOnWay()
		} else {
			e = c.goOn(e)
		}
		if e != nil {
			return e
		}
		c.push()
	}
}

// step goes from the top frame to its caller.
func (c *cursor) step() *ending {
	if c.bare {
		return c.stepFramePointer()
	}
	return c.stepAuto()
}

// start sets the cursor to the innermost frame of t; false if that is not known.
func (c *cursor) start(w *Walker, t *snapshot.Thread, memory mem.Reader) bool {
	*c = cursor{w: w, pacMask: t.PACMask, view: view{memory: memory}, next: coming{Origin: Context, Interrupted: true}}
	if !context(&c.regs, t) {
		return false
	}
	c.next.PC, _ = c.regs.PC()
	c.next.SP, _ = c.regs.SP()
	c.way.begin(t, w)
	c.arch = c.regs.Arch
	c.widest = math.MaxUint64 >> (64 - 8*c.arch.WordSize)
	c.overlay, _ = memory.(*mem.Overlay)
	if t.Registers != nil && c.overlay != nil && !c.overlay.Still {
		c.copied = c.overlay
	}
	return true
}

// context sets r to the registers to start from.
func context(r *regs.Registers, t *snapshot.Thread) bool {
	if t.KernelWorker {
		return false
	}
	if t.Registers != nil {
		*r = *t.Registers
		return true
	}
	if t.Syscall == nil || t.Syscall.PC == 0 || t.Arch == nil {
		return false
	}
	*r = regs.New(t.Arch)
	r.Set(t.Arch.PC, uint64(t.Syscall.PC))
	r.Set(t.Arch.SP, uint64(t.Syscall.SP))
	if t.Syscall.Number >= 0 {
		// vfork keeps its return address in the register of its first argument.
		for i, reg := range t.Arch.Args {
			r.Set(reg, t.Syscall.Args[i])
		}
	}
	return true
}

// ending says why a walk ends.
type ending struct {
	stop Stop
	err  error
	// impossible says that a table's row contradicts the stack: it is wrong, or the stack is.
	impossible bool
	// blind says that the CFA rests on what is not known.
	blind bool
}

func end(stop Stop, format string, args ...any) *ending {
	return failed(stop, fmt.Errorf(format, args...))
}

func failed(stop Stop, err error) *ending { return &ending{stop: stop, err: err} }

func impossible(stop Stop, format string, args ...any) *ending {
	return &ending{stop: stop, err: fmt.Errorf(format, args...), impossible: true}
}

var (
	atRoot     = &ending{stop: Root}
	notCalled  = end(NoRule, "no call precedes the return address")
	notKnown   = end(NoRule, "return address is in a register that is not known")
	linkLost   = end(NoRule, "return address is in the link register, which a call has overwritten")
	endedEarly = end(ReadFault, "walk ended early")
	// atZero is a root by a return address of 0 where a table expects one.
	atZero = &ending{stop: Root, impossible: true}
)
