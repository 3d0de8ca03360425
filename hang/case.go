package hang

import (
	"time"

	"github.com/fpstack/fpstack/profile"
)

// Case is what was captured of one process tree, or of several, in moments some seconds apart. Who fills it owns it;
// it is not changed behind its back, and holds any bytes in the names of the target.
type Case struct {
	Trigger   Trigger
	Command   []string  // that we started, nil where processes were named
	Kept      bool      // it is of dumps that were made before: whether something moved is not known
	Roots     []int     // the processes that were named, or that of the command
	Began     time.Time // when the command began, or its oldest process; zero if that is not known
	Triggered time.Time
	// Processes is the whole tree, parents before their children, as the kernel shows it without a stop.
	Processes []Process
	// Outside are the processes outside the tree that something of it waits for, and their parents.
	Outside []Process
	Moments []Moment // in the order of time
	// Beside are dumps of processes outside the tree that something of it waits for in the end, taken without a stop
	// behind the last moment.
	Beside []*profile.Dump
	// Close are further samples, some 50 ms apart, of the threads that seemed to spin: at most three.
	Close    []CloseSamples
	Activity Activity // between the first moment and the last
	// Killed are processes below the command that SIGTERM or SIGKILL had ended before, by whomever; nil if none was
	// seen.
	Killed []Killed
	// Cores are those that were written before the processes were ended, nil if none were wanted.
	Cores []Core
	// Problems are what could not be captured and why, for a person.
	Problems []string
}

// Trigger is why a case was captured.
type Trigger struct {
	Kind  TriggerKind
	After time.Duration // the limit that was reached, 0 for none
	Note  string        // such as the name of the signal; "" for nothing
}

// TriggerKind is what made us capture.
type TriggerKind string

// The triggers. Their text is that of hang.json.
const (
	Asked       TriggerKind = "asked"        // somebody typed fpstack hang, or sent the signal that asks for a dump
	Warned      TriggerKind = "warn"         // --warn
	Deadline    TriggerKind = "deadline"     // --deadline
	Idle        TriggerKind = "idle"         // --idle
	SilentIdle  TriggerKind = "idle-output"  // --idle-output
	Signalled   TriggerKind = "signal"       // somebody wants us to end
	ParentEnded TriggerKind = "parent-ended" // who started us is gone, in a CI job
)

// Process is what the kernel shows of one process without a stop.
type Process struct {
	PID, Parent int
	Session     int
	Name        string // comm
	Exe         string
	Args        []string
	Dir         string // its working directory
	State       string // one letter of /proc/PID/stat
	User        uint32
	Started     time.Time
	Start       uint64        // the same in ticks after boot: it tells a process from another that got its id
	CPU         time.Duration // of all its threads, those that ended too
	ChildCPU    time.Duration // of children that it waited for
	Threads     int
	Memory      uint64 // resident bytes
	// Variables are the names in its environment, without the values.
	Variables []string
	Lines     []string // further facts for a person: open pipes and sockets, limits
	// Jobserver is the pipe or FIFO by which make hands out tokens to it: "pipe:[123]", a path; "" for none.
	Jobserver string
	// LastOutput is the last line of the file that its standard output is, "" if that is no file.
	LastOutput string
	// LockedFiles are files that it has open and another process has locked.
	LockedFiles []LockedFile
	// Fuse says that it has /dev/fuse open: it answers for a file system.
	Fuse bool
	// Backend is what it does as a process of a database, by its title.
	Backend Backend
}

// Killed is a process that a signal ended.
type Killed struct {
	PID    int
	Name   string
	Signal string
	Seen   time.Time
}

// Core is the core file of one process, or why there is none.
type Core struct {
	PID     int
	File    string // its path in the report, "" if there is none
	Size    int64  // bytes, holes included
	Written int64  // bytes of memory that it has
	Left    int64  // bytes that belong into it and are not there, 0 mostly
	Unread  int64  // bytes that could not be read, and look like zeros
	Stopped time.Duration
	// Problem says why there is none, why it is cut, or what else is wrong with it; "" mostly.
	Problem string
}

// LockedFile is an open file on which another process has a lock.
type LockedFile struct {
	Path   string
	Holder int
}

// Moment is all processes at one time.
type Moment struct {
	Time time.Time
	// Dumps are those of the processes that could be sampled, leaves of the tree first. They are one graph of waits.
	Dumps []*profile.Dump
	// Counters are those of each thread, read before its process was stopped and again afterwards.
	Counters map[int]Span
	// Waits is who waits for whom in all processes of the moment and in those outside that they wait for; its Threads
	// are those of both. nil if it could not be made.
	Waits *profile.Waits
}

// CloseSamples are samples of one thread in quick succession.
type CloseSamples struct {
	PID, TID int
	Stacks   []profile.Stack
	// Calls is in how many of them the thread slept in a system call.
	Calls int
}

// Span is the counters of one thread on both sides of a stop of ours, which is itself a switch. Source:
// /proc/TID/schedstat and /proc/TID/status.
type Span struct{ Before, After Counters }

// Counters are what the kernel counts of a thread.
type Counters struct {
	CPU, Delay            time.Duration // ran, and waited for a CPU
	System                time.Duration // the part of CPU in the kernel, in steps of 10 ms
	NoDelay               bool          // Delay is not known
	Voluntary, Preemptive uint64        // switches
	Start                 uint64        // when the thread began, ticks after boot, 0 if unknown: ids are used again
	Slept                 time.Duration // how long it had not run at least, of the first moment alone; 0 if unknown
	Time                  time.Time     // of the reading
}

// Activity is what moved between the first moment and the last.
type Activity struct {
	Network, IO, Output uint64     // bytes
	Commands            []string   // that had not been seen before
	Repeats             []string   // that were started once more, those that were most often first
	Began               int        // processes
	Executed            []Executed // processes of the tree
	Ended               []Ended    // roots
}

// Executed is a process that became another program: execve(2).
type Executed struct {
	PID       int
	Name, Now string // the kernel's, before and since
}

// Ended is a process that ended.
type Ended struct {
	PID  int
	Name string // the kernel's
}
