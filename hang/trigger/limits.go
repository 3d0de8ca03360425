// Package trigger decides when processes have gone on for too long, have been idle for too long, or silent.
//
// It reads what the kernel counts, attaches to nothing and needs no rights for what belongs to others, but where that
// is said. It works on any processes: a command that was started, or those that run already.
//
// Idle is decided by means over a whole window, as a runtime that hangs still wakes now and then: a JVM in a deadlock
// uses 0.8 ms of CPU a second. Little CPU alone does not show a hang either: a download uses 1.9 ms. So what is quiet
// is idle only if nothing moves: no bytes, no output, no new commands.
package trigger

import (
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// Limits are how long what may last. 0 is no limit.
type Limits struct {
	Deadline time.Duration // in all
	Warn     time.Duration // in all, to capture and go on
	Idle     time.Duration // with less CPU than IdleCPU, and nothing that moves
	// IdleCPU is the part of a CPU that a process may use in the mean and is idle; all together five times as much.
	IdleCPU float64
	Silent  time.Duration // without output
}

// together is how many times what one may use all may use.
const together = 5

// Bytes in a window beyond which processes are not idle.
const (
	mostNetwork = 64 << 10
	mostIO      = 1 << 20
)

// Source reads processes.
type Source interface {
	// Usage reads what all of them have used. It is cheap.
	Usage() Usage
	// Evidence reads what shows that they do something without a CPU.
	Evidence() Evidence
	// Output is a number that changes with each output, which may be so late that output shows no more; ok is false if
	// outputs cannot be seen.
	Output() (mark uint64, late time.Duration, ok bool)
}

// Usage is what processes have used so far, and those that are there.
type Usage struct {
	CPU      map[procfs.Identity]time.Duration // with that of children that they waited for
	Commands []string                          // command lines of processes that had not been there before
}

// Evidence are counts that only grow.
type Evidence struct {
	Network map[uint64]uint64          // bytes in and out, by socket
	IO      map[procfs.Identity]uint64 // bytes that were read and written
	Output  uint64                     // as Source.Output
}
