package cfi

import "encoding/binary"

// maxLEB bounds the bytes of one LEB128 number: 10 hold 64 bits, the rest is padding that
// assemblers may leave.
const maxLEB = 16

// cursor reads values one after the other from data. The first error stays, and every
// later read gives 0 and does not move.
type cursor struct {
	data []byte // from the section's start, cut at the end of what may be read
	pos  int    // 0 <= pos <= len(data)
	big  bool
	err  error
}

// byteOrderProbe is 1 in big endian. A package variable does not have to be allocated for
// each call through the interface.
var byteOrderProbe = []byte{0, 1}

func bigEndian(order binary.ByteOrder) bool { return order.Uint16(byteOrderProbe) == 1 }

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// bytes returns the next n bytes, part of data, or nil.
func (c *cursor) bytes(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(len(c.data)-c.pos) {
		c.err = errTruncated
		return nil
	}
	b := c.data[c.pos : c.pos+int(n) : c.pos+int(n)]
	c.pos += int(n)
	return b
}

// block reads a ULEB128 length and returns the end of the bytes it counts. The cursor
// is at their start.
func (c *cursor) block() (end int) {
	n := c.uleb()
	start := c.pos
	c.bytes(n)
	end = c.pos
	c.pos = start
	return end
}

func (c *cursor) u8() uint8 {
	if c.err != nil {
		return 0
	}
	if c.pos >= len(c.data) {
		c.err = errTruncated
		return 0
	}
	b := c.data[c.pos]
	c.pos++
	return b
}

// unsigned returns a number of 1, 2, 4 or 8 bytes.
func (c *cursor) unsigned(size int) uint64 {
	b := c.bytes(uint64(size))
	if b == nil {
		return 0
	}
	return number(b, c.big)
}

// signed returns a number of 1, 2, 4 or 8 bytes, its sign extended to 64 bits.
func (c *cursor) signed(size int) uint64 {
	shift := 64 - 8*uint(size)
	return uint64(int64(c.unsigned(size)<<shift) >> shift)
}

// number decodes 1, 2, 4 or 8 bytes; any other length gives 0.
func number(b []byte, big bool) uint64 {
	switch {
	case len(b) == 1:
		return uint64(b[0])
	case len(b) == 2 && big:
		return uint64(binary.BigEndian.Uint16(b))
	case len(b) == 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case len(b) == 4 && big:
		return uint64(binary.BigEndian.Uint32(b))
	case len(b) == 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case len(b) == 8 && big:
		return binary.BigEndian.Uint64(b)
	case len(b) == 8:
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uleb returns an unsigned LEB128 number, DWARF 5 section 7.6.
func (c *cursor) uleb() uint64 {
	b := c.u8()
	if b < 0x80 {
		return uint64(b)
	}
	v := uint64(b & 0x7f)
	shift := uint(7)
	for range maxLEB - 1 {
		b = c.u8()
		low := uint64(b & 0x7f)
		if low<<shift>>shift != low {
			c.fail(errLEB)
			return 0
		}
		v |= low << shift
		shift += 7
		if b < 0x80 {
			if c.err != nil {
				return 0
			}
			return v
		}
	}
	c.fail(errLEB)
	return 0
}

// sleb returns a signed LEB128 number, DWARF 5 section 7.6. Bits beyond the 64th are not
// looked at: they can only repeat the sign.
func (c *cursor) sleb() int64 {
	var v int64
	var shift uint
	for range maxLEB {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			if c.err != nil {
				return 0
			}
			return v
		}
	}
	c.fail(errLEB)
	return 0
}
