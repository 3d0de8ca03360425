//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// delay measures how long the OS thread of a Sampler waits for a CPU, to know how late it sees that a
// thread is stopped. On a machine without an idle CPU that is some milliseconds now and then.
// Source: linux/Documentation/scheduler/sched-stats.rst, field 2 of schedstat.
type delay struct {
	file   int // schedstat of the OS thread, one more than its number; 0 if there is none
	marked time.Duration
	buf    [64]byte
}

// open is called on the OS thread.
func (d *delay) open() {
	if fd, err := openAt(unix.AT_FDCWD, "/proc/thread-self/schedstat", unix.O_RDONLY); err == nil {
		d.file = fd + 1
	}
	d.mark()
}

func (d *delay) close() {
	if d.file != 0 {
		unix.Close(d.file - 1)
	}
	*d = delay{}
}

// waited is how long the OS thread has waited for a CPU in its life.
func (d *delay) waited() time.Duration {
	if d.file == 0 {
		return 0
	}
	n, err := unix.Pread(d.file-1, d.buf[:], 0)
	if err != nil {
		return 0
	}
	c, err := procfs.ParseSchedstat(d.buf[:n])
	if err != nil {
		return 0
	}
	return c.Waited
}

// mark notes that no interrupted thread has stopped now.
func (d *delay) mark() { d.marked = d.waited() }

// unnoticed is how long the OS thread has waited for a CPU since.
func (l *Sampler) unnoticed() time.Duration { return l.delay.waited() - l.delay.marked }
