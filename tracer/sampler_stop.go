//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/maps"
)

// Stop stops one thread, copies its registers and the used part of its stack to c, and lets
// it go: PTRACE_SEIZE, PTRACE_INTERRUPT, waitid, PTRACE_GETREGSET, one read of
// /proc/PID/mem, PTRACE_DETACH. Nothing is allocated once c has grown. table holds the
// mappings, as they were at some time: it decides what is copied (see Copy.Stale).
//
// It may be called only inside of Do. A thread that sleeps is first sampled without a
// stop, so that one which cannot be stopped is not waited for.
//
// It fails with ErrNoThread if the thread has ended, ErrExec if the process began another
// program, *NotStoppedError, *TracedError, *PermissionError, *KernelError, *WordSizeError,
// or ErrDirty. The thread runs again when it returns, but after a *NotStoppedError or
// ErrExec with Dirty set.
func (l *Sampler) Stop(w *Watch, c *Copy, table *maps.Table) error {
	switch {
	case !l.inside:
		return errOutside
	case len(l.interrupted) > 0 || len(l.seized) > 0:
		return errInterrupted
	}
	l.stops = true
	defer func() { l.stops = false }()
	if err := l.Seize(w, c, table); err != nil { // the alarm stays set for all Stops: they follow one another
		return err
	}
	if err := l.interruptSeized(c); err != nil {
		return err
	}
	l.brief = true
	patience := max(l.opt.MaxPause, runnablePause)
	if got, err := l.Collect(patience); got != nil {
		return err
	}
	l.GiveUp()
	return &NotStoppedError{TID: w.tid, State: 'R', Waited: patience}
}

// A thread that ran at a sample is taken to run at so many more, before it is sampled first
// again. Registers of x86 show that it was not in any system call; elsewhere it may sleep.
const (
	ranSurely = 64
	ranLikely = 8
)

// before samples a thread without stopping it, if it may sleep: when it ran at the last
// sample that would be wasted.
func (l *Sampler) before(w *Watch, c *Copy) error {
	if w.ran > 0 {
		w.ran--
		return nil
	}
	asleep, err := w.asleep(&c.call)
	if err != nil {
		return err
	}
	if !asleep {
		c.Thread.State = 'R'
		return nil
	}
	if c.before, err = w.Counters(); err != nil {
		return err
	}
	if c.Thread.State, err = w.state(); err != nil {
		return err
	}
	c.Thread.Syscall = &c.call
	switch c.Thread.State {
	case 'D', 'I':
		return &NotStoppedError{TID: w.tid, State: c.Thread.State}
	case 'Z', 'X':
		return ErrNoThread
	}
	if l := w.last; l != nil && l.repaired && l.call == c.call && l.base.Unmoved(c.before) {
		return &NotStoppedError{TID: w.tid, State: c.Thread.State, Repaired: true}
	}
	return nil
}

// take reads a stopped thread and lets it go.
func (l *Sampler) take(a *interrupted) (err error) {
	w, c := a.w, a.c
	stopped := l.now()
	defer func() { // also out of a panic
		// It may take the CPU from us as soon as it can run, and keep it for long.
		released := l.now()
		c.Stopped, c.Pause = released-stopped, released-a.interrupted
		if l.release(&a.tracee); a.phase == ended {
			err = l.lost(a)
		}
	}()
	c.Unnoticed = l.unnoticed(stopped - a.interrupted)
	if now, err := w.Counters(); err == nil {
		c.AtStop = now
	}
	if err := c.registers.read(w.p, w.tid, &l.note); err != nil {
		return err
	}
	w.tp, w.hasTP = c.tp, c.hasTP
	c.Thread.Registers, c.Thread.Arch, c.Thread.PACMask = &c.regs, c.regs.Arch, c.pacMask
	c.Thread.TP, c.Thread.HasTP = c.tp, c.hasTP
	if err := l.copyStack(w, c, a.table); err == ErrExec {
		return w.gone() // or the process ends
	} else if err != nil {
		return err
	}
	c.fetch(w.p.memory.Load(), a.table)
	l.complete(w, c, a.signal)
	return nil
}

// copyStack copies the used part of the stack at SP of c.
func (l *Sampler) copyStack(w *Watch, c *Copy, table *maps.Table) error {
	sp, ok := c.regs.SP()
	if !ok || sp == 0 {
		return nil
	}
	l.windows.table, l.windows.limit, l.windows.total = table, l.opt.StackLimit, l.opt.StackLimit
	err := c.copyStack(w.p.memory.Load(), &l.windows, sp)
	w.window, w.windowOf = c.win, table
	return err
}

// close notes when a sample has ended.
func (l *Sampler) close(a *interrupted) {
	a.c.Thread.Time = l.clock.Add(a.interrupted)
	l.ended = l.now()
	if a.c.Stopped == 0 { // it was lost, or never stopped
		a.c.Pause = l.ended - a.interrupted
	}
}

// consumed is how long a stopped thread may go without its stop being reported: then another
// wait of our own process took it (docs/dev/findings.md), and it is not reported again.
const consumed = 250 * time.Millisecond

// lost is the reason why the sample of a seized thread ends, which has ended itself or was taken away by an exec.
func (l *Sampler) lost(a *interrupted) error {
	l.dirty = l.dirty || a.traced
	return a.w.gone()
}

// complete completes what is known of a stopped thread, for the sample that comes next.
func (l *Sampler) complete(w *Watch, c *Copy, sig int) {
	blocked, goesOn := c.wait(w, c.before, sig)
	repaired := blocked && !goesOn && l.repair(w, c, sig)
	switch {
	case !blocked:
		w.ran = ranLikely
		if in, _, known := c.inCall(); known && in {
			w.ran = 0
		} else if known {
			w.ran = ranSurely
		}
	case goesOn || repaired:
		now := c.AtStop
		if now.Switches == 0 { // not to be had
			return
		}
		now.Switches++ // it comes to a CPU once more, to return into its wait
		c.Blocked, c.Counters = true, now
		w.remember(c, repaired)
	}
}
