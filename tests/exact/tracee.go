//go:build linux && (amd64 || arm64)

package exact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Constants of ptrace(2) and personality(2).
const (
	traceOptions = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
		unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC
	addrNoRandomize = 0x0040000
	atIgnore        = 1 // AT_IGNORE of getauxval(3), AT_ENTRY, AT_SYSINFO_EHDR
	atEntry         = 9
	atSysinfoEHDR   = 33
)

// start runs argv under ptrace and returns its process id, stopped behind its exec. Its
// standard input and output are /dev/null; standard error stays. Its environment is the same
// everywhere, but for what tunables says.
// Precondition: the goroutine is locked to its OS thread, which makes all later calls.
func start(argv []string, opt *Options) (int, error) {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open /dev/null: %w", err)
	}
	defer unix.Close(null)
	if opt.Fixed {
		old, _, _ := unix.RawSyscall(unix.SYS_PERSONALITY, 0xffffffff, 0, 0)
		unix.RawSyscall(unix.SYS_PERSONALITY, old|addrNoRandomize, 0, 0)
		defer unix.RawSyscall(unix.SYS_PERSONALITY, old, 0, 0)
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir:   opt.Dir,
		Env:   []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/", "GLIBC_TUNABLES=" + opt.Tunables},
		Files: []uintptr{uintptr(null), uintptr(null), 2},
		Sys:   &syscall.SysProcAttr{Ptrace: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start %q: %w", argv[0], err)
	}
	ws, err := waitFor(pid)
	if err == nil && !ws.Stopped() {
		err = fmt.Errorf("wait status %#x", uint32(ws))
	}
	if err == nil {
		err = ptrace(unix.PTRACE_SETOPTIONS, pid, 0, traceOptions)
	}
	if err == nil && opt.NoVDSO {
		err = hideVDSO(pid)
	}
	if err == nil && opt.Loaded {
		err = runToEntry(pid)
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		return 0, fmt.Errorf("trace %q: %w", argv[0], err)
	}
	return pid, nil
}

// hideVDSO lets a program which is stopped behind its exec not know where the vDSO is, so that it makes system calls in
// its place. Source: the stack of a new process, System V ABI AMD64 supplement, 3.4.1; it is the same for arm64.
func hideVDSO(pid int) error {
	var r unix.PtraceRegs
	if err := registers(pid, &r); err != nil {
		return err
	}
	const size, most = 8, 1 << 16 // of a word; words
	memory, at := live{pid}, place(&r).sp+size
	ends := 2 // of the arguments, and of the environment
	for range most {
		v, ok := memory.word(at, size)
		switch {
		case !ok:
			return errors.New("no auxiliary values on its stack")
		case ends > 0 && v != 0:
			at += size
		case ends > 0:
			at, ends = at+size, ends-1
		case v == atSysinfoEHDR:
			_, err := unix.PtracePokeData(pid, uintptr(at), binary.NativeEndian.AppendUint64(nil, atIgnore))
			return err
		case v == 0:
			return nil // there is none
		default:
			at += 2 * size
		}
	}
	return errors.New("no end of its auxiliary values")
}

// entryOf is the address of the first instruction of a program, which the dynamic linker jumps to.
func entryOf(pid int) (uint64, error) {
	words, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	for ; len(words) >= 16; words = words[16:] { // of 64-bit programs
		if binary.NativeEndian.Uint64(words) == atEntry {
			return binary.NativeEndian.Uint64(words[8:]), nil
		}
	}
	return 0, errors.New("no AT_ENTRY among its auxiliary values")
}

// waitFor waits for one thread.
func waitFor(tid int) (unix.WaitStatus, error) {
	_, ws, err := wait(tid)
	return ws, err
}

// wait waits for a change of one thread, or of any that the calling OS thread traces with -1:
// other goroutines may trace on threads of their own.
func wait(tid int) (int, unix.WaitStatus, error) {
	var ws unix.WaitStatus
	for {
		got, err := unix.Wait4(tid, &ws, unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return got, ws, err
		}
	}
}

// poll is wait for any, false where none has changed.
func poll() (tid int, ws unix.WaitStatus, ok bool) {
	tid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD|unix.WNOHANG, nil)
	return tid, ws, err == nil && tid > 0
}

func ptrace(request, tid int, addr, data uintptr) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// eventMessage returns the process id that a fork, vfork or clone event tells of.
func eventMessage(tid int) (int, error) {
	var msg uint64
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETEVENTMSG, uintptr(tid), 0,
		uintptr(unsafe.Pointer(&msg)), 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(msg), nil
}

// note gives the bytes of r as PTRACE_GETREGSET would for NT_PRSTATUS.
func note(r *unix.PtraceRegs) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))
}

// pinToOneCPU keeps the calling thread, and what it starts, on the CPU that it runs on: a step
// is a hand-over between two processes, which is faster without a second CPU. It returns how
// to undo it.
func pinToOneCPU() (restore func()) {
	var old, one unix.CPUSet
	if unix.SchedGetaffinity(0, &old) != nil {
		return func() {}
	}
	var cpu uint32
	unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	one.Set(int(cpu))
	if unix.SchedSetaffinity(0, &one) != nil {
		return func() {}
	}
	return func() { _ = unix.SchedSetaffinity(0, &old) }
}
