// Package profile holds what was found about a process in the terms of a person: logical
// frames with names, stacks of them, and the dump of a process at one moment.
//
// It imports the standard library alone and does not know where its values come from.
// Stacks are innermost frame first. Names are data from a target and may hold any bytes:
// who shows them escapes them.
package profile

import (
	"slices"
	"time"
)

// Kind says what sort of code a frame is.
type Kind uint8

// The kinds of frames.
const (
	Native  Kind = iota
	Kernel       // a frame of the kernel's own stack
	JIT          // code that a runtime made
	Signal       // a signal trampoline
	VDSO         // the kernel's page in user space
	Unknown      // an address that no module or runtime names

	// Functions of a language, where it is known which: see [Kind.Made].
	JavaScript
	Python
	DotNet
	Java
	Wasm
	Lua
	PHP
	Julia
)

var kindNames = [...]string{"native", "kernel", "jit", "signal", "vdso", "unknown", "javascript", "python", "dotnet",
	"java", "wasm", "lua", "php", "julia"}

// Made says that a runtime of a language runs the frame's code, by machine code that it made or by interpreting it: JIT
// and the languages.
func (k Kind) Made() bool { return k == JIT || k >= JavaScript && k <= Julia }

// String returns the lower-case name used in JSON.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// KindNamed is the inverse of String.
func KindNamed(name string) (Kind, bool) {
	i := slices.Index(kindNames[:], name)
	return Kind(max(i, 0)), i >= 0
}

// Frame is one logical frame. Several may belong to one physical frame: the functions that
// were inlined there, innermost first, and at last the function itself.
type Frame struct {
	Index   int    // number of the physical frame it belongs to, from 0
	Addr    uint64 // as on the stack: interrupted PC or return address; 0 where there is none: see HasAddr
	Inlined bool   // has no address of its own
	// Interrupted says that Addr is where the thread was interrupted, not a return address.
	Interrupted bool
	Kind        Kind
	Func        string // demangled name, "" if unknown
	Linkage     string // name as in the symbol table where it differs from Func
	// Offset is Addr minus the start of Func, valid if Func != "" and HasOffset; where Func is "" and there is a Module
	// it is from the start of the function that the unwind table has there, 0 where that is not known.
	Offset     uint64
	File       string // source file, "" if unknown
	Line       int    // 0 if unknown
	Column     int    // from 1 as its language counts: JavaScript in UTF-16 units, Python in bytes; 0 if unknown
	Module     int    // index in Dump.Modules, -1 for none
	ModuleAddr uint64 // Addr as linked in that module; for a return address too the address itself
	// Tier is which part of its runtime executes the function, as "interpreter"; "" where there is one way.
	Tier string
	// Stub says that the frame is a runtime's own, between functions of its language, and shown to who asks for it.
	Stub bool
	// Async says that the function is not on the stack: it waits for the frame below it in the list to end, as its
	// language shows it. Func begins with AsyncPrefix then.
	Async  bool
	Origin string // how the physical frame was found: "context", "cfi", "frame pointer", …
	Note   string // why it is less sure than its origin says; "" mostly
	// Unsure says that what executes was read later than the stack, and may be another's; Gap that frames of its
	// language are missing between this one and the next outer one. Note says why.
	Unsure, Gap bool
	// Near says that line and inlined functions are those of the nearest place which the function's runtime describes:
	// of the one that was interrupted it says nothing.
	Near bool
	// Generated says that File and Line may be of a text that a tool made from what File has now, as JavaScript from
	// TypeScript.
	Generated bool
}

// Marks are frames without code that stand outside of a frame in profiles, so that it keeps its time.
const (
	UnsureMark = "(name not sure)"  // of the next inner one: [Frame.Unsure]
	GapMark    = "(frames missing)" // [Frame.Gap]
)

// HasAddr says that Addr is one: a function that was inlined has none of its own, nor has one of Python, which the
// interpreter runs.
func (f *Frame) HasAddr() bool { return !f.Inlined && (f.Kind != Python || f.Addr != 0) }

// HasOffset says that Offset is one where Func is known: functions that a runtime may interpret, or make code of more
// than once, have none.
func (f *Frame) HasOffset() bool { return f.HasAddr() && f.Kind != JavaScript && f.Kind != Java }

// Entry is the address, as linked in its module, of the function without a name that f is in, that of f itself where
// no more is known.
func (f *Frame) Entry() uint64 { return f.ModuleAddr - min(f.Offset, f.ModuleAddr) }

// AsyncPrefix is in front of names of functions that wait for others, as JavaScript's Error.stack has it.
const AsyncPrefix = "async "

// Waits says that f is no code but the system call, or the reason in parentheses, that a thread
// waits in: a leaf of Kind Kernel that lies in no module. The kernel's own functions,
// which profiles of other programs have, lie in a module: there the thread ran.
func (f *Frame) Waits() bool { return f.Kind == Kernel && f.Module < 0 }

// Stack is the frames of one thread, innermost first, and why there are no more.
type Stack struct {
	Frames []Frame
	// Stop is the reason in one word: "root", "no rule", "bad CFA", "not advancing",
	// "read fault", "depth limit", "not stopped".
	Stop string
	// Complete says that the outermost frame was reached.
	Complete bool
	// Detail is the sentence for a person when the stack is not Complete, as
	// "frame pointer 0x7f… did not grow (previous 0x7f…)".
	Detail string
}

