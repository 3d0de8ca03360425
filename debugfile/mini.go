package debugfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/fpstack/fpstack/maps/module"
)

const (
	// maxMini bounds the unpacked .gnu_debugdata. The one of a large program has some 10 MB.
	maxMini = 256 << 20
	// maxDictionary bounds what the unpacking itself may take: a dictionary of 64 MiB, as of xz -9.
	maxDictionary = 64 << 20
)

// Mini returns the object that is packed in m's section .gnu_debugdata: the symbols that
// .dynsym lacks, nil if m has no such section. It is unpacked in whole each time.
func Mini(m *module.Module) (*module.Module, error) {
	s, ok := m.Section(".gnu_debugdata")
	if !ok || s.Compressed || len(s.Data) == 0 {
		return nil, nil
	}
	var found *module.Module
	err := module.Guard(m.Path, func() error {
		if n, ok := dictionary(s.Data); !ok || n > maxDictionary {
			return fmt.Errorf("unpack .gnu_debugdata of %q: not xz, or its dictionary of %d bytes is too large", m.Path, n)
		}
		config := xz.ReaderConfig{DictCap: lzma.MinDictCap, SingleStream: true}
		r, err := config.NewReader(bytes.NewReader(s.Data))
		if err != nil {
			return fmt.Errorf("unpack .gnu_debugdata of %q: %w", m.Path, err)
		}
		data, err := io.ReadAll(io.LimitReader(r, maxMini+1))
		if err != nil {
			return fmt.Errorf("unpack .gnu_debugdata of %q: %w", m.Path, err)
		}
		if len(data) > maxMini {
			return fmt.Errorf("unpack .gnu_debugdata of %q: more than %d bytes", m.Path, maxMini)
		}
		found, err = module.NewFile(&module.File{Data: data, Path: m.Path + " (.gnu_debugdata)"})
		return err
	})
	return found, err
}

// checkSizes are those of the checksum behind a block, by the number of the check, bytes.
// Source: The .xz File Format 1.2.0, section 2.1.1.2.
var checkSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// dictionary reads the size of the largest dictionary that a block of a stream wants, false where b is no whole
// stream of blocks with LZMA2 alone. It goes from block to block as an unpacker does: what the index behind them says
// would be believed too late.
// Source: The .xz File Format 1.2.0, sections 2.1.1 and 3.
func dictionary(b []byte) (largest uint64, ok bool) {
	const streamHeader = 12
	if len(b) < streamHeader || string(b[:6]) != "\xfd7zXZ\x00" {
		return 0, false
	}
	check := checkSizes[b[7]&15]
	at := streamHeader
	for at < len(b) && b[at] != 0 { // 0: the index
		n, size, ok := blockHeader(b[at:])
		if !ok {
			return 0, false
		}
		packed, ok := lzma2Size(b[at+size:])
		if !ok {
			return 0, false
		}
		largest = max(largest, n)
		at += (size+packed+3)&^3 + check
	}
	return largest, largest > 0 && at < len(b)
}

// lzma2Size is how many bytes the chunks at the start of b have, the end mark included.
// Source: linux/lib/xz/xz_dec_lzma2.c, struct lzma2_dec.
func lzma2Size(b []byte) (size int, ok bool) {
	for at := 0; at < len(b); {
		control := b[at]
		head, sizeAt := 3, 1 // not compressed
		switch {
		case control == 0:
			return at + 1, true
		case control >= 0xc0:
			head, sizeAt = 6, 3 // with properties
		case control >= 0x80:
			head, sizeAt = 5, 3
		case control > 2:
			return 0, false
		}
		if len(b)-at < head {
			return 0, false
		}
		at += head + int(binary.BigEndian.Uint16(b[at+sizeAt:])) + 1
	}
	return 0, false
}

// blockHeader reads the size of a block's dictionary, the last filter being LZMA2, and that of its header, bytes.
// Source: The .xz File Format 1.2.0, sections 3.1 and 5.3.1.
func blockHeader(header []byte) (dictionary uint64, size int, ok bool) {
	const lzma2 = 0x21
	size = (int(header[0]) + 1) * 4
	if size < 8 || size > len(header) {
		return 0, 0, false
	}
	at := 2
	for flag := byte(0x40); flag != 0; flag <<= 1 { // compressed size, uncompressed size
		if header[1]&flag != 0 {
			for at < size && header[at]&0x80 != 0 {
				at++
			}
			at++
		}
	}
	if at+3 > size || header[at] != lzma2 || header[at+1] != 1 {
		return 0, 0, false // other filters come before it in no .gnu_debugdata that is known
	}
	bits := header[at+2]
	if bits > 40 {
		return 0, 0, false
	}
	if bits == 40 {
		return 1<<32 - 1, size, true
	}
	return uint64(2|bits&1) << (bits/2 + 11), size, true
}
