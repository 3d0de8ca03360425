package golang

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// FiberKind implements vm.FiberLister.
func (r *Runtime) FiberKind() string { return "goroutine" }

// OpenFibers learns where the program keeps its goroutines, before it is stopped. It fails where the program does not
// say so, and why.
func (r *Runtime) OpenFibers() (present bool, err error) {
	if r.layout != nil {
		return true, nil
	}
	if r.m.Class() != wordSize || r.m.Order() == binary.ByteOrder(binary.BigEndian) {
		return false, errors.New("goroutines cannot be listed: programs of 32 bits, and big-endian ones, are not " +
			"read yet")
	}
	v := view.Lasting(r.memory, r.budget)
	l, err := r.readLayout(&v)
	if err != nil {
		return false, err
	}
	if n, err := v.Word(l.allgs + wordSize); err == nil {
		r.room = int(min(n, maxGoroutines)) * (l.g.need + usualStack)
	}
	r.layout = l
	return true, nil
}

// usualStack is what is in use of the stack of most parked goroutines, bytes.
const usualStack = 640

// Room implements [snapshot.ProcessCopier].
func (r *Runtime) Room() int { return r.room }

const (
	// maxGoroutines bounds the entries of runtime.allgs that are believed.
	maxGoroutines = 16 << 20
	// block is how many goroutines are copied before the next ones: of a list that does not fit the last are left out.
	block = 2 << 10
	// maxParked bounds what is copied of the stack of a goroutine that no thread runs, bytes: the innermost frames.
	maxParked = 256 << 10
)

// CopyProcess implements [snapshot.ProcessCopier]: the list of goroutines, their structures, the part of their stacks
// that is in use, and the m of those that run or are locked to one.
func (r *Runtime) CopyProcess(g *snapshot.Gatherer) {
	l := r.layout
	if l == nil {
		return
	}
	head, _ := g.Gather([]snapshot.Want{{Addr: l.allgs, Len: 2 * wordSize}})
	if head[0] == nil {
		return
	}
	list, n := mem.Addr(order.Uint64(head[0])), int(min(order.Uint64(head[0][wordSize:]), maxGoroutines))
	wants := make([]snapshot.Want, 0, 2*block)
	for from := 0; from < n; from += block {
		count := min(block, n-from)
		pointers, _ := g.Gather([]snapshot.Want{{Addr: list + mem.Addr(from*wordSize), Len: count * wordSize}})
		if pointers[0] == nil {
			return
		}
		wants = wants[:0]
		for i := range count {
			wants = append(wants, snapshot.Want{Addr: mem.Addr(order.Uint64(pointers[0][i*wordSize:])),
				Len: l.g.size()})
		}
		structs, _ := g.Gather(wants)
		wants = wants[:0]
		for _, b := range structs {
			if b != nil {
				wants = l.wants(goroutine{l, b}, wants)
			}
		}
		if _, ok := g.Gather(wants); !ok {
			return
		}
	}
}

// wants adds what is to be copied of g besides its structure.
func (l *layout) wants(g goroutine, to []snapshot.Want) []snapshot.Want {
	switch state := g.state(); {
	case !isLive(state):
		return to
	case state == stateRunning:
	default:
		if sp, ok := g.stackPointer(); ok {
			used := min(g.word(l.g.high)-sp, maxParked)
			to = append(to, snapshot.Want{Addr: mem.Addr(sp), Len: int(used)})
		}
	}
	if at, ok := g.semaphore(); ok {
		to = append(to, snapshot.Want{Addr: at, Len: queuedBytes})
	}
	if m := cmp.Or(g.word(l.g.m), g.word(l.g.locked)); m != 0 {
		to = append(to, snapshot.Want{Addr: mem.Addr(m), Len: l.m.need})
	}
	return to
}

// Values of atomicstatus in runtime/runtime2.go, the same since Go 1.13.
const (
	stateIdle, stateRunning, stateSyscall, stateWaiting, stateDead = 0, 2, 3, 4, 6

	stateLeaked    = 10     // since Go 1.26
	stateDeadExtra = 11     // since Go 1.26: of an m that waits for a call from C
	stateScan      = 0x1000 // a bit
)

// isLive reports whether there is a goroutine: the structures of those that have ended are used again.
func isLive(state uint32) bool {
	return state != stateIdle && state != stateDead && state != stateDeadExtra
}

// goroutine is one struct g as it was copied.
type goroutine struct {
	l *layout
	b []byte
}

var order = binary.LittleEndian

func (g goroutine) word(at int) uint64 {
	if at < 0 || at+wordSize > len(g.b) {
		return 0
	}
	return order.Uint64(g.b[at:])
}

func (g goroutine) state() uint32 { return order.Uint32(g.b[g.l.g.state:]) &^ stateScan }

