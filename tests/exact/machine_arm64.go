package exact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fpstack/fpstack/regs"
)

const (
	hasLink    = true
	callLength = 4
	linkReg    = 30
)

// machineState is what is kept of a thread between two steps.
type machineState struct {
	reserved struct { // by the last load of the exclusive kind
		addr uint64
		data []byte
	}
}

// exclusive is a load or a store of the exclusive kind. Source: Arm Architecture Reference Manual, C4.1, "Loads and
// Stores"; C6.2: LDXR, STXR, LDXP, STXP.
type exclusive struct {
	base, status uint32 // registers; 31 is SP as the base, else zero
	data         []uint32
	size         uint64 // of one register, bytes
}

func exclusiveOf(i uint32) exclusive {
	e := exclusive{base: i >> 5 & 31, status: i >> 16 & 31, data: []uint32{i & 31}, size: 1 << (i >> 30)}
	if i>>21&1 == 1 {
		e.data = append(e.data, i>>10&31)
	}
	return e
}

// passStore makes an exclusive store in the place of t, which could never do so: each step ends the reservation that
// its load has made, so that the loop of the two would go on for ever. The store succeeds if memory has what was
// loaded.
// Source: Arm Architecture Reference Manual, B2.10: a return from an exception clears the monitor.
func (t *thread) passStore() error {
	if t.in.kind != reserve && t.in.kind != store {
		return nil
	}
	e := exclusiveOf(t.in.bits)
	addr := t.regs.Sp
	if e.base < 31 {
		addr = t.regs.Regs[e.base]
	}
	now := make([]byte, e.size*uint64(len(e.data)))
	n, _ := t.space.ReadMem(now, memAddr(addr))
	if t.in.kind == reserve {
		t.reserved.addr, t.reserved.data = addr, now[:n]
		return nil
	}
	stored := n == len(now) && t.reserved.addr == addr && bytes.Equal(now, t.reserved.data)
	t.reserved.data = nil
	if stored {
		if _, err := unix.PtracePokeData(t.tid, uintptr(addr), e.bytes(&t.regs)); err != nil {
			return fmt.Errorf("store at %#x: %w", addr, err)
		}
	}
	return t.passed(e.status, uint64(btoi(!stored)))
}

// bytes is what e stores.
func (e *exclusive) bytes(r *unix.PtraceRegs) (b []byte) {
	for _, reg := range e.data {
		v := uint64(0)
		if reg < 31 {
			v = r.Regs[reg]
		}
		b = append(b, binary.LittleEndian.AppendUint64(nil, v)[:e.size]...)
	}
	return b
}

// passed lets t go on behind the instruction at its PC, with v in a register.
func (t *thread) passed(reg uint32, v uint64) error {
	if reg < 31 {
		t.regs.Regs[reg] = v
	}
	t.regs.Pc += callLength
	err := regset(unix.PTRACE_SETREGSET, t.tid, notePRStatus, unsafe.Pointer(&t.regs), unsafe.Sizeof(t.regs))
	if err != nil {
		return fmt.Errorf("write registers of %d: %w", t.tid, err)
	}
	t.at = place(&t.regs)
	t.in = t.space.instruction(t.at.pc)
	return nil
}

func isWide(*unix.PtraceRegs) bool { return true }

func place(r *unix.PtraceRegs) point { return point{pc: r.Pc, sp: r.Sp} }

// callOf is the number of the system call that r is about to make, and its first arguments: behind it x0 is the result.
func callOf(r *unix.PtraceRegs) (nr uint64, args [2]uint64) {
	return r.Regs[8], [2]uint64{r.Regs[0], r.Regs[1]}
}

// goroutine is which of Go's r are of, where its runtime resumes one.
// Source: cmd/compile/abi-internal.md of the Go distribution.
func goroutine(r *unix.PtraceRegs) uint64 { return r.Regs[28] }

// returnsTo is where a function that t has just entered returns to.
func (t *thread) returnsTo() (uint64, bool) { return t.regs.Regs[linkReg] &^ pacMask(t.tid), true }

func (s *space) decode(b []byte) instruction { return decodeARM64(b) }

// Sets of registers: linux/include/uapi/linux/elf.h.
const (
	notePRStatus = 1
	notePACMask  = 0x406
)

// runToEntry is not there: no program is tried so.
func runToEntry(int) error { return errors.ErrUnsupported }

// pacMask has the bits of return addresses that sign them, 0 where the processor signs none.
func pacMask(tid int) uint64 {
	var masks [2]uint64
	if getSet(tid, notePACMask, unsafe.Pointer(&masks), unsafe.Sizeof(masks)) != nil {
		return 0
	}
	return masks[1]
}

func getSet(tid int, note uintptr, to unsafe.Pointer, size uintptr) error {
	return regset(unix.PTRACE_GETREGSET, tid, note, to, size)
}

func regset(request uintptr, tid int, note uintptr, to unsafe.Pointer, size uintptr) error {
	iov := unix.Iovec{Base: (*byte)(to), Len: uint64(size)}
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, request, uintptr(tid), note,
		uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

// registers reads the registers of a stopped thread.
func registers(tid int, r *unix.PtraceRegs) error {
	return getSet(tid, notePRStatus, unsafe.Pointer(r), unsafe.Sizeof(*r))
}

// registers converts what ptrace gave.
func (t *thread) registers() (*regs.Registers, error) {
	r, err := regs.ARM64.Decode(unsafe.Slice((*byte)(unsafe.Pointer(&t.regs)), unsafe.Sizeof(t.regs)))
	return &r, err
}

// installs reports whether a system call, rt_sigaction(2), sets what SIGUSR1 does.
func (t *thread) installs(nr uint64, args [2]uint64) bool {
	return nr == unix.SYS_RT_SIGACTION && args[0] == uint64(unix.SIGUSR1) && args[1] != 0
}

// changesMappings reports whether a system call may change the mappings.
func (s *space) changesMappings(nr uint64) bool {
	switch nr {
	case unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_BRK, unix.SYS_MREMAP,
		unix.SYS_SHMAT, unix.SYS_SHMDT:
		return true
	}
	return false
}

// isSigreturn reports whether a system call ends a signal handler.
func (s *space) isSigreturn(nr uint64) bool { return nr == unix.SYS_RT_SIGRETURN }

// savedContext reads PC and SP that a signal frame at sp saved: siginfo 128, ucontext to its sigcontext 176, the
// address of a fault 8, x0 to x30, sp, pc. Source: struct rt_sigframe in linux/arch/arm64/kernel/signal.c.
func (s *space) savedContext(sp uint64) (pc, saved uint64, ok bool) {
	var b [576]byte
	if n, _ := s.ReadMem(b[:], memAddr(sp)); n < len(b) {
		return 0, 0, false
	}
	return binary.LittleEndian.Uint64(b[568:]), binary.LittleEndian.Uint64(b[560:]), true
}
