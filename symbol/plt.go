package symbol

import (
	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/code/x86"
	"github.com/fpstack/fpstack/maps/module"
)

// stubs names the entries of a module's procedure linkage table after the functions that they
// jump to. No symbol table does.
type stubs struct {
	m       *module.Module
	table   *Table
	slots   map[uint64]target // by address of the slot in the GOT
	indexed []target          // of .rela.plt or .rel.plt, in order
	err     error             // why some of both are missing
}

// target is what a slot of the GOT is filled with.
type target struct {
	symbol   uint32 // number in .dynsym, 0 if none
	resolver uint64 // address of an IFUNC resolver where symbol is 0
	relative bool
}

// name returns the symbol of the stub that holds v, as "pause@plt", or nil.
func (s *stubs) name(v module.Vaddr) *Symbol {
	find := s.findX86
	switch s.m.Machine() {
	case emX8664, em386:
	case emAArch64:
		find = s.findARM64
	default:
		return nil
	}
	for _, label := range []string{".plt.sec", ".plt", ".plt.got", ".iplt"} {
		sec, ok := s.m.Section(label)
		if !ok || v < sec.Addr || uint64(v-sec.Addr) >= uint64(len(sec.Data)) {
			continue
		}
		start, end, name := find(&sec, v)
		if name == "" {
			return nil
		}
		return &Symbol{Name: name + "@plt", Start: start, End: end, Sized: true, Typed: true}
	}
	return nil
}

// findX86 is the stub of x86 that holds v, "" for none.
func (s *stubs) findX86(sec *module.Section, v module.Vaddr) (start, end module.Vaddr, name string) {
	size := stubSize(sec)
	start = sec.Addr + module.Vaddr(uint64(v-sec.Addr)/size*size)
	code := x86.Code{Start: uint64(sec.Addr), Data: sec.Data, Mode64: s.m.Class() == 8}
	return start, start + module.Vaddr(size), s.decode(&code, uint64(start))
}

// findARM64 is the stub of arm64 that holds v, "" for none. Behind a header of eight, linkers make it four instructions
// long, or six where it begins with bti or authenticates what it jumps to.
func (s *stubs) findARM64(sec *module.Section, v module.Vaddr) (start, end module.Vaddr, name string) {
	const size, longest = arm64.Size, 6 * arm64.Size
	at := func(a module.Vaddr) uint64 {
		if off := uint64(a - sec.Addr); a >= sec.Addr && off+size <= uint64(len(sec.Data)) {
			return number(sec.Data[off:], size)
		}
		return 0
	}
	begins := func(a module.Vaddr) bool {
		const adrpX16, btiC = 0x90000010, 0xd503245f
		isPage := func(a module.Vaddr) bool { return at(a)&0x9f00001f == adrpX16 }
		return isPage(a) && at(a-size) != btiC || at(a) == btiC && isPage(a+size)
	}
	for start = v &^ (size - 1); !begins(start); start -= size {
		if v-start >= longest || start <= sec.Addr {
			return 0, 0, ""
		}
	}
	for end = start + size; end-start < longest && !begins(end) && uint64(end-sec.Addr) < uint64(len(sec.Data)); {
		end += size
	}
	code := arm64.Code{Start: uint64(sec.Addr), Data: sec.Data}
	if slot, ok, is := code.Jump(uint64(start)); ok && is && v < end {
		return start, end, s.inSlot(slot)
	}
	return 0, 0, ""
}

// stubSize is the distance of stubs in a section, bytes. Linkers other than GNU's leave sh_entsize 0.
func stubSize(sec *module.Section) uint64 {
	if sec.EntSize >= 8 && sec.EntSize <= 64 {
		return sec.EntSize
	}
	if sec.Name == ".plt.got" && !x86.IsEndbr(sec.Data) {
		return 8
	}
	return 16
}

// decode reads the stub at addr and returns the function's name, "" if it is none of the known forms.
func (s *stubs) decode(code *x86.Code, addr uint64) string {
	s.load()
	stub, ok := code.Stub(addr)
	if !ok || stub.Kind == x86.StubJump {
		return ""
	}
	slot := stub.Value
	switch stub.Kind {
	case x86.StubIndex:
		if s.m.Class() == 4 {
			slot /= 8 // a byte offset into .rel.plt
		}
		if slot >= uint64(len(s.indexed)) {
			return ""
		}
		return s.targetName(s.indexed[slot])
	case x86.StubGOT:
		slot = uint64(uint32(s.got()) + uint32(slot))
	}
	return s.inSlot(slot)
}

// inSlot is the name of the function that a slot of the GOT is filled with, "" if it is not known.
func (s *stubs) inSlot(slot uint64) string {
	s.load()
	t, ok := s.slots[slot]
	if !ok {
		return ""
	}
	if t.relative && t.resolver == 0 {
		t.resolver = s.inPlace(slot)
	}
	return s.targetName(t)
}

// got is the address that %ebx holds in position-independent code of i386.
func (s *stubs) got() module.Vaddr {
	for _, name := range []string{".got.plt", ".got"} {
		if sec, ok := s.m.Section(name); ok {
			return sec.Addr
		}
	}
	return 0
}

func (s *stubs) targetName(t target) string {
	if t.symbol != 0 {
		d := s.table.dynsym
		if d == nil || int64(t.symbol) >= int64(d.count()) {
			return ""
		}
		name, _ := splitVersion(&entry{index: t.symbol, table: d})
		return string(name)
	}
	if t.resolver == 0 {
		return ""
	}
	found, _ := s.table.Lookup([]module.Vaddr{module.Vaddr(t.resolver)})
	if found[0] == nil || found[0].Start != module.Vaddr(t.resolver) {
		return ""
	}
	return found[0].Name
}
