//go:build linux

package tracer

import "golang.org/x/sys/unix"

// Near moves the OS thread of the Sampler to the CPU on which the thread ran last, until Do ends. The thread itself is
// not touched. A Sampler that samples one busy thread as often as it can is twice as fast there, as neither has
// to be woken on another CPU. And who wakes there by its own timer meets the thread where it is: a request to stop a
// thread on another CPU takes a while, and is met by the thread at the end of its next system call, if there is one.
//
// It is called inside of Do, and does nothing where the CPU is not known or not allowed to us.
func (l *Sampler) Near(w *Watch) {
	if !l.inside || l.keepAway > 0 {
		return
	}
	if w.stat.fd < 0 && w.stat.open(w) != nil {
		return
	}
	b, err := w.stat.read(w)
	if err != nil {
		return
	}
	cpu, ok := processor(b)
	if !ok || cpu == l.cpu-1 {
		return
	}
	if l.cpu == 0 && unix.SchedGetaffinity(0, &l.home) != nil || !l.home.IsSet(cpu) {
		return
	}
	var set unix.CPUSet
	set.Set(cpu)
	if unix.SchedSetaffinity(0, &set) == nil {
		l.cpu = cpu + 1
	}
}

// goHome lets the OS thread run wherever it might before Near.
func (l *Sampler) goHome() {
	if l.cpu != 0 {
		_ = unix.SchedSetaffinity(0, &l.home) // it was allowed before
		l.cpu = 0
	}
}

// processor is field 39 of a line of proc_pid_stat(5), the CPU that a thread ran on last.
func processor(stat []byte) (int, bool) {
	const behindComm = 39 - 3 // fields between the state, field 3, and it
	at := len(stat)
	for at > 0 && stat[at-1] != ')' {
		at--
	}
	fields, n := -1, 0
	digits := false
	for ; at < len(stat) && fields <= behindComm; at++ {
		switch c := stat[at]; {
		case c == ' ':
			if digits {
				return n, true
			}
			fields++
		case fields == behindComm && '0' <= c && c <= '9' && n < 1<<16:
			n, digits = 10*n+int(c-'0'), true
		}
	}
	return n, digits
}
