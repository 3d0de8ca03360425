package top

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// Source is where the profiles come from. Both methods are called from one goroutine that
// is not the caller's of [Run], while the sampling goes on. None is called when Run or
// [Print] has returned.
type Source interface {
	// Take returns everything since the Take before, or since the begin. The profile is
	// top's to read from then on, and is not changed by it.
	Take() (*profile.Profile, error)
	// Stats describes the sampling from its begin until now.
	Stats() Stats
}

// Stats is what the head says about the sampling.
type Stats struct {
	Wanted, Reached    float64       // samples a second; Wanted is 0 for as fast as it goes
	PauseP50, PauseMax time.Duration // how long a thread was stopped for one sample
	Stood              float64       // share of their time that the threads were stopped
	Threads            int           // that live now
	Ticks, Late        uint64        // rounds of samples made, and rounds that could not be made in time
	Samples, Lost      uint64        // threads seen, and samples that gave no stack
	Walked, Cut        uint64        // stacks walked, and those of which the outermost frame was not reached
	Notes              []string      // what was missed or given up, a short line each
}

// PanicError is a panic of a goroutine, with its stack.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Guard runs f and turns a panic into a [*PanicError], so that the terminal can be restored
// before the program ends. A goroutine that is not under it ends the program as it is.
func Guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return f()
}
