package unwind

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// Region is code that a Runtime knows as a whole.
type Region struct {
	Start, End mem.Addr
	// Generation is another number when other code was put there: as long as it stays, code with a row of the runtime
	// is not compared with what it was.
	Generation uint64
	// Alike says that Generation stays when other code is put there, as all of it has the same rows. What rests on the
	// bytes of the code is compared then.
	Alike bool
	// Instead says that the tables of the object are wrong there: rows of the runtime come before theirs.
	Instead bool
	// Proved says that the runtime's own tables have this code, one by one: also where memory was not executable when
	// the mappings were read last, as code is made all the time.
	Proved bool
}

// Runtime knows code or frames of one process that no ELF object describes. What more it knows than where its code is,
// it says by what it implements besides: [RowSource], [Crosser], [Identifier]. It is used by the goroutine that
// walks. Its String names it in messages.
type Runtime interface {
	// Region returns the code of this runtime around pc, false if pc is none of its code.
	Region(pc mem.Addr) (Region, bool)
	String() string
}

// RowSource is a Runtime that knows rows for its code.
type RowSource interface {
	// Row returns the row for pc, of the same kind as CFI's, with its Start and End in the process. The walk keeps it
	// as long as the Generation of r stays. It is false where only Cross knows; an error says why nobody does. The
	// row of a function that nobody called has an undefined RA.
	Row(r Region, pc mem.Addr, interrupted bool) (row *cfi.Row, ok bool, err error)
}

// Crosser is a Runtime that knows ways from a frame to its caller which no row describes: to another stack, over
// frames without a chain, out of an activation.
type Crosser interface {
	// Cross goes from the last of frames to its caller. r are the registers in it, m is the memory: what of it was
	// not copied in the stop is noted. It proves what it says, or declines with an error, which says why: then other
	// ways are tried.
	Cross(frames []Frame, r *regs.Registers, m mem.Reader) (Crossing, error)
}

// Crossing is where a [Crosser] leads.
type Crossing struct {
	// Registers are those of the caller; PC and SP are known. It is ignored if Root is set.
	Registers regs.Registers
	// Interrupted says that the caller goes on at PC itself: nothing returns to it.
	Interrupted bool
	// Root says that nobody called: the stack ends with this frame.
	Root bool
	// Note says what makes the caller less sure; "" mostly.
	Note string
}

// Waypointer is a Runtime that knows places which the stack of a thread passes, however the frames between them are
// found.
type Waypointer interface {
	// Waypoints returns frames that are proved to be on the stack of t, innermost first: above the last of frames,
	// which may be anybody's, on the stack that this one is on. It is called where a walk has come to an end below the
	// root, or by a guess: once for each stack that the walk goes to. m is the memory, as in [Crosser].
	Waypoints(t *snapshot.Thread, frames []Frame, m mem.Reader) []Waypoint
}

// Waypoint is one such frame.
type Waypoint struct {
	// Registers are those in the frame, a return address being its PC; PC and SP are known.
	Registers regs.Registers
	Note      string // how it is known. That frames before it are missing, and why, the walk adds.
}

// Identifier is a Runtime that says what executes in its frames.
type Identifier interface {
	// Identify sets Site and Runtime of those frames of s, the stack of t, that are its own and have no Site yet, and
	// Note where it does not know and why: from words of m that were copied, or that do not move. It keeps what it
	// takes to name a Site later. It is called once for each stack that was walked.
	Identify(t *snapshot.Thread, s *Stack, m mem.Reader)
}

// Starter is a Runtime whose regions and rows rest on words that were copied of the thread.
type Starter interface {
	// Start is called before the stack of t is walked, and m is good for Region and Row until the walk ends: in it is
	// what was copied, and the rest as in [Crosser].
	Start(t *snapshot.Thread, m mem.Reader)
}

// Site is what executes in a frame as its Runtime numbers it: equal for equal (function, position, inlining), valid as
// long as the process. 0 is native code, which the PC alone names.
type Site uint32

// Runtimes are those of one process.
type Runtimes interface {
	// All lists them. The list is not changed, but may be another one after Meet.
	All() []Runtime
	// Meet gets each module that a walk comes to, more than once too.
	Meet(m *module.Module)
	// Scan hears that the modules have changed: those that are gone must not be used any more.
	Scan(set *module.Set)
}

// ErrDeclined is what a [Crosser] returns for a frame that it knows no way from: the reason is somewhere else then.
var ErrDeclined = errors.New("no runtime knows the caller")

var noWay = failed(NoRule, ErrDeclined)

// Use makes w ask those runtimes besides its tables. It is called before the first walk.
func (w *Walker) Use(r Runtimes) { w.runtimes = r }

// all lists the runtimes of the process.
func (w *Walker) all() []Runtime {
	if w.runtimes == nil {
		return nil
	}
	return w.runtimes.All()
}

