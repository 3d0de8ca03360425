package waits

import (
	"fmt"
	"strings"
	"sync"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/syscalls"
)

// number is the number of the system call that t is blocked in, in the table of the architecture of its program; also
// where /proc shows restart_syscall. It is false if that cannot be known.
func (s *study) number(t *Thread) (int64, bool) {
	n := t.First.Call.Number
	name, known := syscalls.Name(t.Process.Arch, n)
	if !known || name != "restart_syscall" {
		return n, n >= 0
	}
	if m := machines[t.Process.Arch]; m.loads != nil {
		// Only these four are restarted so. Source: users of set_restart_fn in linux/kernel/time, futex and
		// fs/select.c.
		if b, ok := s.memory(t.Process).bytes(t.First.Call.PC-numberBytes, numberBytes); ok {
			was, loaded := m.loads(b)
			if name, _ := syscalls.Name(t.Process.Arch, was); loaded && restarts[name] {
				return was, true
			}
		}
	}
	for place, name := range restartPlaces {
		if strings.HasPrefix(t.Wchan, place) {
			return numberOf(t.Process.Arch, name)
		}
	}
	return 0, false
}

// restarts are the calls that go on as restart_syscall after a stop.
var restarts = map[string]bool{"futex": true, "futex_time64": true, "poll": true, "nanosleep": true,
	"clock_nanosleep": true, "clock_nanosleep_time64": true}

// restartPlaces are the functions of the kernel that such a call sleeps in, by how their names begin.
var restartPlaces = map[string]string{"futex_": "futex", "poll_schedule_timeout": "poll", "do_poll": "poll",
	"hrtimer_nanosleep": "clock_nanosleep", "do_nanosleep": "clock_nanosleep",
	// Its own frames may be left out: what calls it is shown then, which it is not for the others.
	"do_syscall_64": "clock_nanosleep", "do_int80": "clock_nanosleep", "__do_fast_syscall_32": "clock_nanosleep",
	"do_fast_syscall_32": "clock_nanosleep"}

// numberOf is the number of a call that restarts.
func numberOf(arch, name string) (int64, bool) {
	for n := int64(0); n < 512; n++ {
		if has, _ := syscalls.Name(arch, n); has == name {
			return n, true
		}
	}
	return 0, false
}

// blocked is a system call that a thread is blocked in.
type blocked struct {
	t    *Thread
	p    *Process
	name string
	args [6]uint64
	r    *reader
}

// fd is an argument that is a descriptor.
func (c *blocked) fd(i int) int { return int(int32(c.args[i])) }

// int is an argument that is an int.
func (c *blocked) int(i int) int { return int(int32(c.args[i])) }

// ptr is an argument that is an address.
func (c *blocked) ptr(i int) mem.Addr { return mem.Addr(c.args[i]) }

// call says what a thread waits for that is blocked in another system call than a futex's: in w, which has TID and an
// Unknown mode. It adds to s.need what it would have to read to say more; it is called again when that was read.
func (s *study) call(t *Thread, w *Wait) {
	c := &blocked{t: t, p: t.Process, args: t.First.Call.Args, r: s.memory(t.Process)}
	n, ok := s.number(t)
	switch {
	case t.First.Call.Number < 0:
		s.outsideOfCalls(c, w)
		return
	case ok:
		c.name, _ = syscalls.Name(t.Process.Arch, n)
	}
	if c.name == "socketcall" {
		s.socketcall(c)
	}
	if c.name == "" {
		w.Object = Object{Kind: kindSomeCall, Name: fmt.Sprintf("number %d", t.First.Call.Number)}
		return
	}
	if s.served(c, w) {
		return
	}
	if how, ok := calls()[c.name]; ok {
		how(s, c, w)
		return
	}
	s.other(c, w)
}

