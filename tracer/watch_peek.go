//go:build linux

package tracer

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// ErrRan says that a thread could not be copied without a stop: it runs, or it ran meanwhile.
var ErrRan = errors.New("thread runs")

// Asleep reads /proc/TID/syscall: the system call, SP and PC of a thread that sleeps. It is
// false while the thread runs or is ready to, and where that file is refused. A call that was restarted by
// restart_syscall shows as the call it was, if a Stop has seen that.
//
// It fails with ErrNoThread.
func (w *Watch) Asleep() (call snapshot.Syscall, ok bool, err error) {
	ok, err = w.asleep(&call)
	return call, ok, err
}

func (w *Watch) asleep(call *snapshot.Syscall) (bool, error) {
	if w.blind {
		return false, nil
	}
	b, err := w.call.read(w)
	if err != nil {
		return false, err
	}
	c, ok, err := procfs.ParseSyscall(b)
	if ok {
		*call = snapshot.Syscall(c)
		w.restarted(call)
		w.ran = 0 // what a stop needs to know of a sleeper is read for the next one
	}
	return ok, err
}

// Peek copies the stack of a thread that sleeps without stopping it. SP, PC and the call
// are those of /proc/TID/syscall. Other registers are known only of an earlier Stop: see
// Copy.Inferred. At most 16 MiB of the stack are copied. table is as for Stop. It may be called from
// any goroutine, one at a time.
//
// What it returns is never torn: the thread slept before and after the copy in the same
// call with the same SP and PC, and was not put on a CPU between. Other threads may have
// written to its stack.
//
// It fails with ErrRan, ErrNoThread or ErrExec.
func (w *Watch) Peek(c *Copy, table *maps.Table) error {
	c.begin(w)
	if w.keep(&w.sched) { // it is read twice
		defer w.sched.close()
	}
	if !w.blind && w.keep(&w.call) {
		defer w.call.close()
	}
	before, err := w.Counters()
	if err != nil {
		return err
	}
	asleep, err := w.asleep(&c.call)
	if err != nil {
		return err
	}
	if !asleep {
		return ErrRan
	}
	c.Thread.Time = time.Now()
	c.Thread.Syscall, c.Thread.Arch = &c.call, w.archOf(table)
	w.infer(c, before)
	if c.call.SP != 0 {
		limit := max(len(c.buf), defaultStackLimit)
		if c.limit > 0 {
			limit = min(limit, c.limit)
		}
		ws := windows{table: table, limit: limit, total: limit}
		if err := c.copyStack(w.p.memory.Load(), &ws, c.call.SP); err != nil {
			return err
		}
	}
	c.fetch(w.p.memory.Load(), table)
	var again snapshot.Syscall
	if asleep, err = w.asleep(&again); err != nil {
		return err
	}
	after, err := w.Counters()
	if err != nil {
		return err
	}
	if !asleep || again != c.call || after.Switches != before.Switches {
		return ErrRan
	}
	c.Blocked, c.Counters = true, after
	return nil
}

// infer offers the registers of the last Stop to a thread that sleeps in the same place.
func (w *Watch) infer(c *Copy, now Counters) {
	c.regs.Arch, c.tp, c.hasTP, c.pacMask = nil, w.tp, w.hasTP, 0
	c.Thread.TP, c.Thread.HasTP = c.tp, c.hasTP
	l := w.last
	if l == nil || l.call.Number != c.call.Number || l.call.SP != c.call.SP || l.call.PC != c.call.PC {
		return
	}
	c.regs, c.pacMask = l.regs, l.pacMask
	c.Inferred, c.Ran = true, l.call != c.call || !l.base.Unmoved(now) // a wait of another value is another one
	c.Thread.Registers, c.Thread.Arch, c.Thread.PACMask = &c.regs, c.regs.Arch, c.pacMask
}

// remember keeps what a Stop found of a blocked thread.
func (w *Watch) remember(c *Copy, repaired bool) {
	if w.last == nil {
		w.last = new(last)
	}
	*w.last = last{regs: c.regs, pacMask: c.pacMask, call: c.call, base: c.Counters, repaired: repaired}
}

// restarted gives a call that goes on as restart_syscall the number that it had when it was
// stopped. SP, PC and the arguments are as they were then.
func (w *Watch) restarted(call *snapshot.Syscall) {
	l := w.last
	if l == nil || l.call.Number == call.Number || !isRestart(l.regs.Arch, call.Number) {
		return
	}
	was := l.call
	was.Number = call.Number
	if was == *call {
		call.Number = l.call.Number
	}
}

// archOf is the architecture of the program that table shows.
func (w *Watch) archOf(table *maps.Table) *regs.Arch {
	if w.arch == nil || w.table != table {
		w.arch, w.table = archOf(w.p.host, table), table
	}
	return w.arch
}
