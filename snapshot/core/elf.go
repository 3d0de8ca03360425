package core

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/work"
)

// Numbers of elf.h.
const (
	etCore = 4      // ET_CORE
	ptLoad = 1      // PT_LOAD
	ptNote = 4      // PT_NOTE
	pnXNum = 0xffff // PN_XNUM: the number of program headers is sh_info of section 0
	pfX    = 1      // PF_X
	pfW    = 2      // PF_W
	pfR    = 4      // PF_R
)

const (
	// maxSegments bounds the mappings of a process: vm.max_map_count is 65530 by default, some set a million.
	maxSegments = 1 << 20
	// maxNoteSegments bounds the PT_NOTE segments that are read; the kernel writes one.
	maxNoteSegments = 16
	// segmentCost is about what a segment takes in memory, with the mapping made of it, bytes.
	segmentCost = 160
)

var (
	// ErrNotCore says that a file is no ELF core file.
	ErrNotCore = errors.New("not an ELF core file")
	// ErrCut is the cause of a read behind the end of a core that is shorter than its headers say.
	ErrCut = errors.New("the core file is cut short")
	// ErrNotInCore is the cause of a read of memory that the process had and that was not written to the core.
	ErrNotInCore = errors.New("not in the core file")
)

// FormatError says what in a core cannot be right.
type FormatError struct {
	Offset uint64 // in the file
	What   string
}

func (e *FormatError) Error() string { return fmt.Sprintf("malformed at %#x: %s", e.Offset, e.What) }

// input is the file. It is read in place, and never as a whole: it may have many gigabytes.
type input struct {
	r    io.ReaderAt
	size int64
}

// read fills b from off on as far as the file goes. It fails with ErrCut where that ends.
func (in *input) read(b []byte, off uint64) (int, error) {
	if off >= uint64(in.size) {
		return 0, ErrCut
	}
	want := b
	if left := uint64(in.size) - off; uint64(len(b)) > left {
		want = b[:left]
	}
	n, err := in.r.ReadAt(want, int64(off))
	switch {
	case n < len(want) && err != nil && !errors.Is(err, io.EOF):
		return n, err
	case n < len(b):
		return n, ErrCut
	}
	return n, nil
}

// segment is a PT_LOAD: memory [start, end), of which the first held bytes are in the file at off.
type segment struct {
	start, end mem.Addr
	off, held  uint64
	perm       maps.Perm
}

// span is bytes of the file.
type span struct{ off, size uint64 }

// headers are what an ELF header and the program headers say.
type headers struct {
	arch     *regs.Arch
	order    binary.ByteOrder
	segments []segment // ascending, none overlaps another
	notes    []span
	need     uint64 // bytes that the file has if it is whole
	problems []string
}

// table is where the program headers are.
type table struct {
	off       uint64
	size, num uint64
}

// readHeaders reads the headers of a core. With an error of the program headers it returns those before.
func readHeaders(in *input, b *work.Budget) (*headers, error) {
	var ident [64]byte
	if n, _ := in.read(ident[:], 0); n < 52 || string(ident[:4]) != "\x7fELF" {
		return nil, ErrNotCore
	}
	h := &headers{}
	wide := ident[4] == 2 // EI_CLASS
	switch ident[5] {     // EI_DATA
	case 1:
		h.order = binary.LittleEndian
	case 2:
		h.order = binary.BigEndian
	default:
		return nil, &FormatError{5, fmt.Sprintf("byte order %d is not known", ident[5])}
	}
	if typ := h.order.Uint16(ident[16:]); typ != etCore {
		return nil, fmt.Errorf("%w: its type is %d, want %d", ErrNotCore, typ, etCore)
	}
	machine, word := h.order.Uint16(ident[18:]), 4
	if wide {
		word = 8
	}
	h.arch = regs.OfELF(machine, word)
	if h.arch == nil || h.arch.Order != h.order {
		return nil, fmt.Errorf("core of machine %d, addresses of %d bytes, %v: not supported", machine, word, h.order)
	}
	t, err := h.programHeaders(in, ident[:], wide)
	if err == nil {
		err = h.readSegments(in, t, wide, b)
	}
	h.sort()
	return h, err
}

