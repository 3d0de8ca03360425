//go:build linux

package tracer

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/hang/waits"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// readWaiting reads what /proc shows of a thread of a program for arch: its counters first, then what it waits in.
// State stays 0 for a thread of the kernel. buf is memory to read into.
func readWaiting(p *Process, arch string, t *waits.Thread, buf []byte) error {
	dir := "task/" + strconv.Itoa(t.TID) + "/"
	b, err := readOnce(p.dir, dir+"stat", buf)
	if err != nil {
		return err
	}
	st, err := procfs.ParseStat(b)
	if err != nil || st.KernelThread() || st.KernelWorker() || st.State == 'X' {
		return err
	}
	t.Comm, t.State, t.Start = st.Comm, st.State, st.Start
	t.First.At = time.Now()
	if err := readCounters(p, dir, &t.First, buf); err != nil {
		return err
	}
	readCall(p, dir, &t.First, buf)
	if t.First.Blocked && !waits.IsFutex(arch, t.First.Call.Number) {
		if b, err = readAt(p.dir, dir+"wchan", buf, 4096); err == nil {
			t.Wchan = procfs.ParseWchan(b)
		}
	}
	return nil
}

// readOnce reads a file of /proc that the kernel gives whole at the first read, as those of one thread are: at most
// what buf has room for.
func readOnce(dir int, path string, buf []byte) ([]byte, error) {
	fd, err := openAt(dir, path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, buf[:cap(buf)])
		if err == nil {
			return buf[:max(n, 0)], nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
	}
}

// readCounters reads the counters of a thread. dir is its folder in that of p.
func readCounters(p *Process, dir string, r *waits.Reading, buf []byte) error {
	file := p.countersFile()
	b, err := readOnce(p.dir, dir+file, buf)
	if err != nil {
		return err
	}
	if file == "schedstat" {
		r.Counters, err = procfs.ParseSchedstat(b)
	} else {
		r.Counters.Switches, err = procfs.ParseSwitches(b)
	}
	r.Known = err == nil
	return nil
}

// readCall reads the system call of a thread. Where that is refused the thread counts as one that runs.
func readCall(p *Process, dir string, r *waits.Reading, buf []byte) {
	b, err := readOnce(p.dir, dir+"syscall", buf)
	if err != nil {
		r.Refused = !isGone(err)
		return
	}
	call, asleep, err := procfs.ParseSyscall(b)
	if r.Blocked = asleep && err == nil; r.Blocked {
		r.Call = call
	}
}

// Again implements [waits.Source]. The call is read before the counters: what ran between shows in these.
func (w *WaitFacts) Again(ctx context.Context, threads []*waits.Thread) error {
	inTurns(len(threads), func(i int, buf []byte) {
		t := threads[i]
		p := w.open[t.Process.PID]
		if t.Last = (waits.Reading{}); p == nil || ctx.Err() != nil {
			return
		}
		dir := "task/" + strconv.Itoa(t.TID) + "/"
		last := waits.Reading{At: time.Now()}
		readCall(p, dir, &last, buf)
		if readCounters(p, dir, &last, buf) == nil {
			t.Last = last
		}
	})
	return ctx.Err()
}

// lines reads lines of the memory of a process, neighbours by one call.
func (w *WaitFacts) lines(out *waits.Process, wanted []mem.Addr) {
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
