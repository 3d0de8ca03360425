// Package unwind walks stacks: from the registers of a thread, its memory and the modules
// of its process to physical frames, each with the way it was found, and the reason why
// the stack ends there.
//
// The caller provides a [snapshot.Thread] with registers, a mem.Reader for the memory of
// the target and a module.Set. It needs no live process: a recorded snapshot gives the
// same stacks.
//
// It guarantees bounded work on any memory and any tables, and never prints a guess as a
// fact: a frame that rests on less than a rule or a checked frame pointer says so.
//
// It names nothing and stops nothing.
package unwind

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// Origin says how a frame was found.
type Origin uint8

// The ways to find a frame.
const (
	Context      Origin = iota // registers of the thread, or those that a signal frame saved
	CFI                        // a row of .eh_frame or .debug_frame
	PCSP                       // a row of Go's pclntab
	FramePointer               // a checked frame pointer
	LinkRegister               // the link register of an innermost frame
	Code                       // the instructions at the PC were read
	StackTop                   // the word at SP, with a call before it, where nothing else is known
	ByRuntime                  // a row that the runtime gave whose code it is
	ByWaypoint                 // a place that a runtime knows the stack to pass; frames before it may be missing
)

var originNames = [...]string{"context", "cfi", "pcsp", "frame pointer", "link register", "code", "stack top",
	"runtime", "waypoint"}

func (o Origin) String() string { return originNames[o] }

// Stop says why a stack has no more frames.
type Stop uint8

// The reasons to end.
const (
	Root         Stop = iota // outermost frame: its return address is undefined or 0
	NoRule                   // no table, no frame pointer, no readable code
	BadCFA                   // the CFA is misaligned or outside of the stack
	NotAdvancing             // the next frame is not above this one
	ReadFault                // memory that the rule needs is not readable, or was read too late
	DepthLimit               // Options.MaxFrames was reached
	NoContext                // the thread has no registers
)

var stopNames = [...]string{"root", "no rule", "bad CFA", "not advancing", "read fault", "depth limit", "not stopped"}

func (s Stop) String() string { return stopNames[s] }

// Frame is one physical frame.
type Frame struct {
	// PC is where the frame executes: the interrupted PC, or the return address as it stands
	// on the stack (without authentication code).
	PC mem.Addr
	// CFA is the value of SP just before the call into this frame; 0 if it was not found.
	CFA    mem.Addr
	SP     mem.Addr // stack pointer in this frame
	Module *module.Module
	Origin Origin
	// Interrupted says that PC is an instruction that had not run yet, not a return address.
	Interrupted bool
	// Signal says that this frame is a signal trampoline: the next one was interrupted.
	Signal bool
	// Site is what executes in the frame where the PC does not say: see [Identifier].
	Site Site
	// Runtime is the one that set Site, nil for native code.
	Runtime Runtime
	// Kept is where that has the frame in the memory of the process, 0 if that is not known.
	Kept mem.Addr
	// Stub reports whether it is a frame of the runtime's own, between functions of its language: the runtime says so.
	Stub bool
	// Note says what makes the frame less sure than its Origin; "" mostly.
	Note string
	// Unsure says that Site was found by what was read when the thread ran again, of what can move or be freed: it may
	// be another's. Note says so.
	Unsure bool
	// Gap says that frames of the runtime are missing between this one and the next outer one, or its caller where it
	// is the last. Note says why.
	Gap bool
}

// LookupPC is the address to look up in tables and symbols: PC as it is if it was
// interrupted, else an address inside the call before it.
func (f *Frame) LookupPC() mem.Addr {
	if f.Interrupted || f.PC == 0 {
		return f.PC
	}
	return f.PC - 1
}

// Stack is the physical frames of one thread, innermost first.
type Stack struct {
	Frames []Frame
	Stop   Stop
	// Err is the detail of Stop; nil for Root.
	Err error
	// Late says that the walk rests in part on memory of a thread that had been stopped which was not copied
	// meanwhile: frames that Note says so of may be of a later moment.
	Late bool
}

// What Unsettle says of frames.
const (
	unsettledNote = "other code was mapped here shortly before or after"
	beyondNote    = "found through code that may have been another's"
)

// Unsettle marks the frames whose code was other before the stop than after it, as changed says, and those
// behind them, which were found by what that code's tables say.
func (s *Stack) Unsettle(changed maps.Spans) {
	if len(changed) == 0 {
		return
	}
	note := ""
	for i := range s.Frames {
		f := &s.Frames[i]
		here := note
		if changed.Contain(f.LookupPC()) {
			here, note = unsettledNote, beyondNote
		}
		switch {
		case here == "":
		case f.Note == "":
			f.Note = here
		default:
			f.Note += "; " + here
		}
	}
}

// Mode chooses how to walk.
type Mode uint8

// The modes of --unwind.
const (
	Auto              Mode = iota // tables first, then frame pointers and code
	FramePointersOnly             // the bare chain
)

// Options bounds a walk.
type Options struct {
	Mode      Mode
	MaxFrames int // 0, and whatever is larger: [MaxFrames]
	// Called says that PC of the innermost frame is a return address, as that of a fiber is which gave its thread away.
	Called bool
	// Stack is the stack that a runtime of the process gave the thread or the fiber, [lowest address, end), where that
	// is known: a walk that is on it believes no frame outside. Elsewhere, and without it, the mapping bounds a stack.
	Stack mem.Span[mem.Addr]
}