// calls says how the waits in a system call are found.
var calls = sync.OnceValue(func() map[string]func(*study, *blocked, *Wait) {
	all := map[string]func(*study, *blocked, *Wait){}
	for names, how := range map[string]func(*study, *blocked, *Wait){
		"read pread64 readv preadv preadv2 recv recvfrom recvmsg recvmmsg recvmmsg_time64 accept accept4 splice tee " +
			"getdents64": func(s *study, c *blocked, w *Wait) { s.onDescriptor(c, c.fd(0), true, w) },
		"write pwrite64 writev pwritev pwritev2 send sendto sendmsg sendmmsg vmsplice sendfile sendfile64 " +
			"connect": func(s *study, c *blocked, w *Wait) { s.onDescriptor(c, c.fd(0), false, w) },
		"poll ppoll ppoll_time64":                    (*study).poll,
		"select _newselect pselect6 pselect6_time64": (*study).selects,
		"epoll_wait epoll_pwait epoll_pwait2":        (*study).epoll,
		"wait4 waitpid":                              (*study).wait4,
		"waitid":                                     (*study).waitid,
		"vfork clone clone3":                         (*study).vfork,
		"nanosleep clock_nanosleep":                  (*study).sleep,
		"clock_nanosleep_time64":                     (*study).sleep,
		"flock":                                      (*study).flock,
		"fcntl fcntl64":                              (*study).fcntl,
		"open openat openat2 creat":                  (*study).open,
		"pause rt_sigsuspend sigsuspend":             (*study).signal,
		"rt_sigtimedwait rt_sigtimedwait_time64":     (*study).signal,
		"io_uring_enter":                             (*study).ring,
		"semop semtimedop semtimedop_time64":         (*study).systemV,
		"msgrcv msgsnd":                              (*study).systemV,
		"mq_timedreceive mq_timedsend":               (*study).messages,
		"mq_timedreceive_time64 mq_timedsend_time64": (*study).messages,
		"io_getevents io_pgetevents":                 (*study).diskEvents,
		"fsync fdatasync sync_file_range syncfs":     (*study).disk,
		"ioctl":                                      (*study).ioctl,
		"ptrace":                                     (*study).tracing,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = how
		}
	}
	return all
})

// other is a wait in a call of which nothing more is known.
func (s *study) other(c *blocked, w *Wait) {
	w.Object = Object{Kind: kindSomeCall, Name: c.name}
	w.Unlisted = "who ends it is not recorded"
	if c.t.State == 'D' {
		w.Object.Kind = kindKernelLock
		w.Unlisted = "who holds locks of the kernel is not shown by it"
	}
}

// outsideOfCalls is a thread that sleeps and is in no call: on a page that somebody must bring, or stopped.
func (s *study) outsideOfCalls(c *blocked, w *Wait) {
	w.Object = Object{Kind: kindPage}
	if strings.HasPrefix(c.t.Wchan, "handle_userfault") {
		w.Object.Name = "which a process must bring that serves it by userfaultfd"
	}
	w.Unlisted = "who brings it is not recorded"
	if c.t.State == 'T' || c.t.State == 't' {
		w.Object, w.Unlisted = Object{Kind: Parked}, ""
	}
}

// socketcall makes of the one call of 386 for all operations on sockets the call that it means.
// Source: socketcall(2), linux/net.h.
func (s *study) socketcall(c *blocked) {
	name := map[uint64]string{3: "connect", 5: "accept", 9: "send", 10: "recv", 11: "sendto", 12: "recvfrom",
		16: "sendmsg", 17: "recvmsg", 18: "accept4", 19: "recvmmsg", 20: "sendmmsg"}[c.args[0]]
	words, ok := c.r.words(c.ptr(1), 3)
	if name == "" || !ok {
		return
	}
	c.name = name
	for i := range words {
		c.args[i] = uint64(words[i])
	}
}

// signal is a wait for any signal, or for some.
func (s *study) signal(c *blocked, w *Wait) {
	w.Object, w.Mode, w.Unlisted = Object{Kind: kindASignal}, Outside, "anybody may send one"
	if strings.HasPrefix(c.name, "rt_sigtimedwait") {
		w.Timed = c.args[2] != 0
		if b, ok := c.r.bytes(c.ptr(0), 8); ok {
			w.awaited = u64(b) & ordinary
		}
	}
}

