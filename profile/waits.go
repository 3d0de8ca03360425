package profile

import "time"

// Wait is what one thread waits for.
type Wait struct {
	// Text says it for a person: `waits for mutex 0x7f… held by 813 "worker-2"`. It has names of the target.
	Text string `json:"text"`
	// Brief is Text for the line of a thread: without who could end it besides, and sets of descriptors counted. ""
	// where nobody said it.
	Brief string   `json:"brief,omitempty"`
	Sort  WaitSort `json:"sort,omitempty"`
	Kind  string   `json:"kind"`           // what a person calls it: "mutex", "data in a pipe"
	Name  string   `json:"name,omitempty"` // which one, "" if Addr says it
	// Addr is of the object in the memory of who waits, 0 if it is not there; With of the mutex that is taken then, of
	// a condition variable, 0 if unknown.
	Addr   Address  `json:"address,omitempty"`
	With   Address  `json:"with_mutex,omitempty"`
	Mode   WaitMode `json:"mode"`
	Wakers []Waker  `json:"wakers"`
	// Certainty is how sure Wakers are: "proven", "shown", "inferred", "possible"; "" without any.
	Certainty string        `json:"certainty,omitempty"`
	Timed     bool          `json:"timed,omitempty"`     // it ends by itself
	Left      time.Duration `json:"left_ns,omitempty"`   // how long that takes still, 0 if unknown
	Length    time.Duration `json:"length_ns,omitempty"` // how long it was to last at most, where Left is unknown
	Evidence  []string      `json:"evidence"`            // what it was seen by
	// Lost is the id of its owner where that is no living thread of the process, 0 mostly. Forked says that it is one
	// of the process that this one was forked from.
	Lost   int  `json:"lost_owner,omitempty"`
	Forked bool `json:"forked,omitempty"`
	// Listens says that somebody who connects ends it too.
	Listens bool `json:"listens,omitempty"`
	// Peer is the address of the other end of a connection, as "10.0.0.7:5432" or a path; "" for none.
	Peer string `json:"peer,omitempty"`
	// Made says that it is a connection that the process asked for itself.
	Made bool `json:"made,omitempty"`
	// Children are processes whose end a handler of SIGCHLD would tell, whatever else the thread waits for.
	Children []int `json:"children,omitempty"`
	// Handled are the signals that the program has handlers for, which may end the wait, bit n-1 for signal n; Alarm
	// says that one may come by itself: a timer may be set.
	Handled uint64 `json:"handled_signals,omitempty"`
	Alarm   bool   `json:"alarm,omitempty"`
	// Set are the descriptors of which it waits for one, the first of them; nil of other waits.
	Set []WaitPart `json:"set,omitempty"`
}

// WaitPart is one of several descriptors that are waited for.
type WaitPart struct {
	FD      int      `json:"fd"`
	Sort    WaitSort `json:"sort"`
	Name    string   `json:"name,omitempty"`
	Peer    string   `json:"peer,omitempty"`
	Listens bool     `json:"listens,omitempty"`
	Own     bool     `json:"own,omitempty"`  // only the process itself has its other end
	Made    bool     `json:"made,omitempty"` // of a connection that the process asked for itself
	Wakers  []Waker  `json:"wakers"`
}

// Waker is who can end a wait: a thread, or any of a process where TID is 0.
type Waker struct {
	PID int `json:"pid,omitempty"`
	TID int `json:"tid,omitempty"`
}

// WaitCycle is threads that wait for each other.
type WaitCycle struct {
	Kind    CycleKind     `json:"kind"`
	Text    string        `json:"text"`               // what it is, a sentence
	Threads []int         `json:"threads"`            // in the order of the edges
	Lines   []string      `json:"lines"`              // what the first of Threads wait for, one each
	Stood   time.Duration `json:"stood_ns,omitempty"` // how long it is known to have been so
	Behind  []int         `json:"behind"`             // threads that wait for one of these
}

