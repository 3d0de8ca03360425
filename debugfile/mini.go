package debugfile

import (
	"bytes"
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

// dictionary reads the size of the dictionary that the first block wants, the last filter
// being LZMA2, false where b is no such stream.
// Source: The .xz File Format 1.2.0, sections 2.1.1, 3.1 and 5.3.1.
func dictionary(b []byte) (uint64, bool) {
	const streamHeader, lzma2 = 12, 0x21
	if len(b) < streamHeader+8 || string(b[:6]) != "\xfd7zXZ\x00" {
		return 0, false
	}
	header := b[streamHeader:]
	size := (int(header[0]) + 1) * 4
	if header[0] == 0 || size > len(header) {
		return 0, false
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
		return 0, false // other filters come before it in no .gnu_debugdata that is known
	}
	bits := header[at+2]
	if bits > 40 {
		return 0, false
	}
	if bits == 40 {
		return 1<<32 - 1, true
	}
	return uint64(2|bits&1) << (bits/2 + 11), true
}
