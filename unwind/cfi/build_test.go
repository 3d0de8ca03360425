package cfi

import (
	"encoding/binary"
	"slices"
)

// sleb appends a signed LEB128 number.
func sleb(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

var uleb = binary.AppendUvarint

// u32 and u64 are numbers of the target, little endian.
func u32(v uint64) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// section lays out .eh_frame or .debug_frame, 64-bit little endian, linked at addr.
type section struct {
	addr  uint64
	debug bool // .debug_frame
	wide  bool // 64-bit lengths
	data  []byte
}

// place is the address of the next byte of an entry's fields.
func (s *section) place() uint64 {
	head := uint64(8)
	if s.wide {
		head = 16
		if s.debug {
			head = 20
		}
	}
	return s.addr + uint64(len(s.data)) + head
}

// entry appends a length, an id and the fields; cie < 0 makes a CIE.
func (s *section) entry(cie int, fields []byte) (offset int) {
	offset = len(s.data)
	idSize := 4
	if s.wide && s.debug {
		idSize = 8
	}
	if s.wide {
		s.data = append(s.data, 0xff, 0xff, 0xff, 0xff)
		s.data = append(s.data, u64(uint64(len(fields)+idSize))...)
	} else {
		s.data = append(s.data, u32(uint64(len(fields)+idSize))...)
	}
	id := ^uint64(0)
	switch {
	case cie < 0 && !s.debug:
		id = 0
	case cie >= 0 && s.debug:
		id = uint64(cie)
	case cie >= 0:
		id = uint64(len(s.data) - cie)
	}
	s.data = append(s.data, u64(id)[:idSize]...)
	s.data = append(s.data, fields...)
	return offset
}

// cie appends a CIE: code alignment 1, data alignment -8, return address column 16.
func (s *section) cie(version byte, augmentation string, data []byte, program ...byte) int {
	f := append([]byte{version}, augmentation...)
	f = append(f, 0)
	if version == 4 {
		f = append(f, 8, 0)
	}
	if augmentation == "eh" {
		f = append(f, u64(0xdead)...)
	}
	f = append(f, 1, 0x78, 16)
	return s.entry(-1, slices.Concat(f, data, program))
}

// plainCIE has CFA = r7+8 and the return address at CFA-8, as on amd64.
func (s *section) plainCIE() int {
	return s.cie(1, "", nil, opDefCFA, 7, 8, opOffset|16, 1)
}

// fde appends an FDE with absolute addresses of 8 bytes.
func (s *section) fde(cie int, start, size uint64, program ...byte) int {
	return s.entry(cie, slices.Concat(u64(start), u64(size), program))
}

// config has s as its only section.
func (s *section) config() Config {
	cfg := Config{WordSize: 8, Order: binary.LittleEndian}
	if s.debug {
		cfg.DebugFrame = Section{s.addr, s.data}
	} else {
		cfg.EHFrame = Section{s.addr, s.data}
	}
	return cfg
}
