//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// Copy is what one sample of one thread gave. Its buffers are used again by the next sample that
// is given the same Copy: who wants to keep something copies it. The zero Copy is ready.
type Copy struct {
	// Thread has TID, Inner, Time, Arch, Registers, PACMask, Stack, StackErr, and Syscall and State so far
	// as they were seen; State 0 is unknown. Comm is empty: see Watch.State.
	Thread snapshot.Thread
	// Pause is the time from the request to stop to the release: it was stopped no longer than that.
	// A thread that had to wait for a CPU before it could stop waited within that time.
	// Stopped is the part from when we knew that it was stopped, the least that it can have been. Both
	// are 0 if it was not stopped.
	Pause, Stopped time.Duration

	// Blocked says that the thread waited in a system call, which goes on, or is restarted,
	// after the sample. Then Counters are the base to compare with: see Counters.Unmoved.
	Blocked bool
	// Counters are those of a thread that is Blocked, our own stop counted in. They are zero
	// for others: a thread that runs has always run since the last sample.
	Counters Counters

	// AtStop are the counters while it was stopped, as exact as they can be: it was taken from its CPU. They
	// are zero if it was not stopped.
	AtStop Counters
	// Unnoticed is how long it was stopped before we knew, at least: for so long this OS thread waited for a
	// CPU after the stop had woken it, or between two checks whether it has stopped.
	Unnoticed time.Duration

	// Elsewhere says that it ran last on another CPU than the one that we interrupted it from: then it is not we who
	// took its CPU from it. It is false where that is not known, as it is of all but the first that is interrupted.
	Elsewhere bool

	// Inferred says that it was not stopped, and that Registers, except for SP and PC, are
	// those of the last Stop of this thread, which then was in the same call, with the same
	// SP and PC. Ran says what that is worth.
	Inferred bool
	// Ran says of Inferred registers that the thread has been woken since that stop: they are
	// a guess, as it may have come to the same place by another way. If it is false they are
	// those it has now: it sleeps in the call that it slept in then, and the kernel keeps the
	// registers that a call preserves. A wake-up in the very microseconds of that stop is not
	// known from the stop itself.
	Ran bool
	// Stale says that SP lies in no mapping of the table that was given: it is time to read
	// them again.
	Stale bool

	// Copiers copy what runtimes need besides the stack; nil: none. They are called in the stop, or while it sleeps.
	Copiers []snapshot.Copier

	registers
	stackCopy
	limit   int // bytes of a stack that Peek copies, 0 for the usual
	call    snapshot.Syscall
	before  Counters // of a thread that slept before it was stopped
	fetcher snapshot.Fetcher
	stopped stoppedMemory
}

// copyStack copies the used part of the stack from sp up, and what Copiers ask for. It fails only with ErrExec.
func (c *Copy) copyStack(m *memory, ws *windows, sp mem.Addr) error {
	ws.initial = m.initial
	win := ws.find(sp, c.tp)
	c.Stale = win.top == 0
	if !win.quick && !c.Stale {
		c.win, c.Thread.StackErr = win, errMappedFile
		return nil
	}
	if err := c.stackCopy.read(m, ws, win, c.Thread.Registers); err != nil {
		return err
	}
	c.Thread.Stack, c.Thread.StackErr = c.stack, c.err
	return nil
}

// initialCopy is what a Copy has room for at first, bytes.
const initialCopy = 64 << 10

// begin empties c for a sample of w. It makes what the sample will need.
func (c *Copy) begin(w *Watch) {
	c.Thread = snapshot.Thread{TID: w.tid, Inner: w.inner}
	c.Pause, c.Stopped, c.Counters, c.AtStop, c.Unnoticed = 0, 0, Counters{}, Counters{}, 0
	c.Blocked, c.Elsewhere, c.Inferred, c.Ran, c.Stale = false, false, false, false, false
	if c.buf == nil {
		c.buf = make([]byte, initialCopy)
		for i := 0; i < len(c.buf); i += pageSize {
			c.buf[i] = 1 // the page must not be faulted in during a stop
		}
	}
}
