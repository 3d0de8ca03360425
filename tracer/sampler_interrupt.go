//go:build linux

package tracer

import (
	"errors"
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/tracer/osthread"
	"golang.org/x/sys/unix"
)

// interrupted is a thread that is seized and was interrupted.
type interrupted struct {
	tracee
	w     *Watch
	c     *Copy
	table *maps.Table
	next  time.Duration // when to see what became of it, if it has not stopped
	spins bool          // it ran last on another CPU than ours
}

// stopGrace is how long a thread that was interrupted is waited for before we see what it does.
const stopGrace = 4 * time.Millisecond

// Seize is the first third of Stop: it attaches to the thread, which runs on. Several threads are seized before the
// first of them is interrupted, so that none is stopped while PTRACE_SEIZE waits for an exec of the next one's process:
// it does so for two periods of the alarm, and then fails with *ExecutingError.
//
// It may be called only inside of Do, and the thread must be interrupted there, at once. c belongs to the Sampler
// until Collect returns it. It fails as Stop does; then there is nothing to interrupt.
func (l *Sampler) Seize(w *Watch, c *Copy, table *maps.Table) error {
	switch {
	case !l.inside:
		return errOutside
	case l.dirty:
		return ErrDirty
	}
	a := interrupted{tracee: tracee{p: w.p, tid: w.tid}, w: w, c: c, table: table}
	a.spins = len(l.interrupted) == 0 && len(l.seized) == 0 && l.elsewhere(w)
	c.begin(w)
	if err := l.before(w, c); err != nil {
		return err
	}
	l.warm(w, c, table)
	if err := l.attach(&a.tracee, attachTries, osthread.AlarmPeriod); err == ErrExec {
		return w.gone()
	} else if err != nil {
		return err
	}
	c.Elsewhere = a.spins
	l.seized = append(l.seized, a)
	return nil
}

// Interrupt is the second third of Stop: it interrupts a seized thread and does not wait. From that moment on the
// thread runs no code of its program until Collect has copied it: what runs stops within microseconds,
// and what waits for a CPU stops before its first instruction once it gets one. So the copy shows where
// the thread was when it was interrupted, however long it waits, and many threads can be interrupted at one moment.
//
// It may be called only inside of Do, for a Copy that Seize was called with, and every thread that was interrupted must
// be collected there: what is left when Do ends is let go by the end of the OS thread. It fails as Stop does; then
// there is nothing to collect.
func (l *Sampler) Interrupt(c *Copy) error {
	if !l.inside {
		return errOutside
	}
	if l.armed { // for Seize: what is waited for now may take longer than a period
		l.disarm()
	}
	l.urgency.Begin()
	return l.interruptSeized(c)
}

var errNotSeized = errors.New("interrupt of a thread that was not seized")

func (l *Sampler) interruptSeized(c *Copy) error {
	i := slices.IndexFunc(l.seized, func(a interrupted) bool { return a.c == c })
	if i < 0 {
		return errNotSeized
	}
	a := l.seized[i]
	l.seized = slices.Delete(l.seized, i, i+1)
	if now := l.now(); len(l.interrupted) == 0 && !(l.stops && now-l.delay.at < markEvery) {
		l.delay.mark(now) // what we waited for before does not count
	}
	if a.phase != ended {
		l.interrupt(&a.tracee)
	}
	if a.phase == ended {
		l.close(&a)
		err := l.lost(&a)
		l.calm()
		return err
	}
	a.next = a.interrupted + stopGrace
	l.interrupted = append(l.interrupted, a)
	return nil
}

// reapEnded implements reaper.
func (l *Sampler) reapEnded() (n int) {
	for _, list := range [][]interrupted{l.seized, l.interrupted} {
		for i := range list {
			if list[i].reap() {
				n++
			}
		}
	}
	return n
}

// Collect waits up to d for one of the threads that were interrupted, copies it and lets it go. It returns
// the Copy that Interrupt was given, with the error that Stop would have returned; nil if no thread has
// stopped. With d at or below 0 it does not wait.
//
// A thread that is ready to run is waited for without a limit here: it is not stopped meanwhile. After
// an error with Dirty set the others come with ErrDirty.
func (l *Sampler) Collect(d time.Duration) (*Copy, error) {
	if len(l.interrupted) == 0 {
		return nil, nil
	}
	defer l.calm()
	for until := l.now() + d; ; {
		if l.dirty {
			return l.drop(len(l.interrupted)-1, ErrDirty)
		}
		e := l.next(until)
		if e == 0 && l.info.PID() != 0 {
			return l.met(l.info.PID())
		}
		now := l.now()
		for i := range l.interrupted {
			if a := &l.interrupted[i]; now >= a.next || e == unix.ECHILD {
				a.next = now + max(stopGrace, now-a.interrupted)
				if err, is := l.missed(a, now); is {
					return l.drop(i, err)
				}
			}
		}
		if now >= until {
			return nil, nil
		}
	}
}

