//go:build linux && (amd64 || arm64)

package exact

import "golang.org/x/sys/unix"

// A program may have a part of it run at full speed, because it is long and is stepped elsewhere:
// see testdata/step/skip.h. It says where the part begins by a system call with an argument that
// nobody else gives, and sends itself a signal, ignored by default, where it ends. Both must stand
// in the same invocation of a function, so that the true chain is the same.
//
// One whose start is long, and stepped elsewhere, says by another argument where it has ended: [Options.Marked].
const (
	skipMark  = 0x51e9 // first argument of getpid, which has none
	startMark = 0x51ea
	skipEnd   = unix.SIGURG
)

// mark is what t is about to say, 0 for nothing.
func (t *thread) mark() uint64 {
	nr, args := callOf(&t.regs)
	if t.in.kind != syscall_ || !t.space.wide || nr != unix.SYS_GETPID {
		return 0
	}
	return args[0]
}

// ranFreely handles a stop of a thread that ran at full speed.
func (s *session) ranFreely(t *thread, sig unix.Signal) error {
	if sig != skipEnd {
		return ptrace(unix.PTRACE_CONT, t.tid, 0, uintptr(sig))
	}
	t.free, t.space.dirty = false, true
	if err := s.readRegisters(t); err != nil {
		return err
	}
	return s.compareAndResume(t)
}
