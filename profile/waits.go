package profile

import "time"

// Wait is what one thread waits for.
type Wait struct {
	// Text says it for a person: `waits for mutex 0x7f… held by 813 "worker-2"`. It has names of the target.
	Text string
	Kind string // "mutex", "pipe", …
	Name string // which one, "" if Addr says it
	Addr uint64 // of the object in the memory of who waits, 0 if it is not there
	// Mode is what must happen: "one" (an owner must act), "all", "any" (one of Wakers may), "time", "outside", "idle"
	// (it waits for work), "unknown".
	Mode   string
	Wakers []Waker
	// Certainty is how sure Wakers are: "proven", "shown", "inferred", "possible"; "" without any.
	Certainty string
	Timed     bool          // it ends by itself
	Left      time.Duration // how long that takes still, 0 if unknown
	Evidence  []string      // what it was seen by
	// Lost is the id of its owner where that is no living thread of the process, 0 mostly. Forked says that it is one
	// of the process that this one was forked from.
	Lost   int
	Forked bool
	// Listens says that somebody who connects ends it too.
	Listens bool
}

// Waker is who can end a wait: a thread, or any of a process where TID is 0.
type Waker struct{ PID, TID int }

// WaitCycle is threads that wait for each other.
type WaitCycle struct {
	// Kind is "deadlock", "passing" (one of the waits ends by itself), "supposed" (an edge is not proven) or "stuck"
	// (only threads of the set could wake one).
	Kind    string
	Text    string // what it is, a sentence
	Threads []int  // in the order of the edges
	Lines   []string
	Stood   time.Duration // how long it is known to have been so
	Behind  []int         // threads that wait for one of these
}

// WaitRoot is what others wait for in the end.
type WaitRoot struct {
	Waker
	Text      string // a sentence
	Behind    []int
	Certainty string
}

// WaitingThread is a thread, without a stack, of one of several processes.
type WaitingThread struct {
	PID int
	Thread
}

// Waits is who waits for whom, in one process or several.
type Waits struct {
	Time      time.Time
	Processes []Process
	Threads   []WaitingThread // of the processes that were asked for
	Cycles    []WaitCycle     // deadlocks first
	Roots     []WaitRoot      // those with most waiters first
	// Waiting is how many threads wait for others, Owned of how many of them it is known for whom.
	Waiting, Owned int
	Problems       []string // what could not be had
}
