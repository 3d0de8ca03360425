package unwind

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// cursor is the state of one walk.
type cursor struct {
	w       *Walker
	arch    *regs.Arch
	pacMask uint64
	widest  uint64 // the largest address
	bare    bool   // only frame pointers are followed
	view
	frames []Frame
	regs   regs.Registers // of the frame last pushed
	at     *site          // of its PC; nil where no code can run there, and where it was not looked up
	doubts
	next     coming // what is known of the frame to be pushed
	switches int    // steps to a stack pointer that was not above the last one: see maxSwitches
	earned   bool   // the refill was given for this walk
	way      way
	refused  error // why some code was not read, nil if none was refused
}

// view is the memory of the target as a walk sees it, and the part of it that is the current stack.
type view struct {
	memory  mem.Reader
	overlay *mem.Overlay       // memory if it is one, nil if not
	copied  *mem.Overlay       // what was copied while the thread was stopped, nil if nothing is later than that
	late    bool               // the walk rests on memory that was not copied: see readLate
	lo, hi  mem.Addr           // the current stack
	own     mem.Span[mem.Addr] // see Options.Stack
	window  mem.Range          // the range of overlay that holds it; empty if words are not little-endian
}

// doubts are about the registers of the frame last pushed.
type doubts struct {
	doubt     uint64 // registers, by DWARF number, that a landing exception may have overwritten
	spIsBound bool   // SP is only a lower bound: see regs.Record.Anywhere
	uncalled  bool   // the function has not begun, and nobody called it: see noteReturn
}

// coming is what a step finds out of the frame that it leads to, besides its registers.
type coming struct {
	PC, SP      mem.Addr
	Origin      Origin
	Interrupted bool
	Note        string
}

// push appends the frame that the registers stand for. Each field is set by itself: to make a Frame and copy it
// took a third of a walk's time.
func (c *cursor) push() {
	if n := len(c.frames); n < cap(c.frames) {
		c.frames = c.frames[:n+1]
	} else {
		c.frames = append(c.frames, Frame{})
	}
	f := c.top()
	f.PC, f.SP, f.Interrupted = c.next.PC, c.next.SP, c.next.Interrupted
	f.CFA, f.Signal, f.Site, f.Runtime, f.Stub = 0, false, 0, nil, false // the memory may be of another walk
	f.Kept, f.Unsure, f.Gap = 0, false, false
	f.Origin, f.Note = c.next.Origin, c.next.Note
	c.next.Interrupted = false
	if c.next.Note != "" {
		c.next.Note = ""
	}
	if c.at == nil && !c.bare && c.executable(f.PC) {
		c.at = c.siteAt(f.PC, f.Interrupted)
	}
	if c.at != nil {
		f.Module = c.at.module
	} else {
		f.Module = c.w.modules.Find(f.LookupPC())
	}
}

// top is the frame last pushed.
func (c *cursor) top() *Frame { return &c.frames[len(c.frames)-1] }

// enter makes the stack that holds SP the current one: that of a runtime if it is known, else the mapping.
func (c *cursor) enter() {
	sp, _ := c.regs.SP()
	var copied mem.Range
	if c.overlay != nil {
		copied, _ = c.overlay.Around(sp)
	}
	c.way.asked = false
	// A thread may be so young that its stack is in no list yet: what was copied is known.
	c.lo, c.hi = copied.Start, copied.End()
	if m := c.stackMapping(sp); m != nil {
		c.lo, c.hi = min(m.Start, sp), m.End
	}
	if c.own.Holds(sp) || sp == c.own.End && sp != 0 { // at its end it is empty
		c.lo, c.hi = c.own.Start, c.own.End
	}
	c.window = mem.Range{}
	if c.arch.Order == little {
		c.window = copied
	}
}

