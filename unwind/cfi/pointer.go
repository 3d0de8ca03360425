package cfi

import "fmt"

// Encodings of pointers in .eh_frame and .eh_frame_hdr. Source: Linux Standard Base Core
// 5.0, section 10.5 "DWARF Extensions"; DW_EH_PE_aligned from gcc's unwind-pe.h.
const (
	peAbsPtr  = 0x00 // format: a word of the address size
	peULEB128 = 0x01
	peUData2  = 0x02
	peUData4  = 0x03
	peUData8  = 0x04
	peSLEB128 = 0x09
	peSData2  = 0x0a
	peSData4  = 0x0b
	peSData8  = 0x0c

	peAbsolute = 0x00 // application: none
	pePCRel    = 0x10 // to the place of the pointer
	peTextRel  = 0x20
	peDataRel  = 0x30
	peFuncRel  = 0x40
	peAligned  = 0x50 // absolute, at the next multiple of the address size

	peIndirect = 0x80 // the value is the address of the pointer
	peOmit     = 0xff

	peFormat      = 0x0f
	peApplication = 0x70
)

// bases are what pointers may be relative to.
type bases struct {
	section, text, data uint64 // addresses
}

// raw returns the stored value of a pointer, signs extended, its application not applied.
func (c *cursor) raw(enc byte, addrSize int) uint64 {
	switch enc & peFormat {
	case peAbsPtr:
		return c.unsigned(addrSize)
	case peULEB128:
		return c.uleb()
	case peUData2:
		return c.unsigned(2)
	case peUData4:
		return c.unsigned(4)
	case peUData8:
		return c.unsigned(8)
	case peSLEB128:
		return uint64(c.sleb())
	case peSData2:
		return c.signed(2)
	case peSData4:
		return c.signed(4)
	case peSData8:
		return c.signed(8)
	}
	c.fail(fmt.Errorf("pointer encoding %#02x not supported", enc))
	return 0
}

// pointer returns an address of addrSize bytes. A stored 0 stays 0 whatever it is relative
// to: linkers write it for what they removed.
//
// Pointers to pointers and pointers relative to a function are refused: no producer uses
// them for code addresses.
func (c *cursor) pointer(enc byte, addrSize int, b bases) uint64 {
	if enc&peIndirect != 0 {
		c.fail(fmt.Errorf("pointer encoding %#02x not supported for a code address", enc))
		return 0
	}
	c.align(enc, addrSize, b)
	place := b.section + uint64(c.pos)
	v := c.raw(enc, addrSize)
	if c.err != nil || v == 0 {
		return 0
	}
	switch enc & peApplication {
	case peAbsolute, peAligned:
	case pePCRel:
		v += place
	case peTextRel:
		v += b.text
	case peDataRel:
		v += b.data
	default:
		c.fail(fmt.Errorf("pointer encoding %#02x not supported for a code address", enc))
		return 0
	}
	return truncate(v, addrSize)
}

// present skips a pointer of any encoding and says whether it is other than null.
func (c *cursor) present(enc byte, addrSize int, b bases) bool {
	if enc == peOmit {
		return false
	}
	c.align(enc, addrSize, b)
	return c.raw(enc, addrSize) != 0
}

// align moves to where a pointer of this encoding begins.
func (c *cursor) align(enc byte, addrSize int, b bases) {
	if enc&peApplication != peAligned {
		return
	}
	place := b.section + uint64(c.pos)
	c.bytes(-place % uint64(addrSize))
}

// truncate cuts v to size bytes.
func truncate(v uint64, size int) uint64 {
	if size >= 8 {
		return v
	}
	return v & (1<<(8*uint(size)) - 1)
}
