//go:build linux

package tracer

import (
	"bytes"
	"time"
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

// Unmoved tells whether a thread has not been woken by anybody but us since the look that
// gave base, a Copy that was Blocked: it sleeps where it slept, or is on the way back into
// that sleep. now is what Watch.Counters gave since.
//
// Our stop wakes a sleeper twice: to stop, and to sleep again. The first is counted when it
// stands, and the second is added to base. It is counted only when the thread comes to a CPU,
// so that now may be one less than base; it cannot have run in between. Where the kernel
// takes the CPU from the thread on its way back, now is more than base: then it seems to
// have moved, and the next look finds that it did not.
//
// What the count cannot show is a wake-up while the thread stood, a few microseconds: what
// the thread does then is done in the same stretch as its way back.
func (base Counters) Unmoved(now Counters) bool {
	return base.Switches > 0 && now.Switches <= base.Switches
}

// Counters reads the counters of the thread. It takes a third of a microsecond. It fails
// with ErrNoThread.
func (w *Watch) Counters() (Counters, error) {
	b, err := w.sched.read(w)
	if err != nil {
		return Counters{}, err
	}
	if w.sched.name == "schedstat" {
		return parseSchedstat(b)
	}
	return w.coarse(b)
}

// coarse makes up for schedstat by status, whose text is b, and stat.
func (w *Watch) coarse(b []byte) (Counters, error) {
	c := Counters{Coarse: true}
	for _, key := range []string{"\nvoluntary_ctxt_switches:\t", "\nnonvoluntary_ctxt_switches:\t"} {
		i := bytes.Index(b, []byte(key))
		if i < 0 {
			return c, malformed("status", string(b))
		}
		n, _, ok := decimal(b[i+len(key):])
		if !ok {
			return c, malformed("status", string(b))
		}
		c.Switches += n
	}
	b, err := w.stat.read(w)
	if err != nil {
		return c, err
	}
	st, err := ParseStat(b)
	c.CPU = time.Duration(st.CPU) * (time.Second / ticksPerSecond)
	return c, err
}

// parseSchedstat reads the text of /proc/TID/schedstat: nanoseconds on a CPU, nanoseconds
// of waiting for one, times put on one.
// Source: linux/Documentation/scheduler/sched-stats.rst.
func parseSchedstat(b []byte) (Counters, error) {
	cpu, rest, ok1 := decimal(b)
	waited, rest, ok2 := decimal(rest)
	switches, _, ok3 := decimal(rest)
	if !ok1 || !ok2 || !ok3 {
		return Counters{}, malformed("schedstat", string(b))
	}
	return Counters{CPU: time.Duration(cpu), Waited: time.Duration(waited), Switches: switches}, nil
}

// decimal reads a number up to the white space behind it, and returns what follows that.
func decimal(b []byte) (n uint64, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9' && i < 19:
			n = n*10 + uint64(c-'0')
		case (c == ' ' || c == '\n') && i > 0:
			return n, b[i+1:], true
		default:
			return 0, nil, false
		}
	}
	return n, nil, len(b) > 0
}

// stateIn takes the state out of the text of stat.
func stateIn(b []byte) (byte, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 || i+2 >= len(b) || b[i+1] != ' ' {
		return 0, malformed("stat", string(b))
	}
	return b[i+2], nil
}
