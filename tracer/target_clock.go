//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// Monotonic is CLOCK_MONOTONIC as the process sees it now: its time namespace may shift it. It is 0 if unknown.
// Source: time_namespaces(7).
func (p *Process) Monotonic() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	ours, theirs := time.Duration(0), time.Duration(0)
	if b, err := procfile.At(unix.AT_FDCWD, "/proc/self/timens_offsets", nil, 4096); err == nil { // since Linux 5.6
		ours = procfs.ParseMonotonicOffset(b)
		if b, err = procfile.At(p.dir, "timens_offsets", nil, 4096); err != nil {
			return 0
		}
		theirs = procfs.ParseMonotonicOffset(b)
	}
	return time.Duration(now.Nano()) - ours + theirs
}