// calm ends the urgency once nobody can be stopped because of us, unless the next sleep would begin it again: a thread
// that comes back among the usual ones gives its CPU to one of them first, and has no turn until the next tick of the
// scheduler, milliseconds later.
func (l *Sampler) calm() {
	if len(l.interrupted) == 0 && !(l.prompt && l.crowded > 0) {
		l.urgency.End()
	}
}

// drop forgets a thread that was interrupted. It lives on, was lost, or is let go by the end of the OS thread.
func (l *Sampler) drop(i int, err error) (*Copy, error) {
	a := l.remove(i)
	l.close(&a)
	return a.c, err
}

func (l *Sampler) remove(i int) interrupted {
	a, last := l.interrupted[i], len(l.interrupted)-1
	l.interrupted[i] = l.interrupted[last]
	l.interrupted[last] = interrupted{}
	l.interrupted = l.interrupted[:last]
	return a
}

// met ends the sample of the thread whose stop or end is in l.info.
func (l *Sampler) met(tid int) (*Copy, error) {
	i := slices.IndexFunc(l.interrupted, func(a interrupted) bool { return a.tid == tid })
	if i < 0 {
		l.dirty = true // an exec gave one of them another id
		return l.drop(len(l.interrupted)-1, ErrDirty)
	}
	a := &l.interrupted[i]
	if l.classify(&a.tracee); a.phase == ended {
		return l.drop(i, l.lost(a))
	}
	if tid == a.p.pid && len(l.interrupted) > 1 && a.p.Replaced() {
		// Another thread that was interrupted may have taken over the id of this one by an exec.
		l.release(&a.tracee)
		l.dirty = true
		return l.drop(i, a.w.gone())
	}
	met := l.remove(i)
	defer l.close(&met)
	return met.c, l.take(&met)
}

// missed sees what became of a thread that has not stopped for a while. It is false if there is reason
// to wait on.
func (l *Sampler) missed(a *interrupted, now time.Duration) (err error, is bool) {
	if l.poll(a.tid) != 0 {
		l.lose(&a.tracee)
		return l.lost(a), true
	}
	if l.info.PID() != 0 {
		return nil, false // it has stopped by now
	}
	state, err := a.w.state()
	waited := now - a.interrupted
	switch {
	case err != nil:
	case state == 't' && waited < consumed:
		return nil, false
	case a.p.Replaced(): // an exec forgets that the thread was interrupted
		err = a.w.gone()
	case state == 'R' || waited < l.opt.MaxPause: // what is ready to run stops when it comes to a CPU
		return nil, false
	default:
		err = &NotStoppedError{TID: a.tid, State: state, Waited: waited}
	}
	l.dirty = true
	return err, true
}

// next waits until one of the threads that were interrupted has stopped or ended, as l.info then shows, but
// not beyond until nor beyond the time when one of them is to be seen to.
func (l *Sampler) next(until time.Duration) unix.Errno {
	if len(l.seized) > 0 { // they may stop for a signal, and are not to be collected yet
		return l.pollEach()
	}
	tid := anyThread
	if len(l.interrupted) == 1 {
		tid = l.interrupted[0].tid
	}
	for i := range l.interrupted {
		until = min(until, l.interrupted[i].next)
	}
	spin := l.spinUntil()
	if l.stops && spin == 0 { // it has our CPU, or none: it stops once we sleep
		return l.wait(tid, until)
	}
	for {
		if e := l.poll(tid); e != 0 || l.info.PID() != 0 {
			return e
		}
		now := l.now()
		l.delay.mark(now)
		if now >= min(spin, until) {
			break
		}
	}
	return l.wait(tid, until)
}

// pollEach is next that does not wait.
func (l *Sampler) pollEach() (e unix.Errno) {
	for i := range l.interrupted {
		if e = l.poll(l.interrupted[i].tid); e != 0 || l.info.PID() != 0 {
			return e
		}
	}
	return 0
}

// spinUntil is until when the threads that were interrupted are waited for without sleeping: to be woken takes longer
// than a stop on another CPU. Of several some have stopped while the others were interrupted, and most of what is left
// has no CPU.
func (l *Sampler) spinUntil() time.Duration {
	if a := &l.interrupted[0]; len(l.interrupted) == 1 && a.spins {
		return a.interrupted + spinTime
	}
	return 0
}
