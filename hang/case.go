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
	Kind  TriggerKind   `json:"kind"`
	After time.Duration `json:"after_ns,omitempty"` // the limit that was reached, 0 for none
	Note  string        `json:"note,omitempty"`     // such as the name of the signal; "" for nothing
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
	PID     int       `json:"pid"`
	Parent  int       `json:"parent,omitempty"`
	Session int       `json:"session,omitempty"`
	Name    string    `json:"name,omitempty"` // comm
	Exe     string    `json:"exe,omitempty"`
	Args    []string  `json:"args"`
	Dir     string    `json:"cwd,omitempty"`   // its working directory
	State   string    `json:"state,omitempty"` // one letter of /proc/PID/stat
	User    uint32    `json:"user"`
	Started time.Time `json:"started,omitzero"`
	// Start is the same in ticks after boot: it tells a process from another that got its id.
	Start    uint64        `json:"-"`
	CPU      time.Duration `json:"cpu_ns"`       // of all its threads, those that ended too
	ChildCPU time.Duration `json:"child_cpu_ns"` // of children that it waited for
	Threads  int           `json:"threads"`
	Memory   uint64        `json:"memory_bytes"` // resident bytes
	// Variables are the names in its environment, without the values.
	Variables []string `json:"variables,omitempty"`
	Lines     []string `json:"facts,omitempty"` // further facts for a person: open pipes and sockets, limits
	// Jobserver is the pipe or FIFO by which make hands out tokens to it: "pipe:[123]", a path; "" for none.
	Jobserver string `json:"jobserver,omitempty"`
	// LastOutput is the last line of the file that its standard output is, "" if that is no file.
	LastOutput string `json:"last_output,omitempty"`
	// LockedFiles are files that it has open and another process has locked.
	LockedFiles []LockedFile `json:"locked_files,omitempty"`
	// Fuse says that it has /dev/fuse open: it answers for a file system.
	Fuse bool `json:"fuse,omitempty"`
	// Backend is what it does as a process of a database, by its title.
	Backend Backend `json:"backend,omitempty"`
}

// Killed is a process that a signal ended.
type Killed struct {
	PID    int       `json:"pid"`
	Name   string    `json:"name,omitempty"`
	Signal string    `json:"signal"`
	Seen   time.Time `json:"seen,omitzero"`
}

// Core is the core file of one process, or why there is none.
type Core struct {
	PID     int           `json:"pid"`
	File    string        `json:"file,omitempty"`           // its path in the report, "" if there is none
	Size    int64         `json:"size_bytes"`               // bytes, holes included
	Written int64         `json:"written_bytes"`            // bytes of memory that it has
	Left    int64         `json:"left_out_bytes,omitempty"` // bytes that belong into it and are not there, 0 mostly
	Unread  int64         `json:"unread_bytes,omitempty"`   // bytes that could not be read, and look like zeros
	Stopped time.Duration `json:"stopped_ns"`
	// Problem says why there is none, why it is cut, or what else is wrong with it; "" mostly.
	Problem string `json:"problem,omitempty"`
}

// LockedFile is an open file on which another process has a lock.
type LockedFile struct {
	Path   string `json:"path"`
	Holder int    `json:"holder"`
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
	CPU        time.Duration `json:"cpu_ns"`    // that it ran
	Delay      time.Duration `json:"-"`         // that it waited for a CPU
	System     time.Duration `json:"system_ns"` // the part of CPU in the kernel, in steps of 10 ms
	NoDelay    bool          `json:"-"`         // Delay is not known
	Voluntary  uint64        `json:"voluntary"`
	Preemptive uint64        `json:"preemptive"` // switches
	// Start is when the thread began, ticks after boot, 0 if unknown: ids are used again.
	Start uint64 `json:"start_ticks,omitempty"`
	// Slept is how long it had not run at least, of the first moment alone; 0 if unknown.
	Slept time.Duration `json:"slept_ns,omitempty"`
	Time  time.Time     `json:"time,omitzero"` // of the reading
}

// Activity is what moved between the first moment and the last.
type Activity struct {
	Network  uint64     `json:"network_bytes"`
	IO       uint64     `json:"io_bytes"`
	Output   uint64     `json:"output_bytes"`       // bytes
	Commands []string   `json:"commands"`           // that had not been seen before
	Repeats  []string   `json:"repeats,omitempty"`  // that were started once more, those that were most often first
	Began    int        `json:"began"`              // processes
	Executed []Executed `json:"executed,omitempty"` // processes of the tree
	Ended    []Ended    `json:"ended,omitempty"`    // roots
}

// Executed is a process that became another program: execve(2).
type Executed struct {
	PID  int    `json:"pid"`
	Name string `json:"name,omitempty"`
	Now  string `json:"now,omitempty"` // the kernel's, before and since
}

// Ended is a process that ended.
type Ended struct {
	PID  int    `json:"pid"`
	Name string `json:"name,omitempty"` // the kernel's
}
