package sampler

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// trouble decides what follows from a sample that failed.
func (k *ticker) trouble(p *process, t *thread, err error) {
	var traced *tracer.TracedError
	var held *tracer.NotStoppedError
	var executing *tracer.ExecutingError
	switch {
	case isGone(err):
		k.endThread(p, t)
	case errors.Is(err, tracer.ErrExec):
		t.last = missed // the next round meets the new program
	case errors.As(err, &executing):
		p.leftUntil = k.turn.now + execRest
		k.notes.add("executing", "samples of %q were lost: %v", p.comm, err)
		k.lose(t)
	case errors.As(err, &traced):
		k.notes.add("traced", "process %d cannot be sampled while another traces it: %v", p.target.PID(), err)
		k.lose(t)
	case errors.As(err, &held):
		k.notes.add("held", "thread %d did not stop in time, as others may: %v", t.tid, err)
		k.lose(t)
	case errors.Is(err, tracer.ErrDirty):
		k.lose(t)
	case tracer.Transient(err):
		k.wanting(p, err)
		k.lose(t)
	default:
		k.letGo(p, err)
	}
}

// execRest is for how long a process is not stopped that was found in an execve which does not end: each try takes some
// milliseconds, in which the others are not sampled.
const execRest = 100 * time.Millisecond

// executing reports whether p was found to begin another program, and may do so still.
func (p *process) executing(now time.Duration) bool { return now < p.leftUntil }

// wanting notes that something could not be done for want of descriptors or memory. It is tried again.
func (k *ticker) wanting(p *process, err error) {
	p.wants = true
	k.notes.add("wanting", "process %d %q: samples were lost: no descriptors or memory left, the last: %v",
		p.target.PID(), p.comm, err)
}
