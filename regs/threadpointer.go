package regs

import "github.com/fpstack/fpstack/mem"

// TLSNote is the type of the note that holds the thread pointers of a, NT_386_TLS or NT_ARM_TLS; 0 where NT_PRSTATUS
// has it, or where none is known.
// Source: linux/include/uapi/linux/elf.h.
func (a *Arch) TLSNote() uint32 {
	switch a {
	case I386:
		return 0x200
	case ARM64:
		return 0x401
	}
	return 0
}

// ThreadPointer takes the thread pointer out of a NT_PRSTATUS note, or out of tls, the bytes of a's TLSNote where it
// has one. It is false where it is not known.
// Source: user_regs_struct or user_pt_regs of each architecture; the psABIs for which register it is; regset_tls_get
// in linux/arch/x86/kernel/tls.c (three struct user_desc); tls_get in linux/arch/arm64/kernel/ptrace.c (tpidr_el0
// comes first).
func (a *Arch) ThreadPointer(note, tls []byte) (mem.Addr, bool) {
	word := -1
	switch a {
	case AMD64:
		word = 21 // fs_base
	case RISCV64:
		word = 4 // tp
	case LOONG64:
		word = 2 // $tp
	case PPC64LE:
		word = 13 // r13
	case S390X:
		word = 18 // access registers 0 and 1, the high half first
	case I386:
		if len(tls) < 8 {
			return 0, false
		}
		return mem.Addr(a.Order.Uint32(tls[4:])), true
	case ARM64:
		note, word = tls, 0
	}
	if word < 0 || len(note) < (word+1)*8 {
		return 0, false
	}
	return mem.Addr(a.Order.Uint64(note[word*8:])), true
}
