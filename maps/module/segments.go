package module

import (
	"fmt"
	"math"
)

// parseSegments reads the program headers. An object without any cannot be mapped.
// Source: gABI chapter 5, Program Header; PN_XNUM in elf(5).
func (im *image) parseSegments() error {
	h := &im.head
	size := uint64(32)
	if im.class == 8 {
		size = 56
	}
	n := h.phNum
	if n == pnXNum {
		if s0, ok := im.sectionHeader(0); ok {
			n = uint64(s0.Info)
		}
	}
	if n == 0 && im.unmapped {
		return nil
	}
	if n == 0 || n > maxSegments || h.phEntSize < size {
		return &FormatError{h.phOff, fmt.Sprintf("%d program headers of %d bytes", n, h.phEntSize)}
	}
	table, ok := im.headBytes(h.phOff, n*h.phEntSize)
	if !ok {
		return &FormatError{h.phOff, "program headers are outside of the file"}
	}
	im.segments = make([]Segment, n)
	for i := range im.segments {
		p := &im.segments[i]
		im.parseSegment(p, table[uint64(i)*h.phEntSize:])
		if im.chunks == nil {
			p.Data = im.cutFile(uint64(p.Offset), p.fileSz)
		}
		if p.Type == PTLoad && len(im.loads) < maxLoads {
			im.loads = append(im.loads, p)
		}
	}
	return nil
}

// parseSegment decodes one Elf32_Phdr or Elf64_Phdr: the flags are at different places.
func (im *image) parseSegment(p *Segment, b []byte) {
	p.Type = im.order.Uint32(b)
	if im.class == 4 {
		u32 := func(i int) uint64 { return uint64(im.order.Uint32(b[4*i:])) }
		p.Offset, p.Addr, p.fileSz, p.MemSz = int64(u32(1)), Vaddr(u32(2)), u32(4), u32(5)
		p.Flags = uint32(u32(6))
		return
	}
	p.Flags = im.order.Uint32(b[4:])
	u64 := func(i int) uint64 { return im.order.Uint64(b[8*i:]) }
	p.Offset, p.Addr, p.fileSz, p.MemSz = clampOffset(u64(1)), Vaddr(u64(2)), u64(4), u64(5)
}

// headBytes returns bytes of the file's beginning: in a memory image they are read before
// the segments are known, from the first chunk.
func (im *image) headBytes(off, n uint64) ([]byte, bool) {
	if im.chunks == nil {
		return im.fileBytes(off, n)
	}
	head := im.chunks[0].data
	if off > uint64(len(head)) || n > uint64(len(head))-off {
		return nil, false
	}
	return head[off : off+n], true
}

// cutFile returns up to n bytes at off, fewer where the file ends.
func (im *image) cutFile(off, n uint64) []byte {
	size := uint64(len(im.data))
	if off >= size {
		return nil
	}
	n = min(n, size-off)
	return im.data[off : off+n : off+n]
}

// clampOffset keeps an offset that no file can have from turning negative.
func clampOffset(v uint64) int64 { return int64(min(v, math.MaxInt64)) }

// span returns the lowest and the highest link address of the loaded segments, rounded
// out to 4 KiB below. It is false if nothing is loaded.
func (im *image) span() (lo, hi Vaddr, ok bool) {
	lo = math.MaxUint64
	for _, p := range im.loads {
		if p.MemSz == 0 || p.Addr+Vaddr(p.MemSz) < p.Addr {
			continue
		}
		lo, hi, ok = min(lo, p.Addr&^0xfff), max(hi, p.Addr+Vaddr(p.MemSz)), true
	}
	return lo, hi, ok
}
