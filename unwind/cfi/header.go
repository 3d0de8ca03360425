package cfi

import (
	"errors"
	"fmt"
)

// header is .eh_frame_hdr: a sorted table of pairs, the start of a function and the address
// of its FDE. Source: Linux Standard Base Core 5.0, section 10.6.2.
type header struct {
	data  []byte
	addr  uint64
	text  uint64
	word  int
	big   bool
	table int    // offset of the first pair
	count uint64 // of pairs
	size  int    // of one value, bytes
	enc   byte   // of the values
}

// headerName names the section in errors.
const headerName = ".eh_frame_hdr"

func headerError(offset int, err error) error {
	return &FormatError{Section: headerName, Entry: "header", Offset: uint64(offset), Err: err}
}

// newHeader reads the fields before the table. It touches none of the pairs.
func newHeader(cfg *Config, big bool) (*header, error) {
	c := cursor{data: cfg.EHFrameHdr.Data, big: big}
	version, frameEnc, countEnc, tableEnc := c.u8(), c.u8(), c.u8(), c.u8()
	if c.err == nil && version != 1 {
		c.fail(fmt.Errorf("version %d not supported", version))
	}
	if frameEnc != peOmit {
		c.raw(frameEnc, cfg.WordSize)
	}
	h := &header{data: c.data, addr: cfg.EHFrameHdr.Addr, text: cfg.TextBase, word: cfg.WordSize, big: big,
		enc: tableEnc}
	if c.err == nil && (countEnc == peOmit || tableEnc == peOmit) {
		c.fail(errors.New("no search table"))
	}
	if countEnc&peApplication != peAbsolute {
		c.fail(fmt.Errorf("encoding %#02x of the count not supported", countEnc))
	}
	h.count = c.raw(countEnc, cfg.WordSize)
	h.table = c.pos
	switch tableEnc & peFormat {
	case peAbsPtr:
		h.size = cfg.WordSize
	case peUData2, peSData2:
		h.size = 2
	case peUData4, peSData4:
		h.size = 4
	case peUData8, peSData8:
		h.size = 8
	}
	if h.size == 0 || tableEnc&^peFormat > peDataRel {
		c.fail(fmt.Errorf("encoding %#02x of the table not supported", tableEnc))
	}
	if c.err == nil && h.count > uint64(len(c.data)-c.pos)/uint64(2*h.size) {
		c.fail(fmt.Errorf("%d pairs exceed the section's %#x bytes", h.count, len(c.data)))
	}
	if c.err != nil {
		return nil, headerError(0, c.err)
	}
	return h, nil
}

// address decodes the value at offset at.
// Precondition: it lies in the table.
func (h *header) address(at int) uint64 {
	v := number(h.data[at:at+h.size], h.big)
	if h.enc&0x08 != 0 { // sdata2, sdata4, sdata8
		shift := 64 - 8*uint(h.size)
		v = uint64(int64(v<<shift) >> shift)
	}
	switch h.enc & peApplication {
	case pePCRel:
		v += h.addr + uint64(at)
	case peTextRel:
		v += h.text
	case peDataRel:
		v += h.addr // data relative means relative to this section
	}
	return truncate(v, h.word)
}

// pair is one line of the table.
type pair struct {
	start, fde uint64 // addresses
	at         int    // offset of the pair
}

// search returns the last pair that starts at or below pc; ok is false if there is none.
//
// It fails if the pairs it looked at do not ascend. The others are not looked at: the table
// may be long, and most of it not in memory.
func (h *header) search(pc uint64) (p pair, ok bool, err error) {
	low, high := uint64(0), h.count
	floor, ceiling := uint64(0), ^uint64(0)
	for low < high { // halves: at most 64 times
		mid := low + (high-low)/2
		at := h.table + int(mid)*2*h.size
		start := h.address(at)
		if start < floor || start > ceiling {
			return pair{}, false, headerError(at, fmt.Errorf("pairs do not ascend at %#x", start))
		}
		if start <= pc {
			p, ok = pair{start: start, at: at}, true
			low, floor = mid+1, start
		} else {
			high, ceiling = mid, start
		}
	}
	if ok {
		p.fde = h.address(p.at + h.size)
	}
	return p, ok, nil
}
