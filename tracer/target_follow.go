//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// CPUTime is the time that all threads of the process ran, those that have ended too. It
// needs no permission, and takes one system call for each process.
//
// Of a thread that runs it lacks what passed since the last tick of the kernel or since the
// thread was put on its CPU, whichever is less. So an equal value does not say that nothing
// runs: a thread that woke less than a tick ago does not show.
//
// A process that has ended keeps its value until it is reaped; then it is ErrNoProcess, or
// another process that got the id.
// Source: clock_getcpuclockid(3); linux/include/linux/posix-timers_types.h for the id of a clock.
func (p *Process) CPUTime() (time.Duration, error) { return CPUTimeOf(p.pid) }

// CPUTimeOf is [Process.CPUTime] of a process that is not open.
func CPUTimeOf(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var ts unix.Timespec
	switch err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); {
	case errors.Is(err, unix.EINVAL):
		return 0, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	case err != nil:
		return 0, fmt.Errorf("read CPU time of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// Replaced reports whether the process has ended or began another program since it was opened
// or Reopen was called. It is one system call, or two for a process that has not executed
// any program since it was made: one made by vfork(2) still has the memory of its parent, so
// that memory alone does not show.
func (p *Process) Replaced() bool {
	if m := p.memory.Load(); m.replaced(pageSize) {
		return true
	}
	return p.forked.Load() && !p.isForked()
}

// isForked reports whether the process has not executed a program since it was made.
// Source: PF_FORKNOEXEC of linux/include/linux/sched.h; begin_new_exec in linux/fs/exec.c clears it.
func (p *Process) isForked() bool {
	b, err := procfile.At(p.dir, "stat", nil, 4096)
	if err != nil {
		return Transient(err) // as far as is known
	}
	st, err := procfs.ParseStat(b)
	return err == nil && st.Flags&procfs.ForkNoExec != 0
}

// Reopen takes up the program that the process runs now, after an exec: its memory, and
// Replaced from now on. Watches stay good, that of a thread which made the exec and was not
// the main one ends.
//
// Precondition: no other method of the Process runs. It fails as Open does.
func (p *Process) Reopen() error {
	p.stopping.Lock()
	defer p.stopping.Unlock()
	if err := p.check(); err != nil {
		return err
	}
	p.table.Store(nil)
	return p.openMemory()
}
