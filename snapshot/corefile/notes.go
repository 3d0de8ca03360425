package corefile

import (
	"encoding/binary"
	"strings"

	"github.com/fpstack/fpstack/regs"
)

// SetType is the kind of a register set, and who defines its note.
type SetType struct {
	Type  uint32
	Owner string
}

// Types of notes. Source: linux/include/uapi/linux/elf.h.
const (
	ntPRStatus = 1          // NT_PRSTATUS
	ntFPRegSet = 2          // NT_PRFPREG
	ntPRPSInfo = 3          // NT_PRPSINFO
	ntAuxv     = 6          // NT_AUXV
	ntFile     = 0x46494c45 // NT_FILE
)

// Sets are the register sets of a thread that belong into a core besides NT_PRSTATUS, in the kernel's order. A CPU need
// not have all of them. Keys of pointer authentication are left out: they are secrets.
//
// Source: the tables of struct user_regset in linux/arch/*/kernel/ptrace.c; core_note_type.
func Sets(a *regs.Arch) []SetType {
	sets := []SetType{{ntFPRegSet, "CORE"}}
	for _, typ := range furtherSets[a.Name] {
		sets = append(sets, SetType{typ, "LINUX"})
	}
	return sets
}

var furtherSets = map[string][]uint32{
	"amd64": {0x202}, // NT_X86_XSTATE
	// NT_PRXFPREG, NT_X86_XSTATE, NT_386_TLS
	"386": {0x46e62b7f, 0x202, 0x200},
	// NT_ARM_TLS, NT_ARM_SVE, NT_ARM_PAC_MASK, NT_ARM_TAGGED_ADDR_CTRL
	"arm64":   {0x401, 0x405, 0x406, 0x409},
	"arm":     {0x400},                      // NT_ARM_VFP
	"riscv64": {0x901},                      // NT_RISCV_VECTOR
	"s390x":   {0x307, 0x309, 0x30a},        // NT_S390_SYSTEM_CALL, NT_S390_VXRS_LOW, NT_S390_VXRS_HIGH
	"ppc64le": {0x100, 0x102},               // NT_PPC_VMX, NT_PPC_VSX
	"loong64": {0xa02, 0xa03, 0xa04, 0xa00}, // NT_LOONGARCH_LSX, LASX, LBT, CPUCFG
}

// appender appends values in the byte order of an architecture.
type appender struct {
	binary.AppendByteOrder
	word int
	b    []byte
}

func newAppender(a *regs.Arch) *appender {
	return &appender{AppendByteOrder: a.Order.(binary.AppendByteOrder), word: a.WordSize}
}

func (a *appender) u16(v uint16) { a.b = a.AppendUint16(a.b, v) }
func (a *appender) u32(v uint32) { a.b = a.AppendUint32(a.b, v) }
func (a *appender) i32(v int)    { a.u32(uint32(int32(v))) }
func (a *appender) u64(v uint64) { a.b = a.AppendUint64(a.b, v) }

func (a *appender) words(list ...uint64) {
	for _, v := range list {
		if a.word == 4 {
			a.u32(uint32(v))
		} else {
			a.u64(v)
		}
	}
}

func (a *appender) zeros(n int) { a.b = append(a.b, make([]byte, n)...) }

// text appends s, cut or filled up to n bytes, of which the last is always 0.
func (a *appender) text(s string, n int) {
	field := make([]byte, n)
	copy(field[:n-1], s)
	a.b = append(a.b, field...)
}

// note appends a note. Source: gABI chapter 5, Note Section.
func (a *appender) note(owner string, typ uint32, desc []byte) {
	a.i32(len(owner) + 1)
	a.i32(len(desc))
	a.u32(typ)
	a.b = append(a.b, owner...)
	a.zeros(1)
	a.zeros(-len(a.b) & 3)
	a.b = append(a.b, desc...)
	a.zeros(-len(a.b) & 3)
}

// notes are all of the core, in the kernel's order: those of the process behind the status of the first thread.
func (p *Process) notes() []byte {
	a := newAppender(p.Arch)
	for i := range p.Threads {
		t := &p.Threads[i]
		a.note("CORE", ntPRStatus, p.status(t))
		if i == 0 {
			p.ofProcess(a)
		}
		for _, s := range t.Sets {
			a.note(s.Owner, s.Type, s.Data)
		}
	}
	if len(p.Threads) == 0 {
		p.ofProcess(a)
	}
	return a.b
}

func (p *Process) ofProcess(a *appender) {
	a.note("CORE", ntPRPSInfo, p.info())
	if len(p.Auxv) > 0 {
		a.note("CORE", ntAuxv, p.Auxv)
	}
	if files := p.files(); files != nil {
		a.note("CORE", ntFile, files)
	}
}

// status is struct elf_prstatus. The process did not die: no signal is in it, and no times.
// Source: linux/include/linux/elfcore.h.
func (p *Process) status(t *Thread) []byte {
	a := newAppender(p.Arch)
	a.zeros(12) // pr_info
	a.u16(0)    // pr_cursig
	a.zeros(2)
	a.words(t.Pending, t.Blocked)
	for _, id := range []int{t.TID, p.Parent, p.Group, p.Session} {
		a.i32(id)
	}
	a.zeros(4 * 2 * a.word) // times
	a.b = append(a.b, t.General...)
	hasFloat := 0
	for _, s := range t.Sets {
		if s.Type == ntFPRegSet {
			hasFloat = 1
		}
	}
	a.i32(hasFloat) // pr_fpvalid
	a.zeros(-len(a.b) & (a.word - 1))
	return a.b
}

// info is struct elf_prpsinfo. Ids of users have two bytes on 386 and arm.
// Source: linux/include/linux/elfcore.h, linux/fs/compat_binfmt_elf.c.
func (p *Process) info() []byte {
	a := newAppender(p.Arch)
	const states = "RSDTZW"
	state := max(strings.IndexByte(states, p.State), 0)
	zombie := byte(0)
	if p.State == 'Z' {
		zombie = 1
	}
	a.b = append(a.b, byte(state), states[state], zombie, 0)
	a.zeros(-len(a.b) & (a.word - 1))
	a.words(p.Flags)
	if a.word == 4 {
		a.u16(uint16(min(p.UID, 0xfffe)))
		a.u16(uint16(min(p.GID, 0xfffe)))
	} else {
		a.u32(p.UID)
		a.u32(p.GID)
	}
	for _, id := range []int{p.PID, p.Parent, p.Group, p.Session} {
		a.i32(id)
	}
	a.text(p.Comm, 16)
	a.text(p.Args, 80)
	return a.b
}

// files is the NT_FILE note, nil if no file is mapped.
// Source: fill_files_note in linux/fs/binfmt_elf.c.
func (p *Process) files() []byte {
	a := newAppender(p.Arch)
	n := 0
	var paths []byte
	for i := range p.Mappings {
		u := &p.Mappings[i]
		if !u.IsFile() {
			continue
		}
		n++
		a.words(uint64(u.Start), uint64(u.End), uint64(u.Offset)/p.PageSize)
		paths = append(paths, strings.ReplaceAll(u.Path, "\x00", "")...)
		if u.Deleted {
			paths = append(paths, " (deleted)"...)
		}
		paths = append(paths, 0)
	}
	if n == 0 {
		return nil
	}
	head := newAppender(p.Arch)
	head.words(uint64(n), p.PageSize)
	return append(append(head.b, a.b...), paths...)
}
