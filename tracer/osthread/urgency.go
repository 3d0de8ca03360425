//go:build linux

package osthread

import "golang.org/x/sys/unix"

// Urgency puts the OS thread that traces before all usual threads while threads are interrupted: one that has stopped
// stays stopped until we get a CPU, which on a busy machine took milliseconds, as long as the slices of those that
// have one. Threads that are let go do not take the CPU from us either, while others are still stopped. A Sampler is
// urgent too from the end of a prompt sleep on (tracer.Sampler.Sleep), as samples would come at moments that
// the scheduler chose. Where the kernel refuses (CAP_SYS_NICE, RLIMIT_RTPRIO, a control group without real-time share)
// it is not tried again.
//
// Samples without a pause between them, as tracer.Sampler.Stop makes them, are not urgent: they would take a CPU from
// all others. A dump takes it for as long as the stop, one of eight threads at a time for each eight.
// Source: sched(7), SCHED_FIFO; sched_setattr(2).
type Urgency struct {
	usual   unix.SchedAttr // of the OS thread, as it was when Prepare was called
	now     bool
	Refused bool
}

// Prepare is called on the OS thread, again when it was changed.
func (u *Urgency) Prepare() {
	*u = Urgency{Refused: true}
	if attr, err := unix.SchedGetAttr(0, 0); err == nil && attr.Policy == unix.SCHED_NORMAL {
		u.usual, u.Refused = *attr, false
	}
}

// Begin puts the thread before all usual ones.
func (u *Urgency) Begin() {
	if u.now || u.Refused {
		return
	}
	first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	u.now = unix.SchedSetAttr(0, &first, 0) == nil
	u.Refused = !u.now
}

// Now reports whether it is.
func (u *Urgency) Now() bool { return u.now }

// End puts it back.
func (u *Urgency) End() {
	if u.now {
		u.now = unix.SchedSetAttr(0, &u.usual, 0) != nil // to lower oneself is never refused
	}
}
