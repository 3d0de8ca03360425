package profile

import (
	"iter"
	"time"
)

// Fiber is a thread that a runtime of the process schedules by itself: a goroutine.
type Fiber struct {
	Kind  string // "goroutine"
	ID    uint64
	Name  string // that the program gave it, "" for none; any bytes
	State string // in the words of its runtime, "chan receive"
	Wait  FiberWait
	// Object is the address of the lock that it waits for, in the memory of the process; 0 if unknown.
	Object uint64
	// Test is the name of the test of a test runner that it runs, "" for none or if unknown; any bytes.
	Test string
	// Waits is how long it has been in State at least, 0 if unknown.
	Waits  time.Duration
	Locked bool // it keeps its thread to itself
	System bool // the runtime made it for its own work
	// TID is the thread that runs it, 0 if none does. The stack is then the thread's, unless Stack has frames.
	TID int
	// Stack is where its stack is among Dump.FiberStacks: those of many are the same.
	Stack   int
	Missing string // why it has no stack, "" if it has one
	Creator uint64 // the fiber that created it, 0 if unknown
	// AwaitedBy are the ids of those that wait for it to end, as far as known.
	AwaitedBy []uint64
	// HeldBy are the ids of those that have what it waits for, and let it go on by giving that back: proven. nil if
	// unknown.
	HeldBy []uint64
	Timed  bool // a timer lets it go on, too
	// LoopTID is the thread whose event loop runs it when it goes on, 0 if unknown.
	LoopTID int
	// Locals are the local variables of frames of its stack, by Frame.Index; nil if they were not asked for.
	Locals map[int][]Variable
}

// Kinds of fibers that go on when what they wait for is there, in a thread that runs one after the other. Those that
// are async functions are not of a thread of any sort, so that none of them runs while it is listed, and others may go
// on that no list has.
const (
	AsyncCall = "async call" // functions that wait one for the other
	AsyncTask = "async task" // those that an executor lets go on as one, as a task of tokio
	LoopTask  = "task"       // of asyncio
)

// IsAsync reports whether f is async functions that wait.
func (f *Fiber) IsAsync() bool { return f.Kind == AsyncCall || f.Kind == AsyncTask }

// Awaits reports whether f is of one of these kinds.
func (f *Fiber) Awaits() bool { return f.IsAsync() || f.Kind == LoopTask }

// FiberStack is the stack of one or more fibers.
type FiberStack struct {
	Stack Stack
	// CreatedBy is the call that created them, with the functions inlined there, innermost first; nil if unknown.
	CreatedBy []Frame
}

// FiberID names the fiber that a thread runs.
type FiberID struct {
	Kind string
	ID   uint64
	Name string // "" for none
}

// FrameLists gives every list of frames in d, to be changed in place or replaced. One that several stacks share is
// given once, and what it becomes is that of all of them.
func (d *Dump) FrameLists() iter.Seq[*[]Frame] {
	return func(yield func(*[]Frame) bool) {
		given := map[frameList][]Frame{}
		give := func(list *[]Frame) bool {
			if len(*list) == 0 {
				return yield(list)
			}
			key := frameList{&(*list)[0], len(*list)}
			if now, ok := given[key]; ok {
				*list = now
				return true
			}
			more := yield(list)
			given[key] = *list
			return more
		}
		for i := range d.Threads {
			if !give(&d.Threads[i].Stack.Frames) {
				return
			}
		}
		for i := range d.FiberStacks {
			s := &d.FiberStacks[i]
			if !give(&s.Stack.Frames) || !give(&s.CreatedBy) {
				return
			}
		}
	}
}

// frameList is a list of frames, by where it is.
type frameList struct {
	first *Frame
	len   int
}

// FiberWait is what a fiber waits for, where its runtime tells. Its text is that of JSON.
type FiberWait string

// What fibers wait for. "" is not known.
const (
	FiberRuns    FiberWait = "runs"    // it runs, or is ready to
	FiberCall    FiberWait = "call"    // it is in a system call
	FiberTimer   FiberWait = "timer"   // it sleeps
	FiberNet     FiberWait = "net"     // a descriptor
	FiberLock    FiberWait = "lock"    // a lock that another fiber has
	FiberSend    FiberWait = "send"    // a receiver of a channel
	FiberReceive FiberWait = "receive" // a sender
	FiberSelect  FiberWait = "select"  // one of several channels
	FiberCond    FiberWait = "cond"    // a condition
	FiberGroup   FiberWait = "group"   // the end of others
	FiberFuture  FiberWait = "future"  // a result
	FiberNobody  FiberWait = "nobody"  // what nothing leads to that could end it
)