// programHeaders finds the table of the program headers.
// Source: Elf32_Ehdr, Elf64_Ehdr and PN_XNUM in elf(5).
func (h *headers) programHeaders(in *input, ident []byte, wide bool) (table, error) {
	var t table
	var sections uint64
	least, info, header := uint64(32), uint64(28), uint64(40)
	if wide {
		t.off, sections = h.order.Uint64(ident[32:]), h.order.Uint64(ident[40:])
		t.size, t.num = uint64(h.order.Uint16(ident[54:])), uint64(h.order.Uint16(ident[56:]))
		least, info, header = 56, 44, 64
	} else {
		t.off, sections = uint64(h.order.Uint32(ident[28:])), uint64(h.order.Uint32(ident[32:]))
		t.size, t.num = uint64(h.order.Uint16(ident[42:])), uint64(h.order.Uint16(ident[44:]))
	}
	if t.num == pnXNum {
		var b [64]byte
		if n, err := in.read(b[:header], sections); uint64(n) < header {
			return t, fmt.Errorf("read section 0 at %#x, which has the number of program headers: %w", sections, err)
		}
		t.num = uint64(h.order.Uint32(b[info:]))
	}
	if t.size < least || t.num == 0 {
		return t, &FormatError{t.off, fmt.Sprintf("%d program headers of %d bytes", t.num, t.size)}
	}
	return t, nil
}

// readSegments reads the program headers, as many as there are.
func (h *headers) readSegments(in *input, t table, wide bool, b *work.Budget) error {
	const step = 512 // headers that are read at once
	if t.num > maxSegments {
		h.problems = append(h.problems, fmt.Sprintf("it has %d segments, the first %d are read", t.num, maxSegments))
		t.num = maxSegments
	}
	buf := make([]byte, step*t.size)
	for done := uint64(0); done < t.num; {
		n := min(step, t.num-done)
		if !b.Spend(int64(n * t.size)) {
			return b.Refusal()
		}
		if !b.Hold(int64(n * segmentCost)) {
			return work.ErrMemory
		}
		off := t.off + done*t.size
		got, err := in.read(buf[:n*t.size], off)
		whole := uint64(got) / t.size
		for i := range whole {
			h.add(buf[i*t.size:], wide)
		}
		if done += whole; whole < n {
			return fmt.Errorf("read program headers at %#x: %d of %d are there: %w", off, done, t.num,
				cmp.Or(err, ErrCut))
		}
	}
	return nil
}

// add decodes one Elf32_Phdr or Elf64_Phdr: the flags are at different places.
func (h *headers) add(b []byte, wide bool) {
	typ := h.order.Uint32(b)
	var off, addr, held, size uint64
	var flags uint32
	if wide {
		flags = h.order.Uint32(b[4:])
		off, addr = h.order.Uint64(b[8:]), h.order.Uint64(b[16:])
		held, size = h.order.Uint64(b[32:]), h.order.Uint64(b[40:])
	} else {
		u32 := func(i int) uint64 { return uint64(h.order.Uint32(b[4*i:])) }
		off, addr, held, size, flags = u32(1), u32(2), u32(4), u32(5), uint32(u32(6))
	}
	if held > 0 && off+held > off {
		h.need = max(h.need, off+held)
	}
	switch {
	case typ == ptNote && len(h.notes) < maxNoteSegments:
		h.notes = append(h.notes, span{off, held})
	case typ == ptLoad && max(size, held) > 0:
		size = max(size, held)
		if end := addr + size; end > addr || end == 0 && addr != 0 {
			if end == 0 { // up to the end of the address space: the last page is never mapped
				end--
			}
			h.segments = append(h.segments, segment{start: mem.Addr(addr), end: mem.Addr(end), off: off,
				held: min(held, end-addr), perm: permOf(flags)})
		}
	}
}

// permOf are the rights that p_flags give.
func permOf(flags uint32) (p maps.Perm) {
	for _, f := range []struct {
		bit  uint32
		perm maps.Perm
	}{{pfR, maps.Read}, {pfW, maps.Write}, {pfX, maps.Exec}} {
		if flags&f.bit != 0 {
			p |= f.perm
		}
	}
	return p
}

// sort puts the segments in order. Of those that overlap the first counts.
func (h *headers) sort() {
	slices.SortStableFunc(h.segments, func(a, b segment) int { return cmp.Compare(a.start, b.start) })
	out, dropped := h.segments[:0], 0
	for _, s := range h.segments {
		if n := len(out); n > 0 && s.start < out[n-1].end {
			dropped++
			continue
		}
		out = append(out, s)
	}
	h.segments = out
	if dropped > 0 {
		h.problems = append(h.problems, fmt.Sprintf("%d segments overlap others and are left out", dropped))
	}
}

// find returns the segment that holds a, or nil.
func (h *headers) find(a mem.Addr) *segment {
	byStart := func(s segment, a mem.Addr) int { return cmp.Compare(s.start, a) }
	i, found := slices.BinarySearchFunc(h.segments, a, byStart)
	if !found {
		i--
	}
	if i < 0 || a >= h.segments[i].end {
		return nil
	}
	return &h.segments[i]
}
