package resolve

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/syscalls"
)

// maxDescriptors bounds how many descriptors of one process are looked up.
const maxDescriptors = 4096

// Descriptors lists the file descriptors, each once, of the system calls that the
// threads of s are in: those that a person wants described.
func Descriptors(s *snapshot.Snapshot) []int {
	var fds []int
	seen := map[int]bool{}
	for i := range s.Threads {
		t := &s.Threads[i]
		call := t.Call()
		if call == nil {
			continue
		}
		for _, fd := range syscalls.FDArgs(archName(s, t), call.Number, call.Args) {
			if !seen[fd] && len(fds) < maxDescriptors {
				seen[fd] = true
				fds = append(fds, fd)
			}
		}
	}
	return fds
}

// Restarted gives the threads of s that are in restart_syscall the number of the call that goes on there, whose
// arguments they have still. number tells it where it can be proved; it is asked once a PC.
func Restarted(s *snapshot.Snapshot, number func(*snapshot.Thread) (int64, bool)) {
	known := map[mem.Addr]int64{}
	for i := range s.Threads {
		t := &s.Threads[i]
		arch := archName(s, t)
		if t.Syscall == nil || !syscalls.Restarts(arch, t.Syscall.Number) {
			continue
		}
		n, met := known[t.Syscall.PC]
		if !met {
			n = CallNumber(arch, t.Syscall.Number, func() (int64, bool) { return number(t) })
			known[t.Syscall.PC] = n
		}
		call := *t.Syscall
		call.Number = n
		t.Syscall = &call
	}
}

// CallNumber returns the number of the call that a thread is in whose number the kernel reports as reported: that of
// the call that goes on by restart_syscall if prove, which is asked for such ones alone, proves it, else reported.
func CallNumber(arch string, reported int64, prove func() (int64, bool)) int64 {
	if !syscalls.Restarts(arch, reported) {
		return reported
	}
	if proved, ok := prove(); ok && isRestartable(arch, proved) {
		return proved
	}
	return reported
}

// isRestartable reports whether the kernel goes on with a call by restart_syscall after a stop.
// Source: users of set_restart_fn and of ERESTART_RESTARTBLOCK in linux/kernel/time, futex and fs/select.c.
func isRestartable(arch string, number int64) bool {
	switch name, _ := syscalls.Name(arch, number); name {
	case "nanosleep", "clock_nanosleep", "clock_nanosleep_time64", "poll", "futex", "futex_time64":
		return true
	}
	return false
}

// archName is the architecture whose system call numbers t uses.
func archName(s *snapshot.Snapshot, t *snapshot.Thread) string {
	switch {
	case t.Arch != nil:
		return t.Arch.Name
	case t.Registers != nil:
		return t.Registers.Arch.Name
	case s.Host != nil:
		return s.Host.Name
	}
	return ""
}

// describe words the system call of t, nil if it is in none.
func describe(s *snapshot.Snapshot, t *snapshot.Thread) *profile.Syscall {
	in := t.Call()
	if in == nil {
		return nil
	}
	call := syscalls.Describe(archName(s, t), in.Number, in.Args)
	out := &profile.Syscall{Number: in.Number, Name: call.Name}
	for _, a := range call.Args {
		arg := profile.Arg{Name: a.Name, Value: a.Value, Text: a.Text}
		if a.Kind == syscalls.FD {
			arg.FD = s.FDs[int(int32(a.Value))]
		}
		out.Args = append(out.Args, arg)
	}
	return out
}

// Wait names what a sleeping thread of arch waits in: the system call, as "epoll_wait" or
// "system call 999", or "(blocked)" for a thread that the kernel stopped outside of any call (a page
// that has to be read, job control).
func Wait(arch *regs.Arch, c *snapshot.Syscall) string {
	if c.Number == -1 {
		return "(blocked)"
	}
	if arch != nil {
		if name, ok := syscalls.Name(arch.Name, c.Number); ok {
			return name
		}
	}
	return fmt.Sprintf("system call %d", c.Number)
}
