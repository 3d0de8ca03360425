package snapshot

import (
	"time"

	"github.com/fpstack/fpstack/mem"
)

// Fiber is a thread that a runtime of the process schedules by itself on the threads of the kernel: a goroutine.
type Fiber struct {
	Kind  string // what its runtime calls it, "goroutine"
	ID    uint64
	Name  string // that the program gave it, "" for none; any bytes
	State string // in the words of its runtime, "chan receive"
	Wait  FiberWait
	// Object is the address of what it waits for, in the memory of the process: a lock. 0 if that is not known.
	Object uint64
	// Test is the name of the test of a test runner that it runs, "" for none; any bytes.
	Test string
	// Waits is how long it has been in State at least; 0 if that is not known.
	Waits time.Duration
	// Locked says that no other thread runs it, nor that thread another fiber.
	Locked bool
	// System says that the runtime made it for its own work.
	System bool
	// TID is the thread that runs it; 0 if none does. Where Thread has no registers the stack is that of this thread.
	TID int
	// Thread is its stack and registers while no thread runs it, as if it were a thread by itself. PC is a return
	// address unless Interrupted says that it is where the fiber goes on. Registers are nil if they are not known.
	Thread      Thread
	Interrupted bool
	// Stack is the memory that the runtime gave it for its stack, where a thread that runs it may be too; empty if
	// unknown.
	Stack mem.Span[mem.Addr]
	// Missing says why neither Thread nor TID leads to a stack; "" if one does.
	Missing string
	// CreatedBy is the return address of the call that created it, 0 if unknown; Creator the fiber that made the
	// call, 0 if unknown.
	CreatedBy mem.Addr
	Creator   uint64
	// AwaitedBy are the ids of those that wait for it to end, as far as known.
	AwaitedBy []uint64
	// HeldBy are the ids of those that have Object, and let go on who waits for it by giving it back: proven.
	HeldBy []uint64
	// Timed says that a timer lets it go on, too.
	Timed bool
	// LoopTID is the thread whose event loop runs it when it goes on, 0 if unknown.
	LoopTID int
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
