//go:build linux

package live

import (
	"context"
	"errors"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/waits"
)

// readWaiting reads what /proc shows of a thread of a program for arch: its counters first, then what it waits in.
// State stays 0 for a thread of the kernel.
func readWaiting(p *tracer.Process, arch string, t *waits.Thread, r *procfile.Task) error {
	b, err := p.ReadTask(r, t.TID, "stat")
	if err != nil {
		return err
	}
	st, err := procfs.ParseStat(b)
	if err != nil || st.KernelThread() || st.KernelWorker() || st.State == 'X' {
		return err
	}
	t.Comm, t.State, t.Start = st.Comm, st.State, st.Start
	t.First.At = time.Now()
	if err := readCounters(p, t.TID, &t.First, r); err != nil {
		return err
	}
	readCall(p, t.TID, &t.First, r)
	if t.First.Blocked && !waits.IsFutex(arch, t.First.Call.Number) {
		if b, err = p.ReadTask(r, t.TID, "wchan"); err == nil {
			t.Wchan = procfs.ParseWchan(b)
		}
	}
	return nil
}

// readCounters reads the counters of a thread.
func readCounters(p *tracer.Process, tid int, to *waits.Reading, r *procfile.Task) error {
	c, err := p.TaskCounters(r, tid)
	if errors.Is(err, tracer.ErrNoThread) {
		return err
	}
	to.Counters, to.Known = c, err == nil
	return nil
}

// readCall reads the system call of a thread. Where that is refused the thread counts as one that runs.
func readCall(p *tracer.Process, tid int, to *waits.Reading, r *procfile.Task) {
	to.HasCall = true
	b, err := p.ReadTask(r, tid, "syscall")
	if err != nil {
		to.Refused = !errors.Is(err, tracer.ErrNoThread)
		return
	}
	call, asleep, err := procfs.ParseSyscall(b)
	if to.Blocked = asleep && err == nil; to.Blocked {
		to.Call = call
	}
}

// Again implements [waits.Source]. The call is read before the counters: what ran between shows in these.
func (w *Reader) Again(ctx context.Context, threads []*waits.Thread, calls bool) error {
	procfile.InTurns(len(threads), func(i int, r *procfile.Task) {
		t := threads[i]
		p := w.open[t.Process.PID]
		if t.Last = (waits.Reading{}); p == nil || ctx.Err() != nil {
			return
		}
		last := waits.Reading{At: time.Now()}
		if calls {
			readCall(p, t.TID, &last, r)
		}
		if readCounters(p, t.TID, &last, r) == nil {
			t.Last = last
		}
	})
	return ctx.Err()
}

// asleep reads since when those threads have slept.
func (w *Reader) asleep(ctx context.Context, f *waits.Facts, tids []int) error {
	if len(tids) == 0 {
		return nil
	}
	clock := procfs.NewSlept(w.root)
	for _, tid := range tids {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := f.Thread(tid)
		t.Asleep, t.HasAsleep = clock.Since(t.Process.PID, tid), true
	}
	return nil
}

// lines reads lines of the memory of a process, neighbours by one call.
func (w *Reader) lines(out *waits.Process, wanted []mem.Addr) {
	if out == nil {
		return
	}
	p := w.open[out.PID]
	for len(wanted) > 0 {
		n := 1
		for n < len(wanted) && wanted[n] == wanted[0]+mem.Addr(n*waits.Line) && wanted[n]%4096 != 0 {
			n++
		}
		at := time.Now()
		b := make([]byte, n*waits.Line)
		got := 0
		if p != nil {
			got, _ = p.ReadMem(b, wanted[0])
		}
		for i := range n {
			var line *[waits.Line]byte
			if (i+1)*waits.Line <= got {
				line = (*[waits.Line]byte)(b[i*waits.Line:])
			}
			out.Memory.Keep(wanted[i], line, at)
		}
		wanted = wanted[n:]
	}
}
