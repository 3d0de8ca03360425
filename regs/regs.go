// Package regs knows the register files of the architectures: which bytes of the
// NT_PRSTATUS note hold which register, DWARF register numbers, and which register
// is the program counter, the stack pointer, the frame pointer and the link register.
//
// It is pure: every architecture is known on every host. One [Arch] value describes
// each, in a file of its own (amd64.go, arm64.go, …).
//
// The caller provides the bytes that PTRACE_GETREGSET or a core file gave. A register
// that those bytes do not hold is unknown, never 0.
package regs

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/fpstack/fpstack/mem"
)

// Reg is a register of one Arch: its DWARF number where that is below 32, else a
// number of the Arch's own (see [Arch.FromDWARF]).
type Reg uint8

// NoReg says that an architecture has no such register.
const NoReg Reg = 0xff

// Max is the number of registers that [Registers] has room for.
const Max = 40

// slot says where in the note a register is, or count consecutive ones: these are named by name and a number, from 0
// for register 0 on.
type slot struct {
	reg   Reg
	name  string
	word  int // index in the note, in words of the architecture
	count int // 0 for a single one
}

// has reports whether r is one of s.
func (s *slot) has(r Reg) bool { return r >= s.reg && int(r-s.reg) < max(1, s.count) }

// alias is a DWARF number of 32 or above.
type alias struct {
	dwarf uint64
	reg   Reg
}

// Arch describes one architecture. The values are package variables and must not be changed. They are made by the
// compiler: to make tables of eight architectures at each start of the program took 70 microseconds of each run.
type Arch struct {
	Name     string // as GOARCH
	WordSize int    // bytes of an address
	Order    binary.ByteOrder
	NoteSize int    // bytes of NT_PRSTATUS that PTRACE_GETREGSET returns
	Machine  uint16 // e_machine of its ELF files
	PC, SP   Reg
	FP       Reg // frame pointer by convention, NoReg where there is none
	LR       Reg // link register, NoReg where calls push the return address
	// Record is where a function that keeps a frame pointer stores its caller's: see [Record].
	Record Record
	// Syscall is the register with the number of the system call a thread is in (orig_rax, …)
	// or NoReg.
	Syscall Reg
	// Args are the registers with the arguments of a system call, which keep them while it
	// lasts; nil where that is not known.
	Args []Reg
	// Result is the register in which a system call returns, NoReg where it is not needed.
	Result Reg
	// Callee lists the registers that a function must preserve for its caller, by the ABI.
	Callee []Reg
	slots  []slot
	dwarf  []alias
}

// All lists the architectures known, for tables and tests.
var All = []*Arch{AMD64, I386, ARM64, ARM, RISCV64, S390X, PPC64LE, LOONG64}

// Record is the layout of a frame record of C and C++ code: at which offsets from the frame
// pointer the caller's frame pointer and the return address stand, and what the stack pointer
// of the caller is. The zero Record stands for "none": such code chains through the stack
// pointer or not at all.
type Record struct {
	SavedFP int64 // bytes from FP
	RA      int64 // bytes from FP
	CFA     int64 // bytes from FP to the stack pointer of the caller
	Below   int64 // FP may lie this far below SP (Go on arm64 keeps its record under SP)
	// Anywhere says that compilers put the record at different places of a frame. Then FP+CFA is only a lower bound of
	// the stack pointer of the caller.
	Anywhere bool
}

// Lookup returns the architecture of that GOARCH name.
func Lookup(name string) (*Arch, bool) {
	for _, a := range All {
		if a.Name == name {
			return a, true
		}
	}
	return nil, false
}

// OfELF returns the architecture of ELF files with that e_machine and bytes of an address, nil if it is not known.
func OfELF(machine uint16, wordSize int) *Arch {
	for _, a := range All {
		if a.Machine == machine && a.WordSize == wordSize {
			return a
		}
	}
	return nil
}

// LayoutError says that a note has the length of no known layout.
type LayoutError struct {
	Host string // GOARCH of the kernel
	Size int
}

func (e *LayoutError) Error() string {
	return fmt.Sprintf("decode registers: note of %d bytes fits no layout of a %s kernel", e.Size, e.Host)
}

// Compat is the 32-bit architecture whose programs a kernel of a runs too, nil if there is none.
func (a *Arch) Compat() *Arch {
	switch a {
	case AMD64:
		return I386
	case ARM64:
		return ARM
	}
	return nil
}

// ByNote returns the architecture of a thread from the length of its NT_PRSTATUS note
// and the GOARCH of the kernel: a 64-bit tracer gets the short note of a 32-bit thread.
// It fails with a *LayoutError if the length fits neither.
func ByNote(host *Arch, size int) (*Arch, error) {
	for _, a := range []*Arch{host, host.Compat()} {
		if a != nil && a.NoteSize == size {
			return a, nil
		}
	}
	return nil, &LayoutError{Host: host.Name, Size: size}
}

// FromDWARF converts a DWARF register number. It is false for a number that fpstack
// does not follow (vector registers, flags).
func (a *Arch) FromDWARF(n uint64) (Reg, bool) {
	if n < 32 && a.slot(Reg(n)) != nil {
		return Reg(n), true
	}
	for _, other := range a.dwarf {
		if other.dwarf == n {
			return other.reg, true
		}
	}
	return 0, false
}

