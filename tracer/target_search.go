//go:build linux

package tracer

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// searchPages is how many pages are read at once: as many as a processor has in its own cache when they are looked at.
const searchPages = 64

// searched is what a search reads into: a process has hundreds of mappings, few of them with many pages in memory.
type searched struct {
	entries [searchPages * 8]byte
	data    []byte
}

var searchBuffers = sync.Pool{New: func() any { return new(searched) }}

// of returns room for so many pages.
func (s *searched) of(pages int) []byte {
	if n := pages * int(kernelPage); len(s.data) < n {
		s.data = make([]byte, n)
	}
	return s.data[:pages*int(kernelPage)]
}

// Bits of an entry of pagemap. Older kernels tell of a page that guards a stack that it is swapped out, too, and all do
// of one that is on its way to another place of the memory.
// Source: linux/Documentation/admin-guide/mm/pagemap.rst.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageGuard   = 1 << 58
)

// hasSwapped reports whether anything of the process is swapped out, or may be.
func (p *Process) hasSwapped() bool {
	st, err := p.status()
	return err != nil || st.Swapped
}

// search implements Search of [module.Image].
func (p *Process) search(mapping *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
	m := p.memory.Load()
	m.openPages()
	if m.pages < 0 {
		return fmt.Errorf("search memory at %#x: pagemap cannot be read", uint64(mapping.Start))
	}
	buffers := searchBuffers.Get().(*searched)
	defer searchBuffers.Put(buffers)
	entries := buffers.entries[:]
	entry := func(i int) uint64 { return binary.NativeEndian.Uint64(entries[8*i:]) }
	present := func(i int) bool { return entry(i)&pagePresent != 0 }
	var swapped error
	for at := mapping.Start; at < mapping.End; at += searchPages * kernelPage {
		n := int(min(searchPages, (mapping.End-at)/kernelPage))
		if got, err := rawPread(m.pages, entries[:8*n], uint64(at/kernelPage)*8); err != nil || got < 8*n {
			return nil // it was unmapped
		}
		for from, to := 0, 0; from < n; from = to {
			for to = from + 1; to < n && present(to) == present(from); to++ {
			}
			if !present(from) {
				for i := from; i < to && swapped == nil; i++ {
					if entry(i)&(pageSwapped|pageGuard) == pageSwapped && p.hasSwapped() {
						swapped = module.ErrSwapped
					}
				}
				continue
			}
			start := at + mem.Addr(from)*kernelPage
			data := buffers.of(to - from)
			got, err := m.read(data, start)
			if got > 0 && !yield(start, data[:got]) {
				return nil
			}
			if err != nil {
				return nil
			}
		}
	}
	return swapped
}
