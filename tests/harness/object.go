package harness

import (
	"debug/elf"
	"encoding/binary"
)

// ObjectHeaders is how many bytes come before the code of an [Object].
const ObjectHeaders = 64 + 56

// Object is an ELF file of 64 bits, little-endian, that has code alone: all of it is mapped at the link address at, and
// begins at the code's byte entry.
func Object(machine elf.Machine, at uint64, code []byte, entry uint64) []byte {
	le, size := binary.LittleEndian, uint64(ObjectHeaders+len(code))
	b := append(make([]byte, 0, size), "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	b = le.AppendUint16(b, uint16(elf.ET_EXEC))
	b = le.AppendUint16(b, uint16(machine))
	b = le.AppendUint32(b, 1)
	for _, w := range []uint64{at + ObjectHeaders + entry, 64, 0} { // entry, program headers, sections
		b = le.AppendUint64(b, w)
	}
	b = le.AppendUint32(b, 0)
	for _, w := range []uint16{64, 56, 1, 0, 0, 0} {
		b = le.AppendUint16(b, w)
	}
	b = le.AppendUint32(b, uint32(elf.PT_LOAD))
	b = le.AppendUint32(b, uint32(elf.PF_R|elf.PF_X))
	for _, w := range []uint64{0, at, at, size, size, 0x1000} {
		b = le.AppendUint64(b, w)
	}
	return append(b, code...)
}
