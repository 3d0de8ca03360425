package exact

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fpstack/fpstack/regs"
)

// What the room knows of one machine stands in a file like this; all have the same names.
const (
	hasLink    = false // calls push the return address
	callLength = 2     // bytes of the instruction that makes a system call
)

// userCS64 is the code segment of 64-bit user code, __USER_CS in linux/arch/x86/include/asm/segment.h.
const userCS64 = 0x33

// machineState is what is kept of a thread between two steps.
//
//lint:ignore U1000 other machines keep something
type machineState struct{}

// passStore does what a step would undo: nothing.
func (t *thread) passStore() error { return nil }

func isWide(r *unix.PtraceRegs) bool { return r.Cs == userCS64 }

func place(r *unix.PtraceRegs) point { return point{pc: r.Rip, sp: r.Rsp} }

// callOf is the number of the system call that r is about to make, and its first arguments where it is of 64-bit code.
func callOf(r *unix.PtraceRegs) (nr uint64, args [2]uint64) { return r.Rax, [2]uint64{r.Rdi, r.Rsi} }

// goroutine is which of Go's r are of, where its runtime resumes one.
// Source: cmd/compile/abi-internal.md of the Go distribution.
func goroutine(r *unix.PtraceRegs) uint64 { return r.R14 }

// returnsTo is where a function that t has just entered returns to.
func (t *thread) returnsTo() (uint64, bool) { return t.space.word(t.at.sp, t.space.wordSize()) }

func (s *space) decode(b []byte) instruction { return decode(b, s.wide) }

// runToEntry lets a process that is stopped behind its exec run until it comes to its entry.
func runToEntry(pid int) error {
	entry, err := entryOf(pid)
	if err != nil {
		return err
	}
	code := make([]byte, 8)
	if _, err := unix.PtracePeekText(pid, uintptr(entry), code); err != nil {
		return fmt.Errorf("read the entry: %w", err)
	}
	trap := append([]byte{0xcc}, code[1:]...) // int3
	if _, err := unix.PtracePokeText(pid, uintptr(entry), trap); err != nil {
		return fmt.Errorf("write a breakpoint: %w", err)
	}
	if err := unix.PtraceCont(pid, 0); err != nil {
		return err
	}
	ws, err := waitFor(pid)
	if err != nil || !ws.Stopped() || ws.StopSignal() != unix.SIGTRAP {
		return fmt.Errorf("wait for the entry: wait status %#x, %v", uint32(ws), err)
	}
	if _, err := unix.PtracePokeText(pid, uintptr(entry), code); err != nil {
		return fmt.Errorf("remove a breakpoint: %w", err)
	}
	var r unix.PtraceRegs
	if err := registers(pid, &r); err != nil {
		return fmt.Errorf("read registers: %w", err)
	}
	r.Rip = entry
	return unix.PtraceSetRegs(pid, &r)
}

// pacMask has the bits of return addresses that sign them.
func pacMask(int) uint64 { return 0 }

// registers reads the registers of a stopped thread. For a 32-bit thread too they come in the
// 64-bit layout: the tracer's decides.
func registers(tid int, r *unix.PtraceRegs) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGS, uintptr(tid), 0,
		uintptr(unsafe.Pointer(r)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// registers converts what ptrace gave.
func (t *thread) registers() (*regs.Registers, error) {
	if t.space.wide {
		r, err := regs.AMD64.Decode(note(&t.regs))
		return &r, err
	}
	r := regs.New(regs.I386)
	for reg, v := range map[regs.Reg]uint64{
		regs.I386EAX: t.regs.Rax, regs.I386EBX: t.regs.Rbx, regs.I386ECX: t.regs.Rcx, regs.I386EDX: t.regs.Rdx,
		regs.I386ESI: t.regs.Rsi, regs.I386EDI: t.regs.Rdi, regs.I386EBP: t.regs.Rbp, regs.I386ESP: t.regs.Rsp,
		regs.I386EIP: t.regs.Rip, regs.I386OrigEAX: t.regs.Orig_rax,
	} {
		r.Set(reg, uint64(uint32(v)))
	}
	return &r, nil
}

// installs reports whether a system call, rt_sigaction(2), sets what SIGUSR1 does.
func (t *thread) installs(nr uint64, args [2]uint64) bool {
	const usr1 = uint64(unix.SIGUSR1)
	if !t.space.wide {
		return nr == 174 && t.regs.Rbx == usr1 && t.regs.Rcx != 0
	}
	return nr == unix.SYS_RT_SIGACTION && args[0] == usr1 && args[1] != 0
}

// changesMappings reports whether a system call may change the mappings. Numbers: syscalls(2),
// linux/arch/x86/entry/syscalls/syscall_64.tbl and syscall_32.tbl.
func (s *space) changesMappings(nr uint64) bool {
	if !s.wide {
		switch nr {
		case 45, 90, 91, 125, 163, 192: // brk mmap munmap mprotect mremap mmap2
			return true
		}
		return false
	}
	switch nr {
	case unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_BRK, unix.SYS_MREMAP,
		unix.SYS_SHMAT, unix.SYS_SHMDT:
		return true
	}
	return false
}

// isSigreturn reports whether a system call ends a signal handler.
func (s *space) isSigreturn(nr uint64) bool {
	if s.wide {
		return nr == unix.SYS_RT_SIGRETURN
	}
	return nr == 119 || nr == 173
}

// savedContext reads PC and SP that a signal frame at sp saved. Layouts: struct rt_sigframe in
// linux/arch/x86/include/asm/sigframe.h; struct sigcontext_64 and sigcontext_32 in sigcontext.h.
// 64-bit: pretcode 8, ucontext: flags, link, stack 40, then gregs: rsp is the 16th, rip the 17th.
// 32-bit: pretcode, sig, then sigcontext, or with siginfo: pretcode, sig, two pointers, siginfo 128,
// ucontext: flags, link, stack 20; in sigcontext esp is at 28, eip at 56.
func (s *space) savedContext(sp uint64) (pc, saved uint64, ok bool) {
	var b [256]byte
	if n, _ := s.ReadMem(b[:], memAddr(sp)); n < len(b) {
		return 0, 0, false
	}
	if s.wide {
		return binary.LittleEndian.Uint64(b[176:]), binary.LittleEndian.Uint64(b[168:]), true
	}
	context := 8
	if info := binary.LittleEndian.Uint32(b[8:]); uint64(info) == sp+16 {
		context = 16 + 128 + 20
	}
	word := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(b[context+i:])) }
	return word(56), word(28), true
}
