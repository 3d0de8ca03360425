package module

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

// maxPage is the largest page size of a kernel: segments are mapped from the page that
// holds their first byte.
const maxPage = 64 << 10

// maxFitting bounds the segments of one object that a mapping is compared with. Each is looked up in
// the mappings with all others, and a file may have a thousand that fit.
const maxFitting = 16

// biasOf returns the load bias of an object that m is a mapping of, or false if m maps
// bytes that no segment loads.
//
// Page rounding makes neighbouring segments share a page of the file, so more than one
// segment may fit m. Each gives a bias; the one with which most segments lie where the
// table has them, with the same offset and the same right to execute, is taken. Programs have two or
// three that fit; the first maxFitting are compared.
func biasOf(loads []*Segment, m *maps.Mapping, table *maps.Table) (bias uint64, ok bool) {
	best, fitting := -1, 0
	for _, p := range loads {
		if !covers(p, m) {
			continue
		}
		if fitting++; fitting > maxFitting {
			break
		}
		b := uint64(m.Start) - uint64(p.Addr) - uint64(m.Offset-p.Offset)
		score := 0
		if (p.Flags&PFX != 0) == (m.Perm&maps.Exec != 0) {
			score++
		}
		score += fit(loads, b, m, table)
		if score > best {
			best, bias, ok = score, b, true
		}
	}
	return bias, ok
}

// covers reports whether m may be a mapping of p: their bytes in the file overlap, and m
// begins in p or at most a page before it.
func covers(p *Segment, m *maps.Mapping) bool {
	size := uint64(m.End - m.Start)
	switch d := m.Offset - p.Offset; {
	case m.Offset < p.Offset:
		return p.Offset-m.Offset < maxPage && uint64(p.Offset-m.Offset) < size
	default:
		return uint64(d) < p.fileSz
	}
}

// fit counts how well the mappings of m's file agree with a bias. It looks at the first
// segments only, which are more than programs have.
func fit(loads []*Segment, bias uint64, m *maps.Mapping, table *maps.Table) (score int) {
	for _, p := range loads[:min(len(loads), 64)] {
		if p.fileSz == 0 {
			continue
		}
		at := mem.Addr(uint64(p.Addr) + bias)
		o := table.Find(at)
		if o == nil || !sameFile(o, m) || o.Offset+int64(at-o.Start) != p.Offset {
			continue
		}
		score += 2
		if (p.Flags&PFX != 0) == (o.Perm&maps.Exec != 0) {
			score++
		}
	}
	return score
}

func sameFile(a, b *maps.Mapping) bool {
	return a.Inode == b.Inode && a.Dev == b.Dev && a.Path == b.Path
}