// WaitRoot is what others wait for in the end.
type WaitRoot struct {
	Waker
	Text      string `json:"text"` // a sentence
	Behind    []int  `json:"behind"`
	Certainty string `json:"certainty"`
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

// WaitSort is the sort of thing that a thread waits for: what rules go by, as [Wait.Kind] is for a person. Its text is
// that of JSON.
type WaitSort string

// The sorts of waits.
const (
	SortOther         WaitSort = "other"     // what is not known, or of no matter
	SortLock          WaitSort = "lock"      // a lock that a thread holds
	SortThread        WaitSort = "thread"    // the end of a thread
	SortSafepoint     WaitSort = "safepoint" // a thread to come to where a runtime can stop it, or what is done then
	SortCondition     WaitSort = "condition" // a condition variable and its like: nobody holds it
	SortTask          WaitSort = "task"      // the end of a task or async function, which is no thread
	SortSemaphore     WaitSort = "semaphore"
	SortPool          WaitSort = "pool"    // a connection or an object of a pool that has none free
	SortUnbegun       WaitSort = "unbegun" // a result that no thread has begun to compute
	SortBarrier       WaitSort = "barrier"
	SortFutex         WaitSort = "futex"     // a word of which it is not known what it is part of
	SortWork          WaitSort = "work"      // a runtime keeps the thread for work to come
	SortTimers        WaitSort = "timers"    // a runtime keeps the thread for timers of the program
	SortChild         WaitSort = "child"     // the end of a child
	SortProcess       WaitSort = "process"   // the end of a process
	SortVfork         WaitSort = "vfork"     // a child by vfork to execute or end
	SortPipeData      WaitSort = "pipe-data" // data in a pipe
	SortPipeRoom      WaitSort = "pipe-room" // room in a full pipe
	SortSocketData    WaitSort = "socket-data"
	SortSocketRoom    WaitSort = "socket-room"
	SortConnection    WaitSort = "connection" // somebody to connect
	SortAcceptance    WaitSort = "acceptance" // its own connection to be accepted
	SortFileLock      WaitSort = "file-lock"
	SortSet           WaitSort = "set" // one of several descriptors
	SortDescriptor    WaitSort = "descriptor"
	SortEvent         WaitSort = "event" // an eventfd or its like
	SortSignal        WaitSort = "signal"
	SortTime          WaitSort = "time"
	SortTerminalInput WaitSort = "terminal-input"
	SortTerminalRoom  WaitSort = "terminal-room"
	SortFuse          WaitSort = "fuse" // an answer of a FUSE file system
	SortNFS           WaitSort = "nfs"
	SortDisk          WaitSort = "disk" // a file or its file system
	SortDevice        WaitSort = "device"
	SortKernel        WaitSort = "kernel"  // a lock of the kernel
	SortPage          WaitSort = "page"    // a page of memory
	SortWatch         WaitSort = "watch"   // a change of a file
	SortRing          WaitSort = "ring"    // operations of an io_uring
	SortQueue         WaitSort = "queue"   // a message queue or semaphore of System V or POSIX
	SortOpen          WaitSort = "open"    // a file to open
	SortCall          WaitSort = "call"    // a system call of which no more is known
	SortTraced        WaitSort = "traced"  // a thread that it traces
	SortHalted        WaitSort = "halted"  // it is stopped: by a signal, a tracer, a frozen control group
	SortNothing       WaitSort = "nothing" // it waits for nothing, for ever
)

// WaitMode is what must happen for a wait to end.
type WaitMode string

// The modes of waits.
const (
	WaitUnknown WaitMode = "unknown"
	WaitOne     WaitMode = "one"     // an owner must act
	WaitAll     WaitMode = "all"     // every one of Wakers
	WaitAny     WaitMode = "any"     // one of Wakers may
	WaitTime    WaitMode = "time"    // it ends by itself
	WaitOutside WaitMode = "outside" // somebody outside of the machine or of what is known
	WaitIdle    WaitMode = "idle"    // a runtime keeps the thread for work to come
)

// Telling is the lines of c but for those of threads that are idle, and how many these are. A cycle of idle threads
// alone has all of them.
func (c *WaitCycle) Telling(idle func(tid int) bool) (lines []string, left int) {
	for i, line := range c.Lines {
		if i < len(c.Threads) && idle(c.Threads[i]) {
			left++
		} else {
			lines = append(lines, line)
		}
	}
	if left == len(c.Lines) {
		return c.Lines, 0
	}
	return lines, left
}

// CycleKind is what a cycle of waits is.
type CycleKind string

// The kinds of cycles.
const (
	CycleDeadlock CycleKind = "deadlock"
	CyclePassing  CycleKind = "passing"  // one of the waits ends by itself
	CycleSupposed CycleKind = "supposed" // an edge is not proven
	CycleStuck    CycleKind = "stuck"    // only threads of the set could wake one
)
