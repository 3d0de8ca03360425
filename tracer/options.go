//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/snapshot"
)

// Options say how a process is opened. The zero value is usual.
type Options struct {
	// StackLimit bounds the bytes copied of one stack while it is stopped; 0 means 16 MiB.
	StackLimit int
	// StackTotal bounds the bytes copied of all stacks in one Snapshot; 0 means 64 MiB. Threads whose stacks are
	// expected beyond that are left alone: see snapshot.Snapshot.Left and Process.Batches.
	StackTotal int
	// NoStop opens a process to copy it without stopping anything: a Snapshot attaches to no thread, and what sleeps is
	// copied asleep (see [Watch.Peek]). A process that another tracer holds, one that dumps core and one that traces us
	// can be opened then.
	NoStop bool
}

// StopOptions say how a Snapshot is made. The zero value stops all threads at one instant.
type StopOptions struct {
	// TIDs are the threads to inspect; nil means all.
	TIDs []int
	// MaxPause bounds how long a thread may be stopped, and how long one that does not
	// stop is waited for (at least 250 ms if it is ready to run); 0 means one second.
	MaxPause time.Duration
	// Rolling stops Batch threads at a time instead of all at one instant.
	Rolling bool
	// Batch is 1 to 8; 0 means 8.
	Batch int
	// KernelStacks reads where in the kernel each waiting thread is, before the stop. It takes
	// CAP_SYS_ADMIN; without it the function that it sleeps in is read (wchan), and the snapshot says so.
	KernelStacks bool
	// Copiers copy what runtimes need of each thread while it is stopped. All together get a few milliseconds a stop.
	Copiers []snapshot.Copier
	// ProcessCopiers copy what runtimes need of the process as a whole, when all threads are stopped at one instant:
	// not with TIDs, and not if Rolling. ProcessTime bounds how long that may hold the threads, within MaxPause; 0
	// means what snapshot.GatherRead has for each, some 50 ms, and 150 ms for all.
	ProcessCopiers []snapshot.ProcessCopier
	ProcessTime    time.Duration
	// Core, where it is not nil, is called when all threads are stopped at one instant and were copied: not with TIDs,
	// and not if Rolling. CoreTime bounds how long that may hold the threads, beyond MaxPause; 0 means ten seconds.
	Core     CoreWriter
	CoreTime time.Duration
	// Known is what was read of threads before; nil: nothing was. What /proc shows of one that has not run since is not
	// read again. It is called by several goroutines at once.
	Known func(tid int) (Known, bool)
}

const (
	defaultStackLimit = 16 << 20
	defaultStackTotal = 64 << 20
	defaultMaxPause   = time.Second
	maxBatch          = 8
	// straggling is how long the others wait for a thread that does not stop.
	straggling = 20 * time.Millisecond
	// runnablePause is the least wait for a thread that is ready to run: a throttled
	// cgroup gives it the CPU only every 100 ms.
	runnablePause = 250 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.StackLimit <= 0 {
		o.StackLimit = defaultStackLimit
	}
	if o.StackTotal <= 0 {
		o.StackTotal = defaultStackTotal
	}
	return o
}

func (o StopOptions) withDefaults() StopOptions {
	if o.MaxPause <= 0 {
		o.MaxPause = defaultMaxPause
	}
	if o.Batch <= 0 || o.Batch > maxBatch {
		o.Batch = maxBatch
	}
	return o
}
