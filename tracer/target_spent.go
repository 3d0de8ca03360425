//go:build linux

package tracer

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// Clock is the CPU time that all threads of the process have taken, those too that have ended. Like the
// counters of a thread it is up to a tick of the kernel old. It takes a microsecond, and some
// ten nanoseconds for each thread.
//
// It fails with ErrNoProcess, also if the id belongs to another process by now. One that has ended and
// was not waited for has its clock still.
// Source: clock_getcpuclockid(3); CPUCLOCK_SCHED in linux/include/linux/posix-timers.h.
func (p *Process) Clock() (time.Duration, error) {
	const sched = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^p.pid<<3|sched), &t); err != nil {
		return 0, fmt.Errorf("read clock of process %d: %w", p.pid, ErrNoProcess)
	}
	// The clock goes by the id; the directory dies with the process.
	if err := unix.Faccessat(p.dir, "stat", unix.F_OK, 0); err != nil {
		return 0, fmt.Errorf("read clock of process %d: %w", p.pid, ErrNoProcess)
	}
	return time.Duration(t.Nano()), nil
}

// Began is when the process did, in ticks after boot: with the id it tells the process from all others.
//
// It fails with ErrNoProcess. Source: starttime in proc_pid_stat(5).
func (p *Process) Began() (uint64, error) {
	b, err := procfile.At(p.dir, "stat", nil, 4096)
	if err != nil {
		return 0, p.gone(err)
	}
	st, err := procfs.ParseStat(b)
	return st.Start, err
}

// BeganAt is when the process did, by our clock: to about a hundredth of a second, or as well as nobody has set that
// since.
//
// It fails with ErrNoProcess.
func (p *Process) BeganAt() (time.Time, error) {
	ticks, err := p.Began()
	if err != nil {
		return time.Time{}, err
	}
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, err
	}
	const tick = time.Second / procfs.TicksPerSecond
	return time.Now().Add(time.Duration(ticks)*tick + tick - time.Duration(up.Nano())), nil
}

// Reaped is the CPU time of the children that the process has waited for, and of those that these had
// waited for, in hundredths of a second; parent is who will wait for the process itself. Children of a process that
// ignores SIGCHLD count nowhere.
//
// It fails with ErrNoProcess.
// Source: cutime and cstime in proc_pid_stat(5).
func (p *Process) Reaped() (cpu time.Duration, parent int, err error) {
	b, err := procfile.At(p.dir, "stat", nil, 4096)
	if err != nil {
		return 0, 0, p.gone(err)
	}
	st, err := procfs.ParseStat(b)
	return time.Duration(st.Reaped) * (time.Second / procfs.TicksPerSecond), st.Parent, err
}

// Kin returns which process id belongs to, if it is a thread, and the parent of that.
//
// It fails if there is no such thread.
func Kin(id int) (pid, parent int, err error) {
	st, err := procfile.Status("/proc/" + strconv.Itoa(id) + "/status")
	return st.TGID, st.Parent, err
}