// stackPointer is where the stack begins while the goroutine does not run Go code; false if that lies outside of it.
func (g goroutine) stackPointer() (uint64, bool) {
	sp := g.word(g.l.g.sp)
	if g.state() == stateSyscall {
		sp = g.word(g.l.g.syscallSP)
	}
	low, high := g.word(g.l.g.low), g.word(g.l.g.high)
	return sp, low < sp && sp < high
}

// Fibers lists the goroutines that s shows, in the order of runtime.allgs as the runtime's own tracebacks do. An error
// says which are missing; the others are there.
func (r *Runtime) Fibers(s *snapshot.Snapshot) ([]snapshot.Fiber, error) {
	l := r.layout
	if l == nil {
		return nil, errStripped
	}
	whole := view.Copied(r.budget, s.Whole...)
	head, err := whole.Words(l.allgs, 2)
	if err != nil {
		return nil, fmt.Errorf("goroutines were not copied while the process was stopped")
	}
	list, n := mem.Addr(head[0]), int(min(head[1], maxGoroutines))
	listing := listing{r: r, snap: s, whole: &whole, threads: map[int]*snapshot.Thread{}}
	for i := range s.Threads {
		listing.threads[s.Threads[i].InnerTID()] = &s.Threads[i]
	}
	var fibers []snapshot.Fiber
	missing, most := 0, l.most(s.Whole)
	b := make([]byte, l.g.size())
	for i := range n {
		at, err := whole.Word(list + mem.Addr(i*wordSize))
		if err != nil || len(fibers) == most {
			missing += n - i
			break
		}
		g := goroutine{l, b}
		if _, err := whole.ReadMem(g.b, mem.Addr(at)); err != nil {
			g.b = b[:l.g.need]
			_, err = whole.ReadMem(g.b, mem.Addr(at))
			if err != nil {
				missing++
				continue
			}
		}
		if isLive(g.state()) {
			fibers = append(fibers, listing.fiber(at, g))
		}
	}
	switch {
	case missing == 0:
		return fibers, nil
	case whole.Refused() != nil:
		return fibers, fmt.Errorf("%d of %d goroutines are left out: %w", missing, n, whole.Refused())
	}
	return fibers, fmt.Errorf("%d of %d goroutines are left out: they were not copied within the time and the "+
		"memory for it", missing, n)
}

// leastG is less than a struct g had in any version, bytes.
const leastG = 256

// most is how many goroutines the copied bytes can be: a list may name one of them millions of times.
func (l *layout) most(whole []mem.Range) int {
	size := 0
	for _, r := range whole {
		size += len(r.Data)
	}
	return size / max(l.g.need, leastG)
}

// listing makes fibers of goroutines.
type listing struct {
	r       *Runtime
	snap    *snapshot.Snapshot
	whole   *view.View
	threads map[int]*snapshot.Thread
	tests   int // whose names were looked for
}

// fiber is the goroutine at that address.
func (s *listing) fiber(at uint64, g goroutine) snapshot.Fiber {
	l := g.l
	state := g.state()
	f := snapshot.Fiber{Kind: "goroutine", ID: g.word(l.g.id), State: s.r.stateText(g), Wait: s.r.waitsFor(g),
		Locked: g.word(l.g.locked) != 0,
		System: s.r.isSystem(g), Object: s.lock(at, g), CreatedBy: mem.Addr(g.word(l.g.createdBy)),
		Creator: g.word(l.g.creator)}
	since := time.Duration(g.word(l.g.since))
	if (state == stateWaiting || state == stateSyscall) && since > 0 && s.snap.Clock > since {
		f.Waits = s.snap.Clock - since
	}
	if low, high := g.word(l.g.low), g.word(l.g.high); low < high {
		f.Stack = mem.Span[mem.Addr]{Start: mem.Addr(low), End: mem.Addr(high)}
	}
	if f.ID == 1 { // nobody's call made it
		f.CreatedBy = 0
	}
	if t := s.runs(at, g); t != nil {
		f.TID = t.TID
		if t.Registers != nil {
			f.Test = s.test(g, t.Stack)
			return f
		}
	}
	s.park(&f, g)
	f.Test = s.test(g, f.Thread.Stack)
	return f
}

// runs returns the thread that runs g, nil if none does: that of its m, if that says so too.
func (s *listing) runs(at uint64, g goroutine) *snapshot.Thread {
	m, ok := s.whole.Bytes(mem.Addr(g.word(g.l.g.m)), g.l.m.need)
	if !ok || order.Uint64(m[g.l.m.curg:]) != at {
		return nil
	}
	return s.threadOf(g.word(g.l.g.m))
}

// threadOf returns the thread of the m at that address, nil if it is not known.
func (s *listing) threadOf(at uint64) *snapshot.Thread {
	l := s.r.layout
	m, ok := s.whole.Bytes(mem.Addr(at), l.m.need)
	if !ok {
		return nil
	}
	return s.threads[int(order.Uint64(m[l.m.procid:])&(1<<31-1))]
}

