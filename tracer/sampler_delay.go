//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// delay measures how long the OS thread of a Sampler waits for a CPU, to know how late it sees that a
// thread is stopped. On a machine without an idle CPU that is some milliseconds now and then.
// Source: linux/Documentation/scheduler/sched-stats.rst, field 2 of schedstat.
type delay struct {
	file   int // schedstat of the OS thread, one more than its number; 0 if there is none
	marked time.Duration
	at     time.Duration // when marked was read
	buf    [64]byte
}

// open is called on the OS thread.
func (d *delay) open() {
	if fd, err := procfile.Open(unix.AT_FDCWD, "/proc/thread-self/schedstat", unix.O_RDONLY); err == nil {
		d.file = fd + 1
	}
	d.mark(0)
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
func (d *delay) mark(now time.Duration) { d.marked, d.at = d.waited(), now }

// Where Stops follow one another as fast as can be the delay need be known only if it took a while, coarseDelay, and
// is marked each markEvery: to read it takes a tenth of a sample.
const (
	coarseDelay = 50 * time.Microsecond
	markEvery   = 200 * time.Microsecond
)

// unnoticed is how long the OS thread has waited for a CPU since, of the time that it has waited for a thread. After a
// brief one it was not long.
func (l *Sampler) unnoticed(waited time.Duration) time.Duration {
	if l.stops && waited < coarseDelay {
		return 0
	}
	return min(l.delay.waited()-l.delay.marked, max(0, waited))
}
