package metadata

import (
	"bytes"
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// name reads the text at an offset of #Strings. One that is longer than maxName is cut, and ends in "…".
func (t *Tables) name(offset uint32) (string, error) {
	if offset >= t.strings.size {
		if offset == 0 {
			return "", nil // a module without names may have no heap of them
		}
		return "", fmt.Errorf("%w: a name is at %#x of %#x bytes", ErrFormat, offset, t.strings.size)
	}
	room := int(min(t.strings.size-offset, maxName))
	var text []byte
	for step := 48; len(text) < room; step *= 2 { // ends: text grows
		from := len(text)
		text = append(text, make([]byte, min(step, room-from))...)
		if err := t.read(text[from:], t.strings.at+mem.Addr(offset)+mem.Addr(from)); err != nil {
			return t.slowName(offset, room)
		}
		if end := bytes.IndexByte(text[from:], 0); end >= 0 {
			return string(text[:from+end]), nil
		}
	}
	return string(text) + "…", nil
}

// slowName reads a name that lies before the end of what can be read: a snapshot holds the very bytes that were read.
func (t *Tables) slowName(offset uint32, room int) (string, error) {
	var text []byte
	var b [1]byte
	for len(text) < room {
		if err := t.read(b[:], t.strings.at+mem.Addr(offset)+mem.Addr(len(text))); err != nil {
			return "", fmt.Errorf("read a name of .NET metadata: %w", err)
		}
		if b[0] == 0 {
			return string(text), nil
		}
		text = append(text, b[0])
	}
	return string(text) + "…", nil
}

// Blob reads the blob at an offset of #Blob (ECMA-335 II.24.2.4).
func (t *Tables) Blob(offset uint32) ([]byte, error) {
	if offset == 0 {
		return nil, nil
	}
	if offset >= t.blobs.size {
		return nil, fmt.Errorf("%w: a blob is at %#x of %#x bytes", ErrFormat, offset, t.blobs.size)
	}
	head := make([]byte, min(4, t.blobs.size-offset))
	if err := t.read(head, t.blobs.at+mem.Addr(offset)); err != nil {
		return nil, fmt.Errorf("read a blob of .NET metadata: %w", err)
	}
	size, rest, ok := Compressed(head)
	used := uint32(len(head) - len(rest))
	if !ok || size > maxBlob || size > t.blobs.size-offset-used {
		return nil, fmt.Errorf("%w: the blob at %#x has no end", ErrFormat, offset)
	}
	b := make([]byte, size)
	if err := t.read(b, t.blobs.at+mem.Addr(offset+used)); err != nil {
		return nil, fmt.Errorf("read a blob of .NET metadata: %w", err)
	}
	return b, nil
}

// Compressed takes an unsigned integer of one, two or four bytes off the front of b (ECMA-335 II.23.2).
func Compressed(b []byte) (v uint32, rest []byte, ok bool) {
	switch {
	case len(b) >= 1 && b[0]&0x80 == 0:
		return uint32(b[0]), b[1:], true
	case len(b) >= 2 && b[0]&0xc0 == 0x80:
		return uint32(b[0]&0x3f)<<8 | uint32(b[1]), b[2:], true
	case len(b) >= 4 && b[0]&0xe0 == 0xc0:
		return uint32(b[0]&0x1f)<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]), b[4:], true
	}
	return 0, b, false
}

// CompressedSigned is as [Compressed] for a signed integer, whose sign is its lowest bit.
func CompressedSigned(b []byte) (v int32, rest []byte, ok bool) {
	u, rest, ok := Compressed(b)
	if !ok {
		return 0, rest, false
	}
	v = int32(u >> 1)
	if u&1 != 0 {
		switch len(b) - len(rest) {
		case 1:
			v -= 1 << 6
		case 2:
			v -= 1 << 13
		default:
			v -= 1 << 28
		}
	}
	return v, rest, true
}
