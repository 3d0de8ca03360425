package core

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// thread is what the notes of one thread say.
type thread struct {
	tid     int
	signal  int // pr_cursig
	regs    *regs.Registers
	general []byte // the registers as NT_PRSTATUS has them
	tls     []byte // of the note that has the thread pointer
	pacMask uint64
	info    *snapshot.Signal
}

// statusLayout is where struct elf_prstatus has what is read of it.
// Source: linux/include/linux/elfcore.h: siginfo of three ints, a short, two longs, four ids, four times of two longs.
type statusLayout struct{ signal, pid, registers int }

func layoutOf(a *regs.Arch) statusLayout {
	if a.WordSize == 4 {
		return statusLayout{12, 24, 72}
	}
	return statusLayout{12, 32, 112}
}

// decodeStatus reads a NT_PRSTATUS note. It is false if the note is too short for the registers of a.
func decodeStatus(a *regs.Arch, b []byte) (thread, bool) {
	at := layoutOf(a)
	if len(b) < at.registers+a.NoteSize {
		return thread{}, false
	}
	t := thread{tid: int(int32(a.Order.Uint32(b[at.pid:]))), signal: int(a.Order.Uint16(b[at.signal:])),
		general: b[at.registers : at.registers+a.NoteSize]}
	r, err := a.Decode(t.general)
	if err != nil {
		return thread{}, false
	}
	t.regs = &r
	return t, true
}

// siSegment and the like are values of si_code that say that no address is given, or that another process sent it.
const (
	siUser   = 0    // SI_USER
	siQueue  = -1   // SI_QUEUE
	siTkill  = -6   // SI_TKILL
	siKernel = 0x80 // SI_KERNEL
)

// decodeSignal reads a NT_SIGINFO note. It is nil if that is too short.
// Source: siginfo_t in linux/include/uapi/asm-generic/siginfo.h: three ints, then the rest, aligned as a pointer is.
func decodeSignal(a *regs.Arch, b []byte) *snapshot.Signal {
	if len(b) < 16+2*a.WordSize {
		return nil
	}
	i32 := func(at int) int { return int(int32(a.Order.Uint32(b[at:]))) }
	s := &snapshot.Signal{Number: i32(0), Code: i32(8), HasCode: true}
	rest := 12
	if a.WordSize == 8 {
		rest = 16
	}
	switch {
	case s.Code == siUser || s.Code == siQueue || s.Code == siTkill:
		s.Sender = max(i32(rest), 0)
	case isFault(s.Number) && s.Code > 0 && s.Code != siKernel:
		s.Addr, s.HasAddr = mem.Addr(word(a, b[rest:])), true
	}
	return s
}

// isFault reports whether a signal comes with the address of a fault: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV.
// Source: sigaction(2), si_addr. The numbers are those of all architectures known here.
func isFault(signal int) bool {
	switch signal {
	case 4, 5, 7, 8, 11:
		return true
	}
	return false
}

// ends reports whether a signal can have ended the process: a debugger that writes a core of a process that goes on
// shows no signal, or the one that stopped it.
func ends(signal int) bool {
	switch signal {
	case 0, 17, 18, 19, 20, 21, 22, 23, 28: // SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH
		return false
	}
	return signal > 0 && signal <= 64
}

// died is what the process died by, where t is the first thread of the core: the one that met it. nil if it lives.
func (t *thread) died() *snapshot.Signal {
	switch {
	case !ends(t.signal):
		return nil
	case t.info != nil && t.info.Number == t.signal:
		return t.info
	}
	return &snapshot.Signal{Number: t.signal}
}

// word reads an address of the architecture.
func word(a *regs.Arch, b []byte) uint64 {
	if a.WordSize == 4 {
		return uint64(a.Order.Uint32(b))
	}
	return a.Order.Uint64(b)
}

// pacMask reads a NT_ARM_PAC_MASK note: the mask of data addresses, then that of instruction addresses.
// Source: struct user_pac_mask in linux/arch/arm64/include/uapi/asm/ptrace.h.
func pacMask(order binary.ByteOrder, b []byte) uint64 {
	if len(b) < 16 {
		return 0
	}
	return order.Uint64(b[8:])
}