// park sets the registers and the stack of f, which no thread runs.
func (s *listing) park(f *snapshot.Fiber, g goroutine) {
	l := g.l
	sp, ok := g.stackPointer()
	switch {
	case g.state() == stateRunning:
		f.Missing = "its thread was not stopped"
		return
	case !ok:
		f.Missing = "its stack pointer lies outside of its stack"
		return
	}
	pc, fp := g.word(l.g.pc), g.word(l.g.fp)
	if g.state() == stateSyscall {
		pc, fp = g.word(l.g.syscallPC), g.word(l.g.syscallFP)
	}
	stack, ok := s.whole.Around(mem.Addr(sp))
	if !ok {
		f.Missing = "its stack was not copied"
		return
	}
	arch := s.arch()
	if arch == nil {
		f.Missing = "the architecture is not known"
		return
	}
	next := regs.New(arch)
	next.Set(arch.SP, sp)
	next.Set(arch.PC, pc)
	if fp != 0 {
		next.Set(arch.FP, fp)
	}
	if arch.LR != regs.NoReg {
		next.Set(arch.LR, g.word(l.g.lr))
	}
	end := min(uint64(stack.End()), g.word(l.g.high))
	data, _ := stack.Bytes(mem.Addr(sp), int(end-sp))
	f.Thread = snapshot.Thread{Arch: arch, Registers: &next, Stack: mem.Range{Start: mem.Addr(sp), Data: data}}
	if t := s.threadOf(g.word(g.l.g.locked)); t != nil { // C that called it is on its stack
		f.Thread.Copied = t.Copied
	}
	f.Interrupted = s.r.isEntry(mem.Addr(pc))
}

// arch is that of the threads.
func (s *listing) arch() *regs.Arch {
	for i := range s.snap.Threads {
		if a := s.snap.Threads[i].Arch; a != nil {
			return a
		}
	}
	return nil
}

// isEntry reports whether a function begins at pc: nothing of it has run.
func (r *Runtime) isEntry(pc mem.Addr) bool {
	f, ok := r.table.Func(uint64(r.m.Vaddr(pc)))
	return ok && f.Entry == uint64(r.m.Vaddr(pc))
}

// stateText is what the runtime's own tracebacks say in brackets, without the time.
// Source: goroutineheader in runtime/traceback.go.
func (r *Runtime) stateText(g goroutine) string {
	state := g.state()
	text := "???"
	if int(state) < len(r.layout.states) {
		text = r.layout.states[state]
	}
	reason := int(g.b[r.layout.g.reason])
	if (state == stateWaiting || state == stateLeaked) && reason != 0 && reason < len(r.layout.reasons) {
		text = r.layout.reasons[reason]
	}
	if state == stateLeaked {
		text += " (leaked)"
	}
	return text
}

// waits are the reasons of goroutines that wait, as the runtime calls them, by what they wait for. Source:
// waitReasonStrings in runtime/runtime2.go, of all versions.
var waits = map[string]snapshot.FiberWait{
	"IO wait": snapshot.FiberNet, "sleep": snapshot.FiberTimer,
	"chan receive": snapshot.FiberReceive, "chan receive (nil chan)": snapshot.FiberReceive,
	"chan receive (synctest)": snapshot.FiberReceive, "chan send": snapshot.FiberSend,
	"chan send (nil chan)": snapshot.FiberSend, "chan send (synctest)": snapshot.FiberSend,
	"select": snapshot.FiberSelect, "select (no cases)": snapshot.FiberSelect,
	"select (synctest)": snapshot.FiberSelect,
	"sync.Mutex.Lock":   snapshot.FiberLock, "sync.RWMutex.RLock": snapshot.FiberLock,
	"sync.RWMutex.Lock": snapshot.FiberLock, "semacquire": snapshot.FiberLock,
	"sync.Cond.Wait": snapshot.FiberCond, "sync.WaitGroup.Wait": snapshot.FiberGroup,
}

// waitsFor is what g waits for, "" where that is of no matter.
func (r *Runtime) waitsFor(g goroutine) snapshot.FiberWait {
	const runnable = 1
	switch state := g.state(); state {
	case runnable, stateRunning:
		return snapshot.FiberRuns
	case stateSyscall:
		return snapshot.FiberCall
	case stateWaiting, stateLeaked:
		if reason := int(g.b[r.layout.g.reason]); reason < len(r.layout.reasons) {
			return waits[r.layout.reasons[reason]]
		}
	}
	return ""
}

// isSystem reports whether the runtime made g for itself. The goroutines that run finalizers and cleanups are the
// program's while they do.
// Source: isSystemGoroutine in runtime/traceback.go.
func (r *Runtime) isSystem(g goroutine) bool {
	name := r.name(mem.Addr(g.word(g.l.g.start)))
	switch name {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent":
		return false
	case "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups":
		return g.state() == stateWaiting && strings.HasSuffix(r.stateText(g), " wait")
	}
	return strings.HasPrefix(name, "runtime.")
}