func (s *study) systemV(c *blocked, w *Wait) {
	w.Object = Object{Kind: kindSystemVSemaphore, Name: fmt.Sprintf("id %d", c.int(0))}
	if strings.HasPrefix(c.name, "msg") {
		w.Object.Kind = kindSystemVQueue
	}
	w.Timed = strings.HasPrefix(c.name, "semtimedop") && c.args[3] != 0
	w.Unlisted = "any process that uses it could end it, and the kernel records no owner"
}

func (s *study) messages(c *blocked, w *Wait) {
	w.Object = Object{Kind: kindMessage}
	if strings.HasPrefix(c.name, "mq_timedsend") {
		w.Object.Kind = kindRoomForMessage
	}
	if fd := s.file(c.p, c.fd(0)); fd != nil {
		w.Object.Name = fd.Link
	}
	w.Timed = c.args[4] != 0
	w.Unlisted = "any process that opens it could end it"
}

func (s *study) diskEvents(c *blocked, w *Wait) {
	w.Object, w.Timed = Object{Kind: kindAsynchronousIO}, c.args[4] != 0
	w.Mode, w.Unlisted = Outside, "which operations it waits for is not shown"
}

func (s *study) disk(c *blocked, w *Wait) {
	w.Object, w.Mode = Object{Kind: kindFileSystem}, Outside
	if fd := s.file(c.p, c.fd(0)); fd != nil {
		w.Object.Name = fd.Link
	}
}

func (s *study) ioctl(c *blocked, w *Wait) {
	w.Object, w.Mode = Object{Kind: kindDevice, Name: fmt.Sprintf("ioctl %#x", uint32(c.args[1]))}, Outside
	if fd := s.file(c.p, c.fd(0)); fd != nil && fd.Link != "" {
		w.Object.Name = fd.Link
	}
	w.Unlisted = "what ends it depends on the device"
}

func (s *study) tracing(_ *blocked, w *Wait) {
	w.Object, w.Unlisted = Object{Kind: kindTraced}, "which one is not looked for"
}

// ring is a wait for operations of an io_uring.
func (s *study) ring(c *blocked, w *Wait) { onRing(s.file(c.p, c.fd(0)), w) }

// onRing is a wait for what the operations of an io_uring bring; fd is nil if it is not known which.
func onRing(fd *FD, w *Wait) {
	w.Object = Object{Kind: kindIoUring}
	w.Mode, w.Unlisted = Outside, "on which descriptors its operations wait is not shown by the kernel"
	if fd == nil || fd.Info.Ring == nil {
		return
	}
	counts := map[string]int{}
	var order []string
	for _, op := range fd.Info.Ring.Pending {
		name := ringOperation(op)
		if counts[name]++; counts[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		if counts[name] > 1 {
			order[i] = fmt.Sprintf("%d %s", counts[name], name)
		}
	}
	w.Object.Name = "operations that wait: " + strings.Join(order, ", ")
	if len(order) == 0 {
		w.Object.Name = "operations, none of which waits for a descriptor"
	}
}

// ringOperation names an opcode of io_uring. Source: enum io_uring_op of linux/io_uring.h.
func ringOperation(op int) string {
	names := map[int]string{0: "nop", 1: "readv", 2: "writev", 3: "fsync", 4: "read_fixed", 5: "write_fixed",
		6: "poll_add", 9: "sendmsg", 10: "recvmsg", 11: "timeout", 13: "accept", 15: "link_timeout", 16: "connect",
		18: "openat", 22: "read", 23: "write", 26: "send", 27: "recv", 29: "epoll_ctl", 30: "splice", 50: "waitid",
		51: "futex_wait", 53: "futex_waitv"}
	if name := names[op]; name != "" {
		return name
	}
	return fmt.Sprintf("operation %d", op)
}
