// Package snapshot holds one snapshot of one process as plain data: its threads with their
// registers and states, its mappings, and the memory that was copied while it was stopped.
//
// The same type comes from a live process, from a core file and from a recorded file, and
// all that follows cannot tell them apart. [Write] stores it, and a [Reader] reads it back.
//
// It opens no process; who makes a Snapshot fills it and owns it.
package snapshot

import (
	"cmp"
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// Snapshot is one view of one process.
type Snapshot struct {
	Process Process
	Host    *regs.Arch // architecture of the kernel
	Time    time.Time  // when the first thread was interrupted
	// Stopped is the time from the first request to stop to the last release; 0 if nothing
	// was stopped.
	Stopped time.Duration
	// NoStop says that nothing was stopped, by the user's choice or since another tracer has the threads: those that
	// slept were copied asleep, at the moment of their Time, and have no Registers; the others are NotStopped.
	NoStop bool
	// Rolling says that the threads were not stopped at one instant but in batches.
	Rolling bool
	Maps    *maps.Table
	// Changed is where the code was other before the stop than after it, as Maps says: which of the two
	// the threads were in is not known.
	Changed maps.Spans
	Threads []Thread
	// Core says that it was made from a core file: all memory is of the moment of the registers, copied or not. The
	// thread that the process died by, if there is one, is the first.
	Core bool
	// Memory are further ranges that were asked for, copied while the threads were stopped.
	Memory []mem.Range
	// Whole are the ranges that ProcessCopiers asked for, copied while all threads were stopped: ascending, none
	// overlaps another. They may be many, and are no part of what [Snapshot.Reader] reads.
	Whole []mem.Range
	// Clock is the target's CLOCK_MONOTONIC at Time, in its own time namespace; 0 if nobody asked
	// (no ProcessCopiers), or if unknown.
	Clock time.Duration
	// Running are ranges that were read while the threads ran, before the stop or after it: what they hold may be of
	// another moment than the stacks. A saved snapshot has them in the place of the process ([Snapshot.Base]).
	Running []mem.Range
	// Files are the files of mappings as they were when the snapshot was saved; nil if it was not.
	Files []File
	// Contents are files that were opened by their path and that hold no program: what the process wrote for profilers.
	Contents []Content
	// FDs describes descriptors of the process as a person would: a path, "pipe:[123]",
	// "tcp 127.0.0.1:80 -> 127.0.0.1:4242 ESTABLISHED". Only those that were asked for.
	FDs map[int]string
	// Exited counts threads that were listed but ended before they could be inspected.
	Exited int
	// Late counts threads that stopped only after the others had been let go, so that they do
	// not show the same instant.
	Late int
	// Left are threads that were listed and not inspected, as their stacks are more than was to be copied at once.
	Left []int
	// Batches is how many snapshots one after the other this was made of, each as large as may be; 0 if that was not
	// counted.
	Batches int
	// Problems are things that could not be had and that a person should know of.
	Problems []string
}

// Process is what /proc shows of the whole process. A field that could not be read is empty.
type Process struct {
	PID     int
	Comm    string   // the kernel's name of the leader, at most 15 bytes
	Cmdline []string // arguments; a process may have overwritten them
	Exe     string   // path of the executable as the kernel shows it
	Role    string   // what it is for in a tree of processes, where its arguments and those of its parent say so
}

// File is a file that is mapped.
type File struct {
	Path       string // as its mappings have it
	Dev, Inode uint64
	BuildID    string // lower-case hex, "" if it has none
	Sum        string // SHA-256 in hex of what it loads, of a file without a build id; "" if unknown
	Err        string // why it could not be read, "" if it could
	NotELF     bool   // it is no ELF object, as code that a process makes in a file of its own
}

// Content is a file with what was in it.
type Content struct {
	Path string // in the view of the process
	Data []byte
}

// Thread is one thread of a Snapshot.
type Thread struct {
	TID   int
	Inner int    // its id in its own pid namespace, as its memory has it; 0 where that is TID
	Comm  string // at most 15 bytes, any bytes
	// State is R, S, D, T, t, Z, X or I as of /proc/TID/stat: where there are Registers what the thread did when it was
	// stopped, R, S or T; else as it was read. 0 is unknown.
	State byte
	// Time is when it was interrupted, or copied while it slept; zero if that is not known.
	Time time.Time
	// Arch is the architecture of its program: of Registers, or as well as is known
	// where there are none; nil if unknown.
	Arch *regs.Arch
	// Registers are those of the stop; nil if the thread was not stopped: then NotStopped
	// says why, and Syscall may hold SP and PC.
	Registers *regs.Registers
	// PACMask has the bits to clear in arm64 return addresses; 0 elsewhere.
	PACMask uint64
	// TP is the thread pointer, from which a thread's own variables are found (fs base, tpidr), if HasTP says so:
	// a thread that has not set it has 0.
	TP    mem.Addr
	HasTP bool
	// Stack is the copied part of the stack: from below SP (red zone) upward, so far as it is
	// mapped or as the limit allowed. Empty if it could not be read.
	Stack mem.Range
	// StackErr says why Stack is shorter than wanted; nil if it is whole.
	StackErr error
	// Copied is what Copiers asked for of this thread, in their order, copied at the moment of Registers. Ranges
	// may overlap one another and Stack.
	Copied []mem.Range
	// Shortfalls say which Copiers did not get all.
	Shortfalls []Shortfall
	// Syscall is the system call that the thread was blocked in when it was stopped; nil if it
	// ran, or if this could not be read.
	Syscall *Syscall
	// Signal is what the process died by, of the thread that it met; nil elsewhere.
	Signal *Signal
	// Wchan is the kernel function it sleeps in, from /proc/TID/wchan; "" if unknown, or if it has moved since.
	Wchan string
	// KernelStack is /proc/TID/stack innermost first, where it was read; else nil.
	KernelStack []string
	// NotStopped says why there are no registers; "" if there are, and for a thread that was copied asleep.
	NotStopped string
	// Counters are those of a thread that ran where nothing was stopped; nil if they were not read.
	Counters *Counters
	// Stopped is how long this thread was stopped, as we saw it.
	Stopped time.Duration
	// KernelWorker says that it has no user code at all (io_uring workers).
	KernelWorker bool
}

// SP is the stack pointer of t: that of its stop, else where its call says; false if neither is known.
func (t *Thread) SP() (mem.Addr, bool) {
	switch {
	case t.Registers != nil:
		return t.Registers.SP()
	case t.Syscall != nil:
		return t.Syscall.SP, true
	}
	return 0, false
}

// Call is the system call that t was in: Syscall, or the one from which it was coming back as it was stopped, where
// registers show that (x86); nil for none.
func (t *Thread) Call() *Syscall {
	if t.Syscall == nil && t.State == 'R' && t.Registers != nil {
		return CallOf(t.Registers)
	}
	return t.Syscall
}

// InnerTID is the id of the thread as its process calls it.
func (t *Thread) InnerTID() int { return cmp.Or(t.Inner, t.TID) }

// Counters are what the kernel counts of one thread since it began.
type Counters struct {
	CPU      time.Duration // it ran
	Waited   time.Duration // it was ready to run and had no CPU; 0 where the kernel does not count that
	Switches uint64        // how often it was put on a CPU
}

// Syscall is a system call in progress, from /proc/TID/syscall.
type Syscall struct {
	Number int64 // -1: blocked outside of any call (page fault)
	Args   [6]uint64
	SP, PC mem.Addr
}

// Signal is a signal that ended a process. Source: siginfo_t in sigaction(2).
type Signal struct {
	Number  int
	Code    int // si_code, if HasCode says that it is known
	HasCode bool
	// Addr is what a fault was at: si_addr, if HasAddr says that the kernel gave it.
	Addr    mem.Addr
	HasAddr bool
	Sender  int // process that sent it, 0 if none did or if that is not known
}

// Reader returns the memory of the snapshot as t is to be walked in: its stack, what was copied of it, all further
// ranges, and base for what was not copied; where they overlap the first of them answers. t and base may be nil.
func (s *Snapshot) Reader(t *Thread, base mem.Reader) *mem.Overlay {
	ranges := s.Memory
	if t != nil {
		ranges = slices.Concat([]mem.Range{t.Stack}, t.Copied, s.Memory)
	}
	return s.Over(base, ranges...)
}

// Over lays ranges that were copied in the snapshot over base.
func (s *Snapshot) Over(base mem.Reader, ranges ...mem.Range) *mem.Overlay {
	o := mem.NewOverlay(base, ranges...)
	o.Still = s.Core
	return o
}