// slot is where r is in the note, nil if it is not there.
func (a *Arch) slot(r Reg) *slot {
	for i := range a.slots {
		if a.slots[i].has(r) {
			return &a.slots[i]
		}
	}
	return nil
}

// RegName returns the name of the manuals, or "r?" and the number.
func (a *Arch) RegName(r Reg) string {
	switch s := a.slot(r); {
	case r == ARM64VG && a.VectorNote() != 0:
		return "vg"
	case s == nil:
		return fmt.Sprintf("r?%d", r)
	case s.count > 0:
		return s.name + strconv.Itoa(int(r))
	default:
		return s.name
	}
}

// Registers holds the register values of one thread or frame. The zero value of a
// register is "unknown". It is copied by assignment.
type Registers struct {
	Arch  *Arch
	val   [Max]uint64
	known uint64
}

// New returns a Registers in which nothing is known.
func New(a *Arch) Registers { return Registers{Arch: a} }

// Decode returns the registers of one thread from note, the bytes that PTRACE_GETREGSET
// gave for NT_PRSTATUS, in the target's byte order.
//
// It fails with a *LayoutError if the length is not that of a.
// Source: struct user_regs_struct and elf_gregset_t of each architecture's kernel headers.
func (a *Arch) Decode(note []byte) (Registers, error) {
	if len(note) != a.NoteSize {
		return Registers{}, &LayoutError{Host: a.Name, Size: len(note)}
	}
	r := New(a)
	// A sampler decodes a note for each sample: no call for each register.
	fast := a.WordSize == 8 && a.Order == binary.ByteOrder(binary.LittleEndian)
	for i := range a.slots {
		s := &a.slots[i]
		for k := range max(1, s.count) {
			reg, off := s.reg+Reg(k), (s.word+k)*a.WordSize
			switch {
			case fast:
				r.val[reg] = binary.LittleEndian.Uint64(note[off:])
				r.known |= 1 << reg
			case a.WordSize == 4:
				r.Set(reg, uint64(a.Order.Uint32(note[off:])))
			default:
				r.Set(reg, a.Order.Uint64(note[off:]))
			}
		}
	}
	return r, nil
}

// Encode writes the known registers into a note of the architecture's length; unknown
// ones are 0 there. It is the inverse of Decode, for recorded snapshots and tests.
func (r *Registers) Encode() []byte {
	note := make([]byte, r.Arch.NoteSize)
	for _, s := range r.Arch.slots {
		for k := range max(1, s.count) {
			v, _ := r.Get(s.reg + Reg(k))
			off := (s.word + k) * r.Arch.WordSize
			if r.Arch.WordSize == 4 {
				r.Arch.Order.PutUint32(note[off:], uint32(v))
			} else {
				r.Arch.Order.PutUint64(note[off:], v)
			}
		}
	}
	return note
}

// Get returns the value of a register, and whether it is known.
func (r *Registers) Get(i Reg) (uint64, bool) {
	if i >= Max || r.known&(1<<i) == 0 {
		return 0, false
	}
	return r.val[i], true
}

// Set makes a register known. A number that is out of range is ignored.
func (r *Registers) Set(i Reg, v uint64) {
	if i < Max {
		r.val[i] = v
		r.known |= 1 << i
	}
}

// Forget makes registers unknown.
func (r *Registers) Forget(list ...Reg) {
	known := r.known
	for _, i := range list {
		if i < Max {
			known &^= 1 << i
			r.val[i] = 0
		}
	}
	r.known = known
}

// Saved says where in copied bytes the value of a register is, from a place that [Registers.Return] is given.
type Saved struct {
	Reg Reg
	At  int32
}

// Return makes r what it is behind a return to pc with that SP: the registers of saved are little-endian words of the
// architecture in b, which At counts from base. One call for all of them is several times as fast as a Set for each.
//
// It panics where b does not hold a word.
func (r *Registers) Return(pc, sp mem.Addr, saved []Saved, b []byte, base int64) {
	a, known := r.Arch, r.known
	for _, s := range saved {
		if s.Reg >= Max {
			continue
		}
		known |= 1 << s.Reg
		if word := b[base+int64(s.At):]; a.WordSize == 4 {
			r.val[s.Reg] = uint64(binary.LittleEndian.Uint32(word))
		} else {
			r.val[s.Reg] = binary.LittleEndian.Uint64(word)
		}
	}
	r.val[a.PC], r.val[a.SP] = uint64(pc), uint64(sp)
	r.known = known | 1<<a.PC | 1<<a.SP
}

// PC returns the program counter.
func (r *Registers) PC() (mem.Addr, bool) { v, ok := r.Get(r.Arch.PC); return mem.Addr(v), ok }

// SP returns the stack pointer.
func (r *Registers) SP() (mem.Addr, bool) { v, ok := r.Get(r.Arch.SP); return mem.Addr(v), ok }

// FP returns the frame pointer register, whatever it holds.
func (r *Registers) FP() (mem.Addr, bool) { v, ok := r.Get(r.Arch.FP); return mem.Addr(v), ok }
