package symbol

import (
	"bytes"
	"encoding/binary"

	"github.com/fpstack/fpstack/maps/module"
)

// stubs names the entries of a module's procedure linkage table after the functions that they
// jump to. No symbol table does.
//
// Source: System V ABI supplements for AMD64 and i386, "Procedure Linkage Table"; the
// forms with endbr are those of binutils.
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
	if mach := s.m.Machine(); mach != emX8664 && mach != em386 {
		return nil
	}
	for _, label := range []string{".plt.sec", ".plt", ".plt.got", ".iplt"} {
		sec, ok := s.m.Section(label)
		if !ok || v < sec.Addr || uint64(v-sec.Addr) >= uint64(len(sec.Data)) {
			continue
		}
		size := stubSize(&sec)
		off := uint64(v-sec.Addr) / size * size
		name := s.decode(sec.Data[off:], uint64(sec.Addr)+off)
		if name == "" {
			return nil
		}
		start := sec.Addr + module.Vaddr(off)
		return &Symbol{Name: name + "@plt", Start: start, End: start + module.Vaddr(size), Sized: true, Typed: true}
	}
	return nil
}

// stubSize is the distance of stubs in a section, bytes. Linkers other than GNU's leave sh_entsize 0.
func stubSize(sec *module.Section) uint64 {
	if sec.EntSize >= 8 && sec.EntSize <= 64 {
		return sec.EntSize
	}
	if sec.Name == ".plt.got" && len(sec.Data) >= 4 && !endbr(sec.Data) {
		return 8
	}
	return 16
}

func endbr(code []byte) bool {
	return bytes.HasPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) || bytes.HasPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfb})
}

// decode reads the jump of the stub at addr, or the number that a stub of a lazily bound
// function pushes, and returns the function's name, "" if it is none of the known forms.
func (s *stubs) decode(code []byte, addr uint64) string {
	if endbr(code) {
		code, addr = code[4:], addr+4
	}
	if len(code) > 0 && code[0] == 0xf2 { // bnd
		code, addr = code[1:], addr+1
	}
	if len(code) < 6 {
		return ""
	}
	s.load()
	if code[0] == 0x68 { // push $n
		n := binary.LittleEndian.Uint32(code[1:])
		if s.m.Class() == 4 {
			n /= 8 // a byte offset into .rel.plt
		}
		if uint64(n) < uint64(len(s.indexed)) {
			return s.targetName(s.indexed[n])
		}
		return ""
	}
	disp := binary.LittleEndian.Uint32(code[2:])
	var slot uint64
	switch {
	case code[0] == 0xff && code[1] == 0x25 && s.m.Class() == 8: // jmp *disp(%rip)
		slot = addr + 6 + uint64(int64(int32(disp)))
	case code[0] == 0xff && code[1] == 0x25: // jmp *disp
		slot = uint64(disp)
	case code[0] == 0xff && code[1] == 0xa3: // jmp *disp(%ebx)
		slot = uint64(uint32(s.got()) + disp)
	default:
		return ""
	}
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
