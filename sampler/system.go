package sampler

import (
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// system is the machine as the sampler sees it: live.go has the real one, tests draw theirs.
type system interface {
	opener
	stopper
	clock
}

// opener finds processes.
type opener interface {
	// Open opens a process to be followed.
	Open(pid int) (target, error)
	// LastID is the id given last to a process or thread.
	LastID() (int, error)
	// Kin returns what has that id: the process that a thread belongs to, and that one's parent.
	Kin(id int) (pid, parent int, err error)
	// Events listens to what begins and ends on this machine. It fails where that is not to be had.
	Events() (eventSource, error)
}

// stopper is the OS thread that stops threads: see tracer.Sampler.
type stopper interface {
	Do(f func()) error
	// Collect waits for a thread that was interrupted, inside of Do; nil if none has stopped.
	Collect(d time.Duration) (*tracer.Copy, error)
	// GiveUp leaves what was not collected to the end of Do.
	GiveUp()
	Dirty() bool
	Close() error
}

// clock has the time, and waits.
type clock interface {
	ticking
	// After sends once d has passed, at once for none.
	After(d time.Duration) <-chan time.Time
	// Pause sleeps on the OS thread of the stopper, inside of Do; it may end early. With prompt it is woken
	// before all usual threads, and stays before them until what is interrupted next has been collected.
	Pause(d time.Duration, prompt bool)
	// Nap is a short sleep on any other thread: see tracer.Nap.
	Nap(d time.Duration)
}

// ticking has two times: both count from some moment before the recording.
type ticking interface {
	Now() time.Duration
	// OwnCPU is the CPU time that this program has taken.
	OwnCPU() time.Duration
}

// target is a process that is followed.
type target interface {
	kinship
	spender
	image
	Watch(tid int) (watch, error)
	Close() error
}

// kinship lists the threads of a process and what it has started.
type kinship interface {
	PID() int
	// Began is when it did, as in profile.Task.
	Began() (uint64, error)
	ThreadIDs() ([]int, error)
	Children() ([]int, error)
}

// spender has how much CPU time a process has taken, with its threads that have ended.
type spender interface {
	Clock() (time.Duration, error)
	// Reaped is that of its children that have ended, and who its own parent is.
	Reaped() (cpu time.Duration, parent int, err error)
}

// image is the program that a process runs.
type image interface {
	mem.Reader
	Replaced() bool
	Reopen() error
	Maps() (*maps.Table, error)
	// Walker makes what walks its stacks, and finds their modules.
	Walker(set *module.Set, names unwind.Functions, runtimes unwind.Runtimes) walker
	Image() module.Image
}

// walker is unwind.Walker.
type walker interface {
	WalkInto(s *unwind.Stack, t *snapshot.Thread, memory mem.Reader, opt unwind.Options)
	CallNumber(t *snapshot.Thread, memory mem.Reader) (int64, bool)
	Renew()
}

// watch is a thread that is followed.
type watch interface {
	counters
	Peek(c *tracer.Copy, table *maps.Table) error
	// Stop may be called only inside of stopper.Do.
	Stop(c *tracer.Copy, table *maps.Table) error
	// Seize and Interrupt are a Stop that is collected later. All threads are seized before the first is interrupted.
	Seize(c *tracer.Copy, table *maps.Table) error
	Interrupt(c *tracer.Copy) error
	// Near moves the OS thread of the stopper to the thread's CPU, until Do ends.
	Near()
	// KernelStack is where in the kernel it waits, innermost first.
	KernelStack() ([]string, error)
	Close() error
}

// counters show without a stop what a thread does.
type counters interface {
	Counters() (tracer.Counters, error)
	Asleep() (call snapshot.Syscall, ok bool, err error)
	State() (state byte, comm string, err error)
	// First is what State gave when the thread was opened.
	First() (state byte, comm string)
}
