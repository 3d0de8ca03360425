// Package trigger decides when a process tree has gone on for too long, has been idle for too long, or silent.
//
// It reads what the kernel counts, attaches to nothing and needs no rights for what belongs to others, but where that
// is said. It works on any processes: a command that was started, or those that run already.
package trigger

import "time"

// Limits are how long what may last. 0 is no limit.
type Limits struct {
	Deadline time.Duration // in all
	Warn     time.Duration // in all, to capture and go on
	Idle     time.Duration // with less CPU than IdleCPU, and nothing that moves
	// IdleCPU is the part of a CPU that a process may use in the mean and is idle.
	IdleCPU float64
	Silent  time.Duration // without output
}
