//go:build linux

package tracer

import (
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// searchPages is how many pages are read at once.
const searchPages = 256

// search implements Search of [module.Image].
// Source: linux/Documentation/admin-guide/mm/pagemap.rst, bits 63 and 62.
func (p *Process) search(mapping *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
	m := p.memory.Load()
	m.openPages()
	if m.pages < 0 {
		return fmt.Errorf("search memory at %#x: pagemap cannot be read", uint64(mapping.Start))
	}
	most := int(min(searchPages, (mapping.End-mapping.Start)/kernelPage))
	entries, data := make([]byte, most*8), make([]byte, mem.Addr(most)*kernelPage)
	entry := func(i int) uint64 { return binary.NativeEndian.Uint64(entries[8*i:]) }
	present := func(i int) bool { return entry(i)>>63 != 0 }
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
					if entry(i)>>62 != 0 {
						swapped = module.ErrSwapped
					}
				}
				continue
			}
			start := at + mem.Addr(from)*kernelPage
			got, err := m.read(data[:mem.Addr(to-from)*kernelPage], start)
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