// Arg is one argument of a system call.
type Arg struct {
	Name  string // of the kernel's prototype, "" if unknown
	Value uint64
	Text  string // as shown: "5", "0x55d0c2a01000", "FUTEX_WAIT_PRIVATE", "-1"
	FD    string // what a descriptor is, "" if it is none or not known
}

// Syscall is the system call that a thread is in.
type Syscall struct {
	Number int64
	Name   string // "" if the number is not known
	Args   []Arg
}

// Thread is one thread of a Dump.
type Thread struct {
	TID     int
	Name    string
	State   string // one letter of /proc/TID/stat, "" if unknown
	Syscall *Syscall
	Wchan   string
	// NotStopped says why it could not be stopped; "" if it was, and if it was copied asleep.
	NotStopped string
	// Counters are those of a thread that ran where nothing was stopped, nil if they are not known.
	Counters *Counters
	// NoUserCode says that there is no stack to be had: a worker of the kernel, or a thread
	// that has ended while others live.
	NoUserCode  bool
	KernelStack []string
	Stopped     time.Duration // how long it was stopped
	Stack       Stack
	// Idle says why its stack says nothing of what the process does: a runtime keeps the thread for work to come. ""
	// mostly.
	Idle  string
	Fiber *FiberID // the fiber that it runs, nil for none
	Wait  *Wait    // what it waits for, nil if it runs or if that was not asked
	// Signal is what the process died by, of the thread that it met; nil elsewhere.
	Signal *SignalInfo
	// Runtime is what the runtime of a language knows of it, nil for nothing.
	Runtime *RuntimeThread
	Loop    *Loop // the event loop that it waits in, nil for none that is known
	// Locals are local variables of its frames by their Index, where they were asked for and can be read.
	Locals map[int][]Variable
}

// Variable is a local variable of a frame: any bytes, in the words of its language.
type Variable struct {
	Name  string // "" where Value says why there are no more
	Value string
}

// Counters are what the kernel counts of one thread since it began: how long it ran, how long it was ready to run and
// had no CPU, and how often it was put on one.
type Counters struct {
	CPU, Waited time.Duration
	Switches    uint64
}

// SignalInfo is a signal that ended a process.
type SignalInfo struct {
	Number  int
	Name    string // "SIGSEGV", "34" of one without a name
	Code    int    // si_code, if HasCode says that it is known
	HasCode bool
	Cause   string // what Code means, "" if that is not known
	// Addr is the address of a fault, if HasAddr says that it is known.
	Addr    uint64
	HasAddr bool
	Sender  int // process that sent it, 0 if none did or if that is not known
}

// Module is an object that frames lie in.
type Module struct {
	Path    string
	BuildID string   // lower-case hex, "" if it has none
	Base    uint64   // what is added to an address as linked to get the address in the process
	Start   uint64   // lowest address in the process, 0 if unknown
	End     uint64   // behind its highest address
	Offset  uint64   // where in the file Start is
	Symbols []string // the tables that name its code, as ".symtab", ".dynsym", "pclntab"; none: stripped
	Err     string   // why it could not be read, "" if it was
	// DebugFile is the path of the separate debug file that names or lines came from, "" for none.
	DebugFile string
	// Unread says which lines are there and were not read because of what they cost, "" for none.
	Unread string
}

// Process is what is shown of a process as a whole.
type Process struct {
	PID     int
	Comm    string
	Cmdline []string
	Exe     string
	Role    string // what it is for in a tree of processes, "" if that is not known
	Arch    string
}

// Dump is every thread of one process.
type Dump struct {
	Process Process
	Time    time.Time
	Stopped time.Duration
	Rolling bool // the threads were not stopped at one instant
	NoStop  bool // nothing was stopped: what slept was copied asleep
	Core    bool // it was made from a core file
	// Batches is how many stops the dump was made of, as the stacks were more than is copied at once; 0 and 1: of one.
	Batches  int
	Threads  []Thread
	Modules  []Module
	Exited   int      // threads that ended before they were stopped
	Late     int      // threads that stopped only after the others had been let go
	Problems []string // what could not be had, for a person
	Notes    []string // what a person should know of the stacks, such as that frames of a language are missing
	// Sources has text around the lines of frames by the Frame's File, where it was asked for.
	Sources map[string]Source
	// Fibers are the threads that runtimes of the process schedule by themselves, in the order of the runtime, where
	// they were asked for; their stacks are in FiberStacks.
	Fibers      []Fiber
	FiberStacks []FiberStack
	// Waits is who waits for whom, in this process and others that were dumped with it; nil if that was not asked. It
	// lists no threads: see Thread.Wait.
	Waits *Waits
}

// Source is some lines of a source file.
type Source struct {
	Lines map[int]string // by number, without the end of the line; any bytes
	Newer bool           // the file was changed after the program was built: lines may be off
	// Rewritten says that the file was changed after the process began, which reads it by itself: lines may be of
	// another text.
	Rewritten bool
}
