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
	// Output reads what they have put out.
	Output() Output
}

// Usage is what processes have used so far, and those that are there.
type Usage struct {
	Of       map[procfs.Identity]Used
	Commands map[procfs.Identity]string // command lines of processes that had not been there before
}

// Used is what one process has used, with children that it waited for.
type Used struct {
	Parent int // its id
	CPU    time.Duration
}

// Evidence are counts that only grow.
type Evidence struct {
	Network map[uint64]uint64 // bytes in and out, by socket
	IO      IOs
	Output  Output
}

// Output is what was put out so far.
type Output struct {
	Seen bool          // it shows at all
	Mark uint64        // of files: another one if there was output
	Late time.Duration // how late a change of Mark may be
	IO   IOs           // where output goes to a pipe or a socket; nil where none does
}

// since reports whether there was output since before.
func (o *Output) since(before *Output) bool {
	return o.Mark != before.Mark || o.IO.Written(before.IO, true) > 0
}
