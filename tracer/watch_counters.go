//go:build linux

package tracer

import (
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// Counters are what the kernel counts of one thread.
type Counters struct {
	// CPU is the time that it ran. Of a thread that runs it is up to a tick of the kernel old,
	// on a CPU without ticks older.
	CPU time.Duration
	// Waited is the time that it was ready to run and had no CPU; 0 if Coarse.
	Waited time.Duration
	// Switches is how often it was put on a CPU, counted before it runs there; if Coarse, how
	// often it was taken from one. Either is exact.
	Switches uint64
	// Coarse says that the kernel has no schedstat: CPU comes in hundredths of a second.
	Coarse bool
}

// Unmoved reports whether a thread has not been woken by anybody but us since the sample that
// gave base, a Copy that was Blocked: it sleeps where it slept, or is on the way back into
// that sleep. now is what Watch.Counters gave since.
//
// Our stop wakes a sleeper twice: to stop, and to sleep again. The first is counted when it
// is stopped, and the second is added to base. It is counted only when the thread comes to a CPU,
// so that now may be one less than base; it cannot have run in between. Where the kernel
// takes the CPU from the thread on its way back, now is more than base: then it seems to
// have moved, and the next sample finds that it did not.
//
// What the count cannot show is a wake-up while the thread was stopped, a few microseconds: what
// the thread does then is done in the same stretch as its way back.
func (base Counters) Unmoved(now Counters) bool {
	return base.Switches > 0 && now.Switches <= base.Switches
}

// Counters reads the counters of the thread. It takes a third of a microsecond. It fails
// with ErrNoThread.
func (w *Watch) Counters() (Counters, error) {
	if fd := w.sched.fd; fd >= 0 && w.sched.name == "schedstat" { // which waits for nobody
		if n, err := rawPread(fd, w.counted[:], 0); err == nil && 0 < n && n < len(w.counted) {
			s, err := procfs.ParseSchedstat(w.counted[:n])
			return Counters{CPU: s.CPU, Waited: s.Waited, Switches: s.Switches}, err
		}
	}
	b, err := w.sched.read(w)
	if err != nil {
		return Counters{}, err
	}
	if w.sched.name == "schedstat" {
		s, err := procfs.ParseSchedstat(b)
		return Counters{CPU: s.CPU, Waited: s.Waited, Switches: s.Switches}, err
	}
	return w.coarse(b)
}

// coarse makes up for schedstat by status, whose text is b, and stat.
func (w *Watch) coarse(b []byte) (Counters, error) {
	c := Counters{Coarse: true}
	var err error
	if c.Switches, err = procfs.ParseSwitches(b); err != nil {
		return c, err
	}
	b, err = w.stat.read(w)
	if err != nil {
		return c, err
	}
	st, err := procfs.ParseStat(b)
	c.CPU = time.Duration(st.CPU) * (time.Second / procfs.TicksPerSecond)
	return c, err
}