// stackMapping finds the mapping of a stack pointer. The main thread's stack grows down, so SP
// may lie below the mapping as it was read a moment earlier; on a stack that is full SP is in the guard below it.
func (c *cursor) stackMapping(sp mem.Addr) *maps.Mapping {
	table := c.w.modules.Table()
	if m := table.Find(sp); m != nil {
		if m.Perm&maps.Read != 0 {
			return m
		}
		if above := table.Find(m.End); above != nil && above.Perm&maps.Write != 0 {
			return above
		}
		return nil
	}
	// SP may be at the very end of its mapping when the stack is empty.
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
	if at, size := uint64(a-c.window.Start), uint64(len(c.window.Data)); at < size &&
		size-at >= uint64(c.arch.WordSize) {
		return c.wordOf(c.window.Data[at:]), nil
	}
	return mem.Uint(c.memory, a, c.arch.WordSize, c.arch.Order)
}

// mask cuts a value to the width of the architecture.
func (c *cursor) mask(v uint64) uint64 { return v & c.widest }

// readLate reports whether the word at a was not copied while the thread was stopped: it is read from the
// running process, and may be of a later moment.
func (c *cursor) readLate(a mem.Addr) bool {
	if c.copied == nil {
		return false
	}
	if _, ok := c.copied.Bytes(a, c.arch.WordSize); ok {
		return false
	}
	c.late = true
	return true
}

// noteLate marks the frame to be pushed if what led to it was read late.
func (c *cursor) noteLate(late bool) {
	if late {
		c.next.Note = "read while the thread ran again"
	}
}

// code cuts a return address to what the processor would jump to.
func (c *cursor) code(v uint64) mem.Addr { return mem.Addr(regs.StripPAC(c.mask(v), c.pacMask)) }

// executable reports whether code can run at a.
func (c *cursor) executable(a mem.Addr) bool {
	return c.w.modules.Executable(a) || c.w.provedCode(a)
}

// advance makes r the registers of the next frame, found by o, with the top frame's CFA.
func (c *cursor) advance(cfa mem.Addr, r *regs.Registers, o Origin) *ending {
	sp, ok := r.SP()
	if !ok {
		return impossible(BadCFA, "stack pointer of the caller is not known")
	}
	pc, _ := r.PC()
	if e := c.stepTo(cfa, sp, pc, nil, o); e != nil {
		return e
	}
	c.regs = *r
	return nil
}

// stepTo leaves the top frame, which has that CFA, for its caller at pc with the stack pointer to, found by o. at is
// the site of pc, nil if it was not looked up; the registers are left to be set. Each step of a walk but those of
// climb, which go up, comes through here, and this is why a walk ends: the stack pointer grows, or one of maxSwitches
// is used up.
func (c *cursor) stepTo(cfa, to, pc mem.Addr, at *site, o Origin) *ending {
	top := c.top()
	if to <= top.SP {
		if e := c.switchStack(to, pc); e != nil {
			return e
		}
	}
	top.CFA = cfa
	c.spIsBound, c.uncalled = false, false
	c.at = at
	c.next.PC, c.next.SP, c.next.Origin = pc, to, o
	return nil
}

// switchStack counts a step to a stack pointer that is not above the last one.
func (c *cursor) switchStack(to, pc mem.Addr) *ending {
	top := c.top()
	if to == top.SP && pc == top.PC {
		return impossible(NotAdvancing, "the caller at %#x, stack pointer %#x, is the same frame", uint64(pc),
			uint64(to))
	}
	if c.switches == maxSwitches {
		return impossible(NotAdvancing, "stack pointer %#x of the caller is not above %#x, after %d changes of stack",
			uint64(to), uint64(top.SP), maxSwitches)
	}
	c.switches++
	return nil
}

// isRoot reports whether the top frame is the outermost, without going on.
func (c *cursor) isRoot() bool {
	saved, top := *c, *c.top()
	e := c.step()
	*c = saved
	*c.top() = top
	return e != nil && e.stop == Root
}