// regionOf returns the runtime whose code pc is, in m or in no module; nil for none.
func (w *Walker) regionOf(m *module.Module, pc mem.Addr) (Runtime, Region) {
	if w.runtimes != nil && m != nil {
		w.runtimes.Meet(m)
	}
	for _, r := range w.all() {
		if region, ok := r.Region(pc); ok {
			return r, region
		}
	}
	return nil, Region{}
}

// provedCode reports whether a runtime proves that pc, which may be a return address, is in code.
func (w *Walker) provedCode(pc mem.Addr) bool {
	if pc == 0 {
		return false // where stacks end
	}
	for _, r := range w.all() {
		for _, at := range [...]mem.Addr{pc - 1, pc} {
			if region, ok := r.Region(at); ok && region.Proved {
				return true
			}
		}
	}
	return false
}

// runtimeRow asks the runtime of s for a row, where no table has one.
func (c *cursor) runtimeRow(s *site, lookup mem.Addr) {
	source, ok := s.runtime.(RowSource)
	if !ok || s.row != nil || s.root {
		return
	}
	row, ok, err := source.Row(s.region, lookup, s.interrupted)
	switch {
	case err != nil:
		s.why = s.runtime.String() + ": " + err.Error()
	case ok:
		s.found = found{row: row, origin: ByRuntime, root: row.RA.Kind == cfi.Undefined}
	default:
		s.why = s.runtime.String() + " has no row for it"
	}
}

// unreadable reports whether code may return to s as a runtime says that the process made this code, which cannot be
// read: a recorded snapshot does not hold it.
func (s *site) unreadable() bool { return s.runtime != nil && s.made && s.call.unread }

// stepCross lets the runtime of s lead to the caller. The result is nil or the root if it did; whatever else it is,
// another way may be tried.
func (c *cursor) stepCross(s *site) *ending {
	crosser, ok := s.runtime.(Crosser)
	if !ok {
		return noWay
	}
	reader := noting{c: c}
	x, err := crosser.Cross(c.frames, &c.regs, &reader)
	var fault *mem.FaultError
	switch {
	case errors.As(err, &fault):
		return failed(ReadFault, err)
	case err != nil:
		return failed(NoRule, err)
	case x.Root:
		return atRoot
	}
	if x.Registers.Arch != c.arch {
		return end(NoRule, "%v leads to no frame", s.runtime)
	}
	sp, _ := x.Registers.SP()
	if pc, ok := x.Registers.PC(); !ok || !c.executable(pc) {
		return end(NoRule, "%v leads to %#x, where no code is", s.runtime, uint64(pc))
	}
	origin := ByRuntime
	if x.Interrupted {
		origin = Context // as the runtime saved it
	}
	if e := c.advance(sp, &x.Registers, origin); e != nil {
		return e
	}
	c.next.Interrupted, c.next.Note = x.Interrupted, x.Note
	c.noteLate(reader.late)
	c.late = c.late || reader.late
	c.doubt = 0
	c.enter()
	return nil
}

// noting is the memory of a walk that notes whether something was read that was not copied.
type noting struct {
	c    *cursor
	late bool
}

// ReadMem implements mem.Reader.
func (n *noting) ReadMem(b []byte, addr mem.Addr) (int, error) {
	got, err := n.c.memory.ReadMem(b, addr)
	if got > 0 && !n.Holds(addr, got) {
		n.late = true
	}
	return got, err
}

// Holds reports whether the size bytes at addr were copied, as all of a core was.
func (n *noting) Holds(addr mem.Addr, size int) bool {
	return n.c.copied == nil || n.c.copied.Holds(addr, size)
}

// Idler is a Runtime that keeps threads for work to come.
type Idler interface {
	// Idle says why s, the stack of t, says nothing of what the process does; "" if it does.
	Idle(t *snapshot.Thread, s *Stack) string
}

// Idle says why s, the stack of t, says nothing of what the process does: a runtime keeps the thread for work to come.
// It is "" if no runtime says so.
func (w *Walker) Idle(t *snapshot.Thread, s *Stack) string {
	for _, r := range w.all() {
		if i, ok := r.(Idler); ok {
			if why := i.Idle(t, s); why != "" {
				return why
			}
		}
	}
	return ""
}

// startRuntimes lets the runtimes hear whose stack is walked.
func (w *Walker) startRuntimes(t *snapshot.Thread, memory mem.Reader) {
	for _, r := range w.all() {
		if s, ok := r.(Starter); ok {
			s.Start(t, memory)
		}
	}
}

// identify lets the runtimes say what executes in the frames of s.
func (w *Walker) identify(t *snapshot.Thread, s *Stack, memory mem.Reader) {
	for _, r := range w.all() {
		i, ok := r.(Identifier)
		if !ok {
			continue
		}
		if err := module.Guard(r.String(), func() error { i.Identify(t, s, memory); return nil }); err != nil {
			s.Frames[0].Note = fmt.Sprintf("not named: %v", err)
		}
	}
}
