package core

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

// search implements Search of module.Image: what the core has of the mapping m.
func (c *Core) search(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
	const piece = 1 << 20
	b := make([]byte, min(piece, m.End-m.Start))
	for at := m.Start; at < m.End; {
		n, _ := c.dumped(b[:min(mem.Addr(len(b)), m.End-at)], at)
		if n == 0 {
			next := c.after(at)
			if next == nil {
				return nil
			}
			at = next.start
			continue
		}
		if !yield(at, b[:n]) {
			return nil
		}
		at += mem.Addr(n)
	}
	return nil
}
