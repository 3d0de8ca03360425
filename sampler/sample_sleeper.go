package sampler

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
)

// unmoved is a thread that has not run since the last sample.
func (k *ticker) unmoved(p *process, t *thread, now tracer.Counters, upto time.Duration) {
	took := time.Duration(0)
	if t.own {
		took = max(0, now.CPU-t.base.CPU)
		t.base.CPU, t.own = now.CPU, false // what our stop took is not the thread's
	}
	t.saw(took)
	n := 1 + t.skipped
	t.skipped = 0
	t.still++
	k.account(t, int64(n), upto)
	if !k.opt.running() {
		k.counted.samples += n
		k.counted.reused += n
	}
	k.stopIfWanted(p, t, upto)
}

// stopIfWanted stops a thread that sleeps as at its last sample, where the walk of it needs registers.
func (k *ticker) stopIfWanted(p *process, t *thread, upto time.Duration) {
	if t.track.wantStop.Load() && k.turn.stops > 0 {
		k.turn.stops--
		t.tried = k.turn.now
		k.stopSleeper(p, t, upto)
	}
}

// sleeper copies a thread that sleeps, without a stop.
func (k *ticker) sleeper(p *process, t *thread, call *snapshot.Syscall, upto time.Duration) {
	if k.opt.running() {
		k.ignore(p, t, upto)
		return
	}
	if call.SP == 0 && call.PC == 0 { // it has ended, or has no user code
		if state, _, err := t.watch.State(); err != nil || state == 'Z' || state == 'X' {
			k.endThread(p, t)
			return
		}
	}
	c := k.buffer(reserved)
	if c == nil {
		k.unread(t)
		return
	}
	err := k.peek(p, t, c)
	switch {
	case err == nil:
		k.counted.peeks++
		t.moved = t.moved || !t.base.Unmoved(c.Counters)
		t.took(c.Counters)
		t.activity = sleeping
		ends := tracer.EndsWithEINTR(*call, c.Thread.Arch)
		k.seen(t, sample{kind: peeked, copied: c, call: *call, kernel: k.kernelStack(t, c.Counters)}, 1, upto)
		// It is wanted of the sleep before: one that sleeps for a moment is never found in it twice, and has perhaps
		// woken when it is stopped.
		if !ends && (t.tried == 0 || k.turn.now-t.tried >= stopPause) {
			k.stopIfWanted(p, t, upto)
		}
	case errors.Is(err, tracer.ErrRan):
		t.moved = true
		k.runner(p, t, upto)
	case isGone(err) || errors.Is(err, tracer.ErrExec):
		k.trouble(p, t, err)
	default: // its memory cannot be read; where it waits is known even so
		s := sample{kind: unseen, call: *call}
		if now, err := t.watch.Counters(); err == nil {
			t.took(now)
			s.kernel = k.kernelStack(t, now)
		}
		t.activity = sleeping
		k.seen(t, s, 1, upto)
	}
}

// peek copies the stack of a thread that sleeps into c, which is given back where that fails, by a fault of ours too.
func (k *ticker) peek(p *process, t *thread, c *tracer.Copy) error {
	copied := false
	defer func() {
		if !copied {
			k.out.give(c)
		}
	}()
	err := t.watch.Peek(p.program.prepare(c), p.program.table.Load())
	copied = err == nil
	return err
}

// kernelStack is where in the kernel a thread waits that has not run since it was copied; nil if that is not wanted,
// not to be had, or of another moment.
func (k *ticker) kernelStack(t *thread, copied tracer.Counters) []string {
	if !k.opt.KernelStacks || k.follow.noKernel {
		return nil
	}
	frames, err := t.watch.KernelStack()
	if err != nil {
		if !isGone(err) {
			k.follow.noKernel = true
			k.notes.add("kernel", "where in the kernel threads wait is not shown: %v", err)
		}
		return nil
	}
	if now, err := t.watch.Counters(); err != nil || !copied.Unmoved(now) {
		return nil
	}
	return frames
}

// ignore leaves out a thread that sleeps. If it is asleep behind its counters, it slept when
// they were read.
func (k *ticker) ignore(p *process, t *thread, upto time.Duration) {
	now, err := t.watch.Counters()
	if err != nil {
		k.trouble(p, t, err)
		return
	}
	_, asleep, err := t.watch.Asleep()
	switch {
	case err != nil:
		k.trouble(p, t, err)
	case !asleep:
		k.runner(p, t, upto)
	default:
		t.took(now)
		t.activity, t.last, t.upto = sleeping, delivered, upto
		t.meet()
	}
}
