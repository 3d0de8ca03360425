package sampler

import (
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// Mode says which time is recorded.
type Mode uint8

// The modes of --mode.
const (
	Wall Mode = iota // all threads, waiting ones too
	CPU              // threads that run
)

// Options says what to record. The zero value samples all threads as fast as it goes.
type Options struct {
	// Rate is how many samples are wanted in a second; 0 samples as fast as it goes.
	Rate float64
	Mode Mode
	// LockHolders counts a thread alone while it holds the lock that only one thread of its runtime has while it runs:
	// the GIL of Python.
	LockHolders bool
	// MaxOverhead is the share of one CPU that this program may take, and the share of time
	// that running threads may be stopped, before the rate is lowered; 0 sets no limit.
	MaxOverhead float64
	// BudgetWindow is over how long the cost is measured, 0 means a second. A recording that names what it has at
	// intervals takes one of those.
	BudgetWindow time.Duration
	// Gentle is for a recording of days that may cost next to nothing: MaxOverhead is shared among the processes, so
	// that those that cost more than their part are sampled less often than others, and what changes seldom is read
	// less often.
	Gentle bool
	// Stay goes on when no process is left, or none was given: others are added while it runs.
	Stay bool
	// Children follows what the processes start, and what is found below them.
	Children bool
	// KernelStacks puts where in the kernel a thread waits, outermost first, behind the system call that it waits in.
	// It takes CAP_SYS_ADMIN, and a read of /proc each time that a thread has gone to sleep.
	KernelStacks bool
	// TIDs are the threads to sample; nil means all.
	TIDs      []int
	MaxFrames int // of one stack; 0: no limit but the stack itself
	Unwind    unwind.Mode
	// MaxPause is how long one thread is waited for, see tracer.SamplerOptions; 0 means its default.
	MaxPause time.Duration
	// RepairEINTR lets calls go on that a stop would end with EINTR, see tracer.SamplerOptions.
	RepairEINTR bool
	// KeepOrder keeps when each stack was seen, as profile.Runs, up to a bound.
	KeepOrder bool
	Names     resolve.Options
	// Runtimes makes what knows the runtimes of one process; nil: none are known.
	Runtimes func(image module.Image) Runtimes
}

// Runtimes are those of one process, and what they need to be copied of each thread.
type Runtimes interface {
	unwind.Runtimes
	Copiers() []snapshot.Copier
}

// lockKnower is a Runtimes that knows whether t, a copied thread, holds the lock of its runtime.
type lockKnower interface{ HoldsLock(t *snapshot.Thread) bool }

// runtimes makes those of a process, nil for none.
func (o *Options) runtimes(p image) Runtimes {
	if o.Runtimes == nil {
		return nil
	}
	return o.Runtimes(p.Image())
}

// running reports whether threads that wait are left out.
func (o *Options) running() bool { return o.Mode == CPU }

// Stats are the counts of a recording so far. They are exact unless they say otherwise.
type Stats struct {
	Elapsed time.Duration // since Run began
	Ticks   uint64        // rounds of samples made
	// LateTicks are rounds that were due and could not be made: their time counts for the next.
	LateTicks uint64
	Samples   uint64 // threads seen, one for each thread and round
	Stacks    uint64 // different ones that were walked since the last Take, those of each thread by themselves
	Reused    uint64 // of Samples: the thread had not run, its stack is the one from before
	Stops     uint64 // threads stopped
	Peeks     uint64 // sleeping threads copied without a stop
	// Inferred counts stacks of sleeping threads that were walked without a stop with registers
	// of an earlier stop at the same place.
	Inferred uint64
	// Lost counts samples that gave nothing: a thread that did not stop in time, or a copy that
	// could not be walked in time. Their time counts for the thread's next sample.
	Lost   uint64
	Behind uint64 // of Lost: there was no room for a copy
	Cut    uint64 // walked stacks whose outermost frame was not reached
	// CallEnds counts samples of threads that were stopped at the end of a system call which may have begun only after
	// that was wanted, and that count there for want of a better place.
	CallEnds uint64
	Late     uint64 // walked stacks that were read in part after the stop
	// Unsure counts samples, of those that Take gave, with frames whose names are not sure, Missing those of which a
	// runtime's frames are missing. Their stacks have a word each that says so.
	Unsure, Missing uint64
	// Short counts samples of which a Copier did not get all that it asked for; Shortfall is the last, "" for none.
	Short     uint64
	Shortfall string
	// Unseen is the CPU time of threads and processes that ended between two samples, within that of the profile: a
	// sample of one of them represents others so far as chance allows to say, the rest is a frame of its own.
	Unseen time.Duration
	// UnmetProcesses and UnmetThreads began and ended between two samples, so that none of them is in the profile.
	// There were at least as many, and no more if AllHeard. Where the kernel did not report beginnings Heard is
	// false, and they are not known.
	UnmetProcesses, UnmetThreads uint64
	Heard, AllHeard              bool
	Threads                      int // followed now
	Processes                    int // followed now
	Ended                        int // processes that ended while they were followed
	// PauseP50, P90 and P99 are how long a thread was stopped, at the median, in 90 and in 99 of 100
	// stops at most, within a tenth; PauseMax is the longest.
	PauseP50, PauseP90, PauseP99, PauseMax time.Duration
	// Stopped is the share of the time in which threads ran that they were stopped for a sample.
	Stopped float64
	// Overhead is the CPU time of this program over Elapsed, one CPU is 1; after the last Take with the naming.
	Overhead     float64
	MaxOverhead  float64 // what it may be, 0: anything
	Rate, Wanted float64 // rounds a second: made, wanted
	BackedOff    uint64  // how often the rate was lowered
	Notes        []string
}
