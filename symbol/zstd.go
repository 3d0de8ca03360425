package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
)

// newZstdReader returns a reader of what data, Zstandard frames, expands to. It keeps at most 8 MiB beside what was
// read, so that it refuses back references to what lies farther; linkers make none.
//
// The decoder is that of Go's own library, which shows it only through debug/elf: hence a file in memory with
// a compressed section. Others made tables when the program starts, which took a twentieth of a dump's time.
// Source: gABI chapter 4, "Section Compression".
func newZstdReader(data []byte) (io.Reader, error) {
	const (
		headers = 64 // bytes of Ehdr64, where the section headers begin
		section = 64 // bytes of Shdr64
		names   = headers + 3*section
		body    = names + 8 // of the section: Chdr64, then data
		chdr    = 24
	)
	order := binary.LittleEndian
	head := make([]byte, body+chdr)
	copy(head, elf.ELFMAG)
	head[elf.EI_CLASS], head[elf.EI_DATA], head[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
		byte(elf.EV_CURRENT)
	order.PutUint16(head[16:], uint16(elf.ET_REL))
	order.PutUint32(head[20:], uint32(elf.EV_CURRENT))
	order.PutUint64(head[40:], headers)
	order.PutUint16(head[52:], headers)
	order.PutUint16(head[58:], section)
	order.PutUint16(head[60:], 3) // sections: none, that of names, ours
	order.PutUint16(head[62:], 1)
	place := func(at int, kind elf.SectionType, flags elf.SectionFlag, offset, size int) {
		order.PutUint32(head[at+4:], uint32(kind))
		order.PutUint64(head[at+8:], uint64(flags))
		order.PutUint64(head[at+24:], uint64(offset))
		order.PutUint64(head[at+32:], uint64(size))
	}
	place(headers+section, elf.SHT_STRTAB, 0, names, 1)
	place(headers+2*section, elf.SHT_PROGBITS, elf.SHF_COMPRESSED, body, chdr+len(data))
	order.PutUint32(head[body:], uint32(elf.COMPRESS_ZSTD))
	order.PutUint64(head[body+8:], 1<<62) // told nobody: what comes out is counted by who reads it
	f, err := elf.NewFile(&spliced{head, data})
	if err != nil {
		return nil, fmt.Errorf("wrap Zstandard data: %w", err)
	}
	return f.Sections[2].Open(), nil
}

// spliced reads a, then b.
type spliced struct{ a, b []byte }

func (s *spliced) ReadAt(p []byte, off int64) (int, error) {
	if off < int64(len(s.a)) {
		n := copy(p, s.a[off:])
		more, err := s.ReadAt(p[n:], int64(len(s.a)))
		return n + more, err
	}
	return bytes.NewReader(s.b).ReadAt(p, off-int64(len(s.a)))
}
