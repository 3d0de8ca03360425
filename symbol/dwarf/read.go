package dwarf

import (
	"bytes"
	"encoding/binary"
)

// reader goes through bytes. A read beyond the end gives 0 and leaves bad set, and the reader
// at the end.
type reader struct {
	b   []byte
	off int
	big bool
	bad bool
}

func readerAt(b []byte, off uint64, big bool) reader {
	r := reader{b: b, big: big}
	r.seek(off)
	return r
}

func (r *reader) fail() {
	r.bad, r.off = true, len(r.b)
}

func (r *reader) seek(off uint64) {
	if off > uint64(len(r.b)) {
		r.fail()
		return
	}
	r.off = int(off)
}

func (r *reader) more() bool { return r.off < len(r.b) }

func (r *reader) skip(n uint64) {
	if n > uint64(len(r.b)-r.off) {
		r.fail()
		return
	}
	r.off += int(n)
}

func (r *reader) u8() uint8 {
	if r.off >= len(r.b) {
		r.bad = true
		return 0
	}
	r.off++
	return r.b[r.off-1]
}

// uint reads size bytes: 1, 2, 3, 4 or 8.
func (r *reader) uint(size int) uint64 {
	if size > len(r.b)-r.off {
		r.fail()
		return 0
	}
	b := r.b[r.off:]
	r.off += size
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		if r.big {
			return uint64(binary.BigEndian.Uint16(b))
		}
		return uint64(binary.LittleEndian.Uint16(b))
	case 3: // DW_FORM_strx3, DW_FORM_addrx3
		if r.big {
			return uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2])
		}
		return uint64(b[2])<<16 | uint64(b[1])<<8 | uint64(b[0])
	case 4:
		if r.big {
			return uint64(binary.BigEndian.Uint32(b))
		}
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		if r.big {
			return binary.BigEndian.Uint64(b)
		}
		return binary.LittleEndian.Uint64(b)
	}
	r.fail()
	return 0
}

// uleb reads an unsigned LEB128; bits above 64 are dropped.
func (r *reader) uleb() uint64 {
	var v uint64
	for shift := uint(0); r.off < len(r.b); shift += 7 {
		c := r.b[r.off]
		r.off++
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *reader) sleb() int64 {
	var v uint64
	for shift := uint(0); r.off < len(r.b); {
		c := r.b[r.off]
		r.off++
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= ^uint64(0) << shift
			}
			return int64(v)
		}
	}
	r.bad = true
	return 0
}

// skipString goes behind the next zero byte.
func (r *reader) skipString() {
	n := bytes.IndexByte(r.b[r.off:], 0)
	if n < 0 {
		r.fail()
		return
	}
	r.off += n + 1
}

// length reads an initial length (DWARF 5, 7.4) and returns the size of offsets, 4 or 8.
func (r *reader) length() (n uint64, offSize int) {
	n = r.uint(4)
	switch {
	case n == 0xffffffff:
		return r.uint(8), 8
	case n >= 0xfffffff0:
		r.fail()
	}
	return n, 4
}

// sub reads a length and returns a reader of that many bytes, cut where the data ends. It
// is behind the length and counts offsets as r does; r goes behind it all.
func (r *reader) sub() (in reader, offSize int) {
	n, offSize := r.length()
	in = *r
	if n > uint64(len(r.b)-r.off) {
		r.fail()
		return in, offSize
	}
	r.off += int(n)
	in.b = r.b[:r.off]
	return in, offSize
}

// cstring copies the string at off, "" if there is none or it is longer than maxString.
func cstring(b []byte, off uint64) string {
	if off >= uint64(len(b)) {
		return ""
	}
	b = b[off:min(uint64(len(b)), off+maxString)]
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		return ""
	}
	return string(b[:n])
}
