package debugfile

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

const (
	// maxMini bounds the unpacked .gnu_debugdata. The one of a large program has some 10 MB.
	maxMini = 64 << 20
	// maxDictionary bounds what the unpacking itself may take: a dictionary of 64 MiB, as of xz -9.
	maxDictionary = 64 << 20
	// unpackCost is the steps of a [work.Budget] that one byte takes to be unpacked.
	unpackCost = 20
	// dictionaryShare is the part of a step that a byte of a block's dictionary takes: each block has one of its own.
	dictionaryShare = 4
)

// Mini returns the object that is packed in m's section .gnu_debugdata: the symbols that
// .dynsym lacks, nil if m has no such section. It is unpacked in whole each time, if m's budget has room for it.
func Mini(m *module.Module) (*module.Module, error) {
	s, ok := m.Section(".gnu_debugdata")
	if !ok || s.Compressed || len(s.Data) == 0 {
		return nil, nil
	}
	var found *module.Module
	err := module.Guard(m.Path, func() error {
		data, err := unpack(s.Data, m.Budget())
		if err != nil {
			return fmt.Errorf("unpack .gnu_debugdata of %q: %w", m.Path, err)
		}
		found, err = module.NewFile(&module.File{Data: data, Path: m.Path + " (.gnu_debugdata)", Budget: m.Budget()})
		return err
	})
	return found, err
}

// unpack returns what an xz stream holds. Its headers tell what that takes before anything is done.
func unpack(packed []byte, b *work.Budget) ([]byte, error) {
	need, ok := measure(packed, b)
	switch {
	case b.Err() != nil:
		return nil, b.Err()
	case !ok:
		return nil, errors.New("not xz, or its headers are malformed")
	case need.dictionary > maxDictionary:
		return nil, fmt.Errorf("its dictionary of %d bytes is too large", need.dictionary)
	case need.unpacked > maxMini:
		return nil, fmt.Errorf("more than %d bytes", maxMini)
	case !b.Spend(int64(need.dictionaries / dictionaryShare)):
		return nil, b.Refusal()
	case !b.Hold(int64(need.dictionary + need.unpacked)):
		return nil, work.ErrMemory
	}
	defer b.Release(int64(need.dictionary))
	config := xz.ReaderConfig{DictCap: lzma.MinDictCap, SingleStream: true}
	r, err := config.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data := make([]byte, need.unpacked)
	if _, err := io.ReadFull(b.Reader(r, unpackCost), data); err != nil {
		b.Release(int64(need.unpacked))
		return nil, err
	}
	var end [1]byte // at the end the index is compared with the blocks
	if _, err := io.ReadFull(r, end[:]); err != io.EOF {
		b.Release(int64(need.unpacked))
		return nil, fmt.Errorf("the end of its blocks: %w", cmp.Or(err, errMore))
	}
	return data, nil
}

var errMore = errors.New("more bytes than its headers say")

// needs is what unpacking a stream takes, bytes.
type needs struct {
	unpacked     uint64
	dictionary   uint64 // the largest
	dictionaries uint64 // all together
}

// checkSizes are those of the checksum behind a block, by the number of the check, bytes.
// Source: The .xz File Format 1.2.0, section 2.1.1.2.
var checkSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// measure says what a stream takes, false where b is no whole stream of blocks with LZMA2 alone. It goes from
// block to block as an unpacker does: what the index behind them says would be believed too late.
// Source: The .xz File Format 1.2.0, sections 2.1.1 and 3.
func measure(b []byte, budget *work.Budget) (n needs, ok bool) {
	const streamHeader = 12
	if len(b) < streamHeader || string(b[:6]) != "\xfd7zXZ\x00" {
		return n, false
	}
	left := budget.Purse()
	check := checkSizes[b[7]&15]
	at := streamHeader
	for at < len(b) && b[at] != 0 { // 0: the index
		dictionary, size, ok := blockHeader(b[at:])
		if !ok {
			return n, false
		}
		packed, unpacked, ok := lzma2Size(b[at+size:], &left)
		if !ok {
			return n, false
		}
		n.unpacked += unpacked
		n.dictionary = max(n.dictionary, dictionary)
		n.dictionaries += dictionary
		at += (size+packed+3)&^3 + check
	}
	return n, n.dictionary > 0 && at < len(b)
}

// lzma2Size is how many bytes the chunks at the start of b have, the end mark included, and how many they
// become.
// Source: linux/lib/xz/xz_dec_lzma2.c, struct lzma2_dec.
func lzma2Size(b []byte, left *work.Purse) (size int, unpacked uint64, ok bool) {
	for at := 0; at < len(b) && left.Spend(chunkCost); {
		control := b[at]
		head, sizeAt := 3, 1 // not compressed
		switch {
		case control == 0:
			return at + 1, unpacked, true
		case control >= 0xc0:
			head, sizeAt = 6, 3 // with properties
		case control >= 0x80:
			head, sizeAt = 5, 3
		case control > 2:
			return 0, 0, false
		}
		if len(b)-at < head {
			return 0, 0, false
		}
		unpacked += uint64(binary.BigEndian.Uint16(b[at+1:])) + 1
		if control >= 0x80 {
			unpacked += uint64(control&0x1f) << 16
		}
		at += head + int(binary.BigEndian.Uint16(b[at+sizeAt:])) + 1
	}
	return 0, 0, false
}

// chunkCost is the steps that it takes to look at the head of a chunk.
const chunkCost = 4

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
