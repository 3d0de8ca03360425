//go:build linux && (amd64 || arm64)

package exact

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A program may have a part of it run at full speed, because it is long and is stepped elsewhere:
// see testdata/step/skip.h. It says where the part begins by a system call with an argument that
// nobody else gives, and sends itself a signal, ignored by default, where it ends. Both must stand
// in the same invocation of a function, so that the true chain is the same.
//
// One whose start is long, and stepped elsewhere, sends itself the same signal where it has ended: [Options.Marked].
// Of the threads that are there then no frame is known that they have.
const (
	skipMark = 0x51e9 // first argument of getpid, which has none
	skipEnd  = unix.SIGURG
)

// isMark reports whether t is about to say that a part begins.
func (t *thread) isMark() bool {
	nr, args := callOf(&t.regs)
	return t.in.kind == syscall_ && t.space.wide && nr == unix.SYS_GETPID && args[0] == skipMark
}

// ranFreely handles a stop of a thread that ran at full speed.
func (s *session) ranFreely(t *thread, sig unix.Signal) error {
	switch {
	case t.truth == nil:
		return s.ranStart(t, sig)
	case sig != skipEnd:
		return s.resume(t, sig)
	}
	t.free, t.space.dirty = false, true
	if err := s.readRegisters(t); err != nil {
		return err
	}
	return s.compareAndResume(t)
}

// ranStart handles a stop of a thread in the start of the program, or which has not heard yet that this has ended.
func (s *session) ranStart(t *thread, sig unix.Signal) error {
	if s.free {
		if sig != skipEnd || !isFromProcess(t.tid) {
			return s.resume(t, sig)
		}
		s.free = false
		for tid := range s.threads {
			if tid != t.tid {
				_ = unix.Tgkill(t.space.pid, tid, unix.SIGSTOP)
			}
		}
		sig = unix.SIGSTOP
	} else if sig != unix.SIGSTOP {
		t.swallow++
	}
	t.free, t.space.dirty = false, true
	if err := s.begin(t, nil); err != nil {
		return err
	}
	t.truth.cur.late = true
	if sig != unix.SIGSTOP {
		if err := t.space.refresh(); err != nil {
			return err
		}
		return s.resume(t, sig)
	}
	return s.compareAndResume(t)
}

// isFromProcess reports whether the signal that tid has stopped for was sent to a process, as Go's runtime never does.
// Source: siginfo_t in linux/include/uapi/asm-generic/siginfo.h.
func isFromProcess(tid int) bool {
	const code, user = 8, 0 // si_code, SI_USER
	var info [128]byte
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(tid), 0,
		uintptr(unsafe.Pointer(&info)), 0, 0)
	return e == 0 && int32(binary.NativeEndian.Uint32(info[code:])) == user
}
