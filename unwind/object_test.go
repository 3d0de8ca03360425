package unwind_test

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
)

// ehFrame is an .eh_frame that a test lays out entry by entry. Addresses are absolute.
// Source: Linux Standard Base Core 5.0, section 10.6.
type ehFrame struct {
	order binary.ByteOrder
	data  []byte
	// entryPoint is where the program begins, 0 for nowhere.
	entryPoint uint64
}

// cie appends a CIE with code alignment 1, data alignment -8 and the return address column ra, and
// returns where it begins.
func (e *ehFrame) cie(augmentation string, ra byte, program ...byte) int {
	at := len(e.data)
	fields := append([]byte{0, 0, 0, 0, 1}, augmentation...)
	fields = append(fields, 0, 1, 0x78, ra, 1, 0) // DW_EH_PE_absptr
	e.entry(append(fields, program...))
	return at
}

// fde appends the rows of the code [start, start+size).
func (e *ehFrame) fde(cie int, start, size uint64, program ...byte) {
	fields := make([]byte, 21) // the last is the length of the augmentation
	e.order.PutUint32(fields, uint32(len(e.data)+4-cie))
	e.order.PutUint64(fields[4:], start)
	e.order.PutUint64(fields[12:], size)
	e.entry(append(fields, program...))
}

func (e *ehFrame) entry(fields []byte) {
	var length [4]byte
	e.order.PutUint32(length[:], uint32(len(fields)))
	e.data = append(append(e.data, length[:]...), fields...)
}

// objectCode is where the code is in the file of a drawn object.
const objectCode = 0x1000

// objectOf is an ELF program of 64 bits with code linked at codeBase, and tables.
// Source: System V gABI, chapters 4 and 5.
func objectOf(a *regs.Arch, code []byte, tables *ehFrame) []byte {
	const names = "\x00.eh_frame\x00.shstrtab\x00"
	framesAt := objectCode + len(code)
	namesAt := framesAt + len(tables.data)
	sectionsAt := (namesAt + len(names) + 7) &^ 7
	b := make([]byte, sectionsAt+3*64)
	order := a.Order
	class := byte(1) // ELFDATA2LSB
	if order == binary.ByteOrder(binary.BigEndian) {
		class = 2
	}
	copy(b, []byte{0x7f, 'E', 'L', 'F', 2, class, 1})
	order.PutUint16(b[16:], 2) // ET_EXEC
	order.PutUint16(b[18:], a.Machine)
	order.PutUint64(b[24:], tables.entryPoint)
	order.PutUint64(b[32:], 64) // e_phoff
	order.PutUint64(b[40:], uint64(sectionsAt))
	order.PutUint16(b[54:], 56)
	order.PutUint16(b[56:], 1) // e_phnum
	order.PutUint16(b[58:], 64)
	order.PutUint16(b[60:], 3) // e_shnum
	order.PutUint16(b[62:], 2) // e_shstrndx
	load := b[64:]
	order.PutUint32(load, 1)     // PT_LOAD
	order.PutUint32(load[4:], 5) // r-x
	for i, v := range []int{objectCode, codeBase, codeBase, len(code), len(code)} {
		order.PutUint64(load[8+8*i:], uint64(v))
	}
	copy(b[objectCode:], code)
	copy(b[framesAt:], tables.data)
	copy(b[namesAt:], names)
	section := func(n, name, typ, at, size int) {
		s := b[sectionsAt+64*n:]
		order.PutUint32(s, uint32(name))
		order.PutUint32(s[4:], uint32(typ))
		order.PutUint64(s[16:], uint64(codeEnd+at))
		order.PutUint64(s[24:], uint64(at))
		order.PutUint64(s[32:], uint64(size))
	}
	section(1, 1, 1, framesAt, len(tables.data)) // SHT_PROGBITS
	section(2, 11, 3, namesAt, len(names))       // SHT_STRTAB
	return b
}

// open is the Opener of a drawn process.
func (d *drawn) open(*maps.Mapping) (*module.File, error) {
	return &module.File{Data: objectOf(d.arch, d.code, d.tables), Path: "/drawn"}, nil
}
