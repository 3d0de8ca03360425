//go:build linux

package tracer

import (
	"slices"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// callNumbers are the numbers of one architecture that matter here; -1 where it has none.
type callNumbers struct {
	restart int64 // restart_syscall
	ipc     int64 // ipc, which does what semop does
	// epoll_wait, epoll_pwait, epoll_pwait2, semop, semtimedop, rt_sigtimedwait, io_getevents, io_uring_enter
	interrupt []int64
}

// calls has the numbers by architecture.
// Source: linux/arch/*/entry/syscalls/*.tbl, linux/include/uapi/asm-generic/unistd.h.
var calls = map[*regs.Arch]callNumbers{
	regs.AMD64:   {219, -1, []int64{232, 281, 441, 65, 220, 128, 208, 426}},
	regs.I386:    {0, 117, []int64{256, 319, 441, 420, 177, 421, 247, 426}},
	regs.ARM64:   {128, -1, []int64{22, 441, 193, 192, 137, 4, 426}},
	regs.ARM:     {0, -1, []int64{252, 346, 441, 298, 312, 420, 177, 421, 245, 426}},
	regs.RISCV64: {128, -1, []int64{22, 441, 193, 192, 137, 4, 426}},
	regs.LOONG64: {128, -1, []int64{22, 441, 193, 192, 137, 4, 426}},
	regs.S390X:   {7, 117, []int64{251, 312, 441, 392, 177, 245, 426}},
	regs.PPC64LE: {0, 117, []int64{238, 303, 441, 392, 176, 229, 426}},
}

// EndsWithEINTR reports whether a thread of arch that sleeps in call returns EINTR from it when
// it is stopped, by us or by SIGSTOP: epoll_wait, epoll_pwait, epoll_pwait2, semop,
// semtimedop, rt_sigtimedwait (which sigwaitinfo is made of), io_getevents and
// io_uring_enter, with a limit or without.
//
// recv, send, accept, connect and their like return EINTR only on a socket that has
// SO_RCVTIMEO or SO_SNDTIMEO, which cannot be seen from outside: they are not known here. Nor
// is io_pgetevents, which starts again with its whole limit, and a write to a pipe, which
// returns how much was written.
//
// Source: signal(7), "Interruption of system calls and library functions by stop signals";
// measured in tests/manners/testdata/eintr.golden.
func EndsWithEINTR(call snapshot.Syscall, arch *regs.Arch) bool {
	n, ok := calls[arch]
	if !ok || call.Number < 0 {
		return false
	}
	if call.Number == n.ipc {
		what := call.Args[0] & 0xffff // SEMOP, SEMTIMEDOP of linux/ipc.h
		return what == 1 || what == 4
	}
	return slices.Contains(n.interrupt, call.Number)
}

func isRestart(arch *regs.Arch, number int64) bool {
	n, ok := calls[arch]
	return ok && n.restart == number
}
