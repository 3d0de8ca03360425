package module

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// Bounds of what is copied from the memory of a process in place of files, bytes.
const (
	maxImage     = 64 << 20
	maxSetMemory = 256 << 20
	maxVDSO      = 1 << 20 // the kernel's has 4 to 64 KiB
	maxCopies    = 256     // objects; programs have none or a few
)

// chunk is a copied piece of an object, by link address.
type chunk struct {
	addr Vaddr
	data []byte
}

var errNoMemory = errors.New("no ELF header in memory")

// fromMemory reads an object from the memory of the process. cause says why its file was
// not read, nil if it has none: then memory that holds no ELF header gives nil.
func (s *Set) fromMemory(m *maps.Mapping, cause error) *object {
	o := &object{path: m.Path, err: cause, budget: s.budget.Share()}
	if m.Path == "[vdso]" {
		s.readVDSO(o, m)
		return o
	}
	if errors.Is(cause, errand.ErrNoAnswer) {
		s.unanswered.add(fmt.Errorf("%w: its names are those that are in memory, at most", cause))
	}
	low := s.lowest(m)
	head, err := s.copyHead(low)
	switch {
	case err != nil && cause == nil:
		return nil
	case cause == nil && relocatable(head): // no loader put it there: wasmtime keeps what it compiled so
		return nil
	case err != nil:
		o.err = fmt.Errorf("%w; read it from memory: %w", cause, err)
		return o
	}
	o.err = nil
	s.parse(o, func() (*image, error) { return s.parseMemory(head, low, m, o.budget) })
	if o.elf != nil {
		o.from = low
	}
	return o
}

// copyHead copies the first page of a mapping that begins with an ELF header.
func (s *Set) copyHead(low *maps.Mapping) ([]byte, error) {
	if len(s.copies) >= maxCopies {
		return nil, ErrTooMany
	}
	magic, err := s.copyMemory(low.Start, 4)
	if err != nil {
		return nil, err
	}
	if string(magic) != "\x7fELF" {
		return nil, ErrNotELF
	}
	head, err := s.copyMemory(low.Start, min(uint64(low.End-low.Start), maxPage))
	if len(head) < headerSize {
		return nil, err
	}
	return head, nil
}

// relocatable reports whether an ELF header is that of a file which is to be linked yet (ET_REL).
func relocatable(head []byte) bool {
	return head[16] == etRel && head[17] == 0 || head[16] == 0 && head[17] == etRel
}

// readVDSO copies the whole mapping: it is a file as the kernel holds it.
func (s *Set) readVDSO(o *object, m *maps.Mapping) {
	b, err := s.copyMemory(m.Start, min(uint64(m.End-m.Start), maxVDSO))
	if err != nil {
		o.err = fmt.Errorf("read %q: %w", m.Path, err)
		return
	}
	s.parse(o, func() (*image, error) { return parseFile(&File{Data: b}, o.budget) })
}

// parseMemory reads the headers from head, the copied start of the object at low, then
// copies what its segments span and reads the rest from there.
func (s *Set) parseMemory(head []byte, low, m *maps.Mapping, b *work.Budget) (*image, error) {
	im := &image{chunks: []chunk{{data: head}}, budget: b}
	if err := im.parseHeader(head); err != nil {
		return nil, err
	}
	if err := im.parseSegments(); err != nil {
		return nil, err
	}
	lo, hi, ok := im.span()
	if !ok {
		return nil, &FormatError{im.head.phOff, "no segment is loaded"}
	}
	im.bias = uint64(low.Start) - uint64(lo)
	if bias, ok := biasOf(im.loads, m, s.table); ok && m.IsFile() {
		im.bias = bias
	}
	im.chunks = s.copySpan(mem.Addr(uint64(lo)+im.bias), mem.Addr(uint64(hi)+im.bias), im.bias)
	if len(im.chunks) == 0 {
		return nil, errNoMemory
	}
	for i := range im.segments {
		p := &im.segments[i]
		p.Data = im.copied(p.Addr, p.fileSz)
	}
	im.finish()
	return im, nil
}

// copied returns up to n copied bytes at v, fewer where the copy ends.
func (im *image) copied(v Vaddr, n uint64) []byte {
	for _, c := range im.chunks {
		if v >= c.addr && uint64(v-c.addr) < uint64(len(c.data)) {
			b := c.data[v-c.addr:]
			n = min(n, uint64(len(b)))
			return b[:n:n]
		}
	}
	return nil
}

// copySpan copies the readable mappings in [lo, hi), at most maxImage bytes of them;
// neighbours become one chunk.
func (s *Set) copySpan(lo, hi mem.Addr, bias uint64) (out []chunk) {
	all, left := s.table.All(), uint64(maxImage)
	first := s.index(&maps.Mapping{Start: lo})
	if first > 0 && all[first-1].End > lo {
		first--
	}
	for i := first; i < len(all) && all[i].Start < hi && left > 0; i++ {
		m := &all[i]
		if m.Perm&(maps.Read|maps.Exec) == 0 {
			continue
		}
		from, to := max(m.Start, lo), min(m.End, hi)
		b, _ := s.copyMemory(from, min(uint64(to-from), left)) // what is not readable is missing there
		left -= uint64(len(b))
		v := Vaddr(uint64(from) - bias)
		if n := len(out) - 1; n >= 0 && out[n].addr+Vaddr(len(out[n].data)) == v {
			out[n].data = append(out[n].data, b...)
		} else if len(b) > 0 {
			out = append(out, chunk{v, b})
		}
	}
	return out
}

// copyMemory reads up to n bytes of the process; with an error it returns those before.
func (s *Set) copyMemory(addr mem.Addr, n uint64) ([]byte, error) {
	if s.image.Memory == nil {
		return nil, &mem.FaultError{Addr: addr, Len: int(n), Err: errors.New("memory is not read")}
	}
	if n > uint64(s.memoryLeft) {
		return nil, ErrTooMany
	}
	if !s.budget.Hold(int64(n)) {
		return nil, work.ErrMemory
	}
	b := make([]byte, n)
	got, err := s.image.Memory.ReadMem(b, addr)
	s.memoryLeft -= got
	s.budget.Release(int64(n) - int64(got))
	return b[:got], err
}
