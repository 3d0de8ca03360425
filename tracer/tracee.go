//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// phase is how far we are with a thread.
type phase uint8

const (
	listed   phase = iota // not seized
	running               // seized
	stopped               // seized, stopped, and its wait status known
	released              // detached
	ended                 // has ended, or is no longer what we seized
	refused               // cannot be seized
)

// tracee is one thread during a stop.
type tracee struct {
	facts
	registers
	phase       phase
	held        bool          // it may still be traced by us
	signal      int           // of its delivery stop, handed back at DETACH; 0 at any other stop
	interrupted time.Duration // when it was interrupted, after stop.clock
	freed       time.Duration
	stackCopy
	copied     []mem.Range // by Copiers
	shortfalls []snapshot.Shortfall
	crowded    bool // there was no room left for its stack
	late       bool // it did not stop with the others
	why        string
	err        error // why it cannot be read
}

// classify takes over what waitid reported of a seized thread.
func (t *tracee) classify(info *siginfo) {
	switch {
	case ending(info):
		t.phase = ended
	case info[codeAt] == childTrapped || info[codeAt] == childStopped:
		t.phase, t.signal = stopped, deliverySignal(info)
	}
}

// deliverySignal is the signal to hand back at the release of a stopped thread. Without
// any ptrace option three things can be reported: the stop we caused and a stop of job control,
// which both come as PTRACE_EVENT_STOP and are left with signal 0, and a delivery stop,
// whose signal must be handed back.
// Source: ptrace(2), "Stopped states"; linux/kernel/signal.c.
func deliverySignal(info *siginfo) int {
	if status := info[statusAt]; status>>8 == 0 {
		return int(status)
	}
	return 0
}
