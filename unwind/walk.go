package unwind

import (
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Functions tells the bounds of functions, so that code without tables can be read from its
// beginning. It is asked only for such code.
type Functions interface {
	// Bounds returns the function of m that holds v, [start, end), or false.
	Bounds(m *module.Module, v module.Vaddr) (start, end module.Vaddr, ok bool)
}

// Walker walks the stacks of one process and keeps what it learned of each PC. It is for one
// goroutine at a time.
type Walker struct {
	modules   *module.Set
	functions Functions
	tables    map[*module.Module]*tables
	sites     map[siteKey]*site
	paths     map[pathKey]*cfi.Row // nil value: no way
	// interpreted counts the ways tried, see maxInterpreted.
	interpreted int
}

// NewWalker returns a Walker for the process with those modules. functions may be nil: then
// code without tables is read without knowing where its functions begin.
func NewWalker(modules *module.Set, functions Functions) *Walker {
	return &Walker{modules: modules, functions: functions,
		tables: map[*module.Module]*tables{}, sites: map[siteKey]*site{}, paths: map[pathKey]*cfi.Row{}}
}

// hardFrameLimit bounds a walk without a limit of its own. A stack of 8 MiB, the default of
// Linux, holds at most half a million frames.
const hardFrameLimit = 8 << 20

// maxDescents bounds how often one walk may go to another stack (signal handlers on an
// alternate stack, Go's system stack, coroutines). Between two descents addresses grow, so
// that this also bounds the whole walk.
const maxDescents = 64

// Walk returns the stack of t. memory is the process's, with t's stack laid over it (see
// snapshot.Snapshot.Reader).
//
// A thread without registers is walked from the SP and PC of its system call if these are
// known; otherwise it has no frames and the Stop NoContext.
func (w *Walker) Walk(t *snapshot.Thread, memory mem.Reader, opt Options) Stack {
	r, ok := context(t)
	if !ok {
		return Stack{Stop: NoContext, Err: fmt.Errorf("thread %d has no registers", t.TID)}
	}
	c := &cursor{w: w, arch: r.Arch, memory: memory, regs: r, pacMask: t.PACMask, next: Frame{Origin: Context, Interrupted: true}}
	if t.Registers != nil {
		c.copied, _ = memory.(*mem.Overlay)
	}
	c.enter()
	limit := opt.MaxFrames
	if limit <= 0 || limit > hardFrameLimit {
		limit = hardFrameLimit
	}
	step := c.stepAuto
	if opt.Mode == FramePointersOnly {
		step = c.stepFramePointer
	}
	e := end(ReadFault, "walk ended early")
	// Tables and code are mapped files, which may become shorter while they are read.
	if err := module.Guard("unwind tables", func() error { e = c.run(step, limit); return nil }); err != nil {
		e = failed(ReadFault, err)
	}
	return Stack{Frames: c.frames, Stop: e.stop, Err: e.err}
}

// run walks until an end.
func (c *cursor) run(step func() *ending, limit int) *ending {
	for {
		c.push()
		if len(c.frames) == limit {
			if c.isRoot(step) {
				return atRoot
			}
			return end(DepthLimit, "limit of %d frames", limit)
		}
		if e := step(); e != nil {
			return e
		}
	}
}

// context returns the registers to start from.
func context(t *snapshot.Thread) (regs.Registers, bool) {
	if t.KernelWorker {
		return regs.Registers{}, false
	}
	if t.Registers != nil {
		return *t.Registers, true
	}
	if t.Syscall == nil || t.Syscall.PC == 0 || t.Arch == nil {
		return regs.Registers{}, false
	}
	r := regs.New(t.Arch)
	r.Set(t.Arch.PC, uint64(t.Syscall.PC))
	r.Set(t.Arch.SP, uint64(t.Syscall.SP))
	if t.Syscall.Number >= 0 {
		// vfork keeps its return address in the register of its first argument.
		for i, reg := range t.Arch.Args {
			r.Set(reg, t.Syscall.Args[i])
		}
	}
	return r, true
}

// ending says why a walk ends.
type ending struct {
	stop Stop
	err  error
	// impossible says that a table's row contradicts the stack: it is wrong, or the stack is.
	impossible bool
}

func end(stop Stop, format string, args ...any) *ending {
	return failed(stop, fmt.Errorf(format, args...))
}

func failed(stop Stop, err error) *ending { return &ending{stop: stop, err: err} }

func impossible(stop Stop, format string, args ...any) *ending {
	return &ending{stop: stop, err: fmt.Errorf(format, args...), impossible: true}
}

var (
	atRoot = &ending{stop: Root}
	// atZero is a root by a return address of 0 where a table expects one.
	atZero = &ending{stop: Root, impossible: true}
)

// cursor is the state of one walk: the registers of the frame last pushed.
type cursor struct {
	w        *Walker
	arch     *regs.Arch
	memory   mem.Reader
	regs     regs.Registers
	pacMask  uint64
	frames   []Frame
	next     Frame // what is known of the frame to be pushed
	lo, hi   mem.Addr
	descents int
	doubt    uint64       // registers, by DWARF number, that a landing exception may have overwritten
	copied   *mem.Overlay // what was copied while the thread stood, nil if it did not stand
	loose    bool         // SP is only a lower bound: see recordFloats
}

// push appends the frame that the registers stand for.
func (c *cursor) push() {
	f := c.next
	f.PC, _ = c.regs.PC()
	f.SP, _ = c.regs.SP()
	f.Module = c.w.modules.Find(f.LookupPC())
	c.frames = append(c.frames, f)
	c.next = Frame{}
}

// top is the frame last pushed.
func (c *cursor) top() *Frame { return &c.frames[len(c.frames)-1] }

// enter makes the mapping that holds SP the current stack.
func (c *cursor) enter() {
	sp, _ := c.regs.SP()
	if m := c.stackMapping(sp); m != nil {
		c.lo, c.hi = min(m.Start, sp), m.End
		return
	}
	c.lo, c.hi = 0, 0
}

// stackMapping finds the mapping of a stack pointer. The main thread's stack grows down, so SP
// may lie below the mapping as it was read a moment earlier.
func (c *cursor) stackMapping(sp mem.Addr) *maps.Mapping {
	table := c.w.modules.Table()
	if m := table.Find(sp); m != nil {
		if m.Perm&maps.Read == 0 {
			return nil
		}
		return m
	}
	// SP may stand at the very end of its mapping when the stack is empty.
	if m := table.Find(sp - 1); m != nil && m.Perm&maps.Write != 0 {
		return m
	}
	const growth = 8 << 20
	if m := table.FindFrom(sp); m != nil && m.Path == "[stack]" && m.Start-sp < growth {
		return m
	}
	return nil
}

// word reads one word of the architecture.
func (c *cursor) word(a mem.Addr) (uint64, error) {
	return mem.Uint(c.memory, a, c.arch.WordSize, c.arch.Order)
}

// mask cuts a value to the width of the architecture.
func (c *cursor) mask(v uint64) uint64 {
	if c.arch.WordSize == 4 {
		return v & 0xffffffff
	}
	return v
}

// noteLate marks the frame to be pushed if the word that led to it was not copied while the
// thread stood: it was read from the running process, and may be of a later moment.
func (c *cursor) noteLate(a mem.Addr) {
	if c.copied == nil {
		return
	}
	if _, ok := c.copied.Bytes(a, c.arch.WordSize); !ok {
		c.next.Note = "read while the thread ran again"
	}
}

// code cuts a return address to what the processor would jump to.
func (c *cursor) code(v uint64) mem.Addr { return mem.Addr(regs.StripPAC(c.mask(v), c.pacMask)) }

// executable tells whether code can run at a.
func (c *cursor) executable(a mem.Addr) bool {
	m := c.w.modules.Table().Find(a)
	return m != nil && m.Perm&maps.Exec != 0
}

// advance makes r the registers of the next frame, found by o, with the top frame's CFA.
func (c *cursor) advance(cfa mem.Addr, r regs.Registers, o Origin) {
	c.top().CFA = cfa
	c.regs = r
	c.loose = false
	c.next.Origin = o
}

// isRoot tells whether the top frame is the outermost, without going on.
func (c *cursor) isRoot(step func() *ending) bool {
	saved, top := *c, *c.top()
	e := step()
	*c = saved
	*c.top() = top
	return e != nil && e.stop == Root
}
