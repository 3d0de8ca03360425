package unwind

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
)

// TestIsEntry: _start of glibc for arm64, with addresses of 64 bits, has 80 bytes; it ends with a call.
func TestIsEntry(t *testing.T) {
	const base, entry, size = 0x400000, 0x400100, 0x200
	le := binary.LittleEndian
	b := make([]byte, size)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], uint16(elf.ET_EXEC))
	le.PutUint16(b[18:], uint16(elf.EM_AARCH64))
	le.PutUint64(b[24:], entry)
	le.PutUint64(b[32:], 64) // program headers
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[64:], uint32(elf.PT_LOAD))
	le.PutUint32(b[68:], uint32(elf.PF_R|elf.PF_X))
	for i, v := range []uint64{0, base, base, size, size} {
		le.PutUint64(b[72+8*i:], v)
	}
	m, err := module.NewFile(&module.File{Data: b, Close: func() error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range map[module.Vaddr]bool{entry - 1: false, entry: true, entry + 75: true, entry + 80: false} {
		if isEntry(m, v) != want {
			t.Errorf("%#x begins the program: %t", v, !want)
		}
	}
}
