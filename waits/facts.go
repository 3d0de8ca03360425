package waits

import (
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/procfs"
)

// Facts are what was read of some processes while they ran. A [Source] adds to them, in rounds.
type Facts struct {
	// Processes are those that were asked for, and behind them those that hold what these wait for.
	Processes []*Process
	// Files is what is known of descriptors, sockets and file locks.
	Files Files
	// Reader is the process that reads them, which cannot inspect itself; 0 if it is of no matter.
	Reader int
	// Near leaves descriptors of other processes unread as far as no thread can be stuck by them: of one that waits
	// for one of several descriptors, as event loops do, to one of which its own process has the other end. [Examine]
	// takes it back where that is not so.
	Near bool
	// Problems say what could not be read, and why.
	Problems []string

	processes map[int]*Process    // by id
	threads   map[int]*Thread     // by id, of all Processes
	gone      map[inner]time.Time // ids that no thread has, and since when that is known
	hidden    map[inner]bool      // ids of threads that were not inspected
}

// inner is an id of a thread in a pid namespace, 0 for ours.
type inner struct {
	namespace uint64
	id        int
}

// Process is what is known of one process.
type Process struct {
	PID, Parent int
	Comm        string // any bytes
	// Asked says that the user asked for this process; others were read since something asked for waits for them.
	Asked   bool
	Threads []*Thread
	// Maps are its mappings; nil if they could not be read.
	Maps *maps.Table
	// Word is the size of its addresses in bytes, 8 or 4; 0 if unknown.
	Word int
	// Arch is the architecture of its program as regs names it ("amd64"), "" if unknown. Numbers of system calls are
	// those of Arch.
	Arch string
	// Namespace is the inode of its pid namespace if that is another than ours, in which its memory has [Thread.Inner]
	// ids; 0 if it is ours.
	Namespace uint64
	// Caught are the signals that it has handlers for, bit n-1 for signal n; Timers says that it has timers of
	// timer_create(2).
	Caught uint64
	Timers bool
	// Clock was its CLOCK_MONOTONIC at the moment At, 0 if unknown.
	Clock time.Duration
	At    time.Time
	// Memory is what was read of its memory.
	Memory Memory
	// Space is the same number for processes that share their memory (vfork, CLONE_VM), else its own id.
	Space int
	// Locks are those of its runtimes; see Lock.
	Locks []Lock
	// Err says why not all of it could be read; nil if it could.
	Err error
}

// Thread is what is known of one thread.
type Thread struct {
	Process *Process
	TID     int
	Inner   int    // its id in its own pid namespace
	Comm    string // any bytes
	Name    string // that its language has for it, "" for none; any bytes
	State   byte   // R S D T t Z X I as /proc/TID/stat says; 0 unknown
	Start   uint64 // when it began, ticks after boot; 0 unknown
	Wchan   string // the kernel's function it sleeps in, "" if unknown or not read
	// First and Last are the readings that enclose all that was read of it. Last is zero until it was read.
	First, Last Reading
	// Asleep is by when it had fallen asleep, ticks after boot: it has not run since. 0 unknown, or not read, as
	// HasAsleep says.
	Asleep    uint64
	HasAsleep bool
	// Stack is the names of the functions on its stack, innermost first, nil if the stack was not walked. A function
	// without a name is "".
	Stack []string
	// Idle says that a runtime keeps the thread for work to come, and how; "" mostly.
	Idle string

	// Moved says that the stop of a dump found it elsewhere than it was: what it waited for is of another moment.
	Moved bool

	confirmed bool // see Confirm
	inCall    bool // see ConfirmCall
}

// Reading is what a thread did at one moment.
type Reading struct {
	At time.Time // zero: not read
	// Counters are schedstat's; where the kernel has none, Switches alone, from status. Known is false where neither
	// can be read.
	Counters procfs.Schedstat
	Known    bool
	// Call is the system call it is blocked in, as /proc shows it: its Number may be that of restart_syscall. Valid if
	// Blocked.
	Call    procfs.Syscall
	Blocked bool // else it ran or was ready to
	Refused bool // what it is blocked in may not be read
	HasCall bool // else what it is blocked in was not read
}

// Unmoved reports whether the thread did not run between its two readings.
func (t *Thread) Unmoved() bool {
	a, b := &t.First, &t.Last
	return !b.At.IsZero() && a.Known && b.Known && a.Blocked && a.Counters == b.Counters &&
		(!b.HasCall || b.Blocked && a.Call == b.Call)
}

// blockedAgain reports whether the second reading had the call too: who has not run may have been woken meanwhile.
func (t *Thread) blockedAgain() bool { return t.Last.HasCall && t.Unmoved() }

// Thread finds a thread by its id, nil if it was not read. Of nil Facts none was.
func (f *Facts) Thread(tid int) *Thread {
	if f == nil {
		return nil
	}
	return f.threads[tid]
}

// Threads is how many threads were read.
func (f *Facts) Threads() int { return len(f.threads) }

// Process finds a process by its id, nil if it was not read.
func (f *Facts) Process(pid int) *Process { return f.processes[pid] }

// Gone records that no thread has the id, in the pid namespace of that inode, which is 0 for ours.
func (f *Facts) Gone(namespace uint64, id int) {
	if f.gone == nil {
		f.gone = map[inner]time.Time{}
	}
	f.gone[inner{namespace, id}] = time.Now()
}

// Uninspected records that nothing is known of the thread with that id, nor whether there is one.
func (f *Facts) Uninspected(namespace uint64, id int) {
	if f.hidden == nil {
		f.hidden = map[inner]bool{}
	}
	f.hidden[inner{namespace, id}] = true
}

// Problem adds one to Problems, once.
func (f *Facts) Problem(text string) {
	if !slices.Contains(f.Problems, text) {
		f.Problems = append(f.Problems, text)
	}
}

// Add adds a process with its threads. One that is there already stays as it is.
func (f *Facts) Add(p *Process) {
	if f.processes[p.PID] != nil {
		return
	}
	if f.threads == nil {
		f.threads, f.processes = map[int]*Thread{}, map[int]*Process{}
	}
	f.Processes = append(f.Processes, p)
	f.processes[p.PID] = p
	for _, t := range p.Threads {
		t.Process = p
		f.threads[t.TID] = t
	}
}

// ThreadInside finds the thread that the memory of p calls id: by its id in the pid namespace of p.
func (f *Facts) ThreadInside(p *Process, id int) *Thread {
	if p.Namespace == 0 {
		return f.threads[id]
	}
	for _, q := range f.Processes {
		if q.Namespace != p.Namespace {
			continue
		}
		for _, t := range q.Threads {
			if t.Inner == id {
				return t
			}
		}
	}
	return nil
}
