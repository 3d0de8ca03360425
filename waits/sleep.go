package waits

import (
	"strings"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/text"
)

// Clocks of clock_gettime(2) that a wait may end by.
const (
	clockRealtime  = 0
	clockMonotonic = 1
	clockBoottime  = 7
)

// sleep is a wait for a time: nanosleep(2), clock_nanosleep(2).
func (s *study) sleep(c *blocked, w *Wait) {
	w.Object, w.Mode, w.Timed = Object{Kind: kindTime}, Time, true
	clock, at := clockMonotonic, c.ptr(0)
	absolute := false
	if c.name != "nanosleep" {
		const timerAbsolute = 1
		clock, absolute, at = c.int(0), c.int(1)&timerAbsolute != 0, c.ptr(2)
	}
	seconds, nanos, ok := c.r.timespec(at, c.narrow())
	if !ok {
		return
	}
	length := time.Duration(seconds)*time.Second + time.Duration(nanos)
	if !absolute {
		w.Object.Name, w.Length = "sleeps "+text.Duration(length), length
		return
	}
	w.Object.Name = "sleeps"
	switch {
	case clock == clockRealtime:
		w.Left, w.HasLeft = max(0, time.Unix(seconds, nanos).Sub(c.t.First.At)), true
	case clock == clockMonotonic && c.p.Clock != 0:
		w.Left, w.HasLeft = max(0, length-c.p.Clock-c.t.First.At.Sub(c.p.At)), true
	}
}

// narrow reports whether the times that the call is given have 32-bit members.
func (c *blocked) narrow() bool { return c.p.Word == 4 && !strings.HasSuffix(c.name, "_time64") }

// limit says that w ends at the latest after the time at addr, if there is one: a timespec or, with micro, a timeval.
func (c *blocked) limit(addr mem.Addr, micro bool, w *Wait) {
	if addr == 0 {
		return
	}
	w.Timed = true
	seconds, part, ok := c.r.timespec(addr, c.narrow())
	if !ok {
		return
	}
	length := time.Duration(seconds) * time.Second
	if micro {
		length += time.Duration(part) * time.Microsecond
	} else {
		length += time.Duration(part)
	}
	w.atMost(length)
}

// milliseconds does the same for a limit in milliseconds, of which a negative one is none.
func (c *blocked) milliseconds(ms int, w *Wait) {
	if ms >= 0 {
		w.atMost(time.Duration(ms) * time.Millisecond)
	}
}

// atMost says that w ends by itself that long after it began.
func (w *Wait) atMost(length time.Duration) {
	w.Timed, w.Length = true, length
	w.Evidence = append(w.Evidence, "waits "+text.Duration(length)+" at most")
}
