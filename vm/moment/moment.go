// Package moment reads objects of a process that runs as they were at one moment, without stopping it: it reads all of
// them, and then all of them again. What was the same both times held those bytes between the two readings, all of it
// at once, so that what one object says of another is true of that moment. What was not the same is not known.
//
// It is the atomic snapshot by double collect (Afek et al., 1993) without helping: what changes all the time is never
// known. A word that was changed and back again in between is taken for one that was not.
package moment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

const (
	pageSize = 4096
	// maxPages bounds the memory that is held of the process: 64 MB.
	maxPages = 16 << 10
	// maxRead bounds one read, bytes.
	maxRead = 64 << 10
	// maxFaults bounds the reads of which it is known that they failed.
	maxFaults = 1 << 10
)

// ErrChanged says that something was not the same when it was read again: the process goes on, and what is new of it is
// not known.
var ErrChanged = errors.New("the process goes on")

// Moment is a view.Source. It reads whole pages of the process, and knows of each [Part] what was used of them. It is
// for one goroutine at a time.
type Moment struct {
	live   mem.Reader
	budget *work.Budget
	pages  map[mem.Addr]*[pageSize]byte // nil for one that cannot be read
	used   []use
	joined []byte // of what lies in two pages
	err    error  // why nothing is read any more
	ends   []int  // of parts, in used
	faults []mem.Addr
}

type use struct {
	at mem.Addr
	n  int
}

// Part is what was read between two calls of [Moment.Part]: an object with what it leads to.
type Part int

// New returns a Moment of the process that live reads. What it holds is taken from b until Close.
func New(live mem.Reader, b *work.Budget) *Moment {
	return &Moment{live: live, budget: b, pages: map[mem.Addr]*[pageSize]byte{}}
}

// Part ends the part at hand, and returns its number.
func (m *Moment) Part() Part {
	m.ends = append(m.ends, len(m.used))
	return Part(len(m.ends) - 1)
}

// Faults are where reads failed, as many as are kept. Words of memory that is used again lead anywhere.
func (m *Moment) Faults() []mem.Addr { return m.faults }

// Err implements view.Source.
func (m *Moment) Err() error { return m.err }

// perRead is what a read of a page costs in steps of the budget.
const perRead = 1 << 10

// Bytes implements view.Source.
func (m *Moment) Bytes(a mem.Addr, n int) ([]byte, bool) {
	b, ok := m.bytes(a, n)
	if !ok {
		if len(m.faults) < maxFaults {
			m.faults = append(m.faults, a)
		}
		return nil, false
	}
	if last := len(m.used) - 1; last < 0 || m.used[last] != (use{a, n}) {
		m.used = append(m.used, use{a, n})
	}
	return b, true
}

func (m *Moment) bytes(a mem.Addr, n int) ([]byte, bool) {
	if n <= 0 || n > maxRead || a+mem.Addr(n) < a || m.err != nil || !m.budget.Spend(1) {
		return nil, false
	}
	start := a &^ (pageSize - 1)
	first, at := m.page(start), int(a-start)
	if first == nil {
		return m.piece(a, n)
	}
	if at+n <= pageSize {
		return first[at : at+n : at+n], true
	}
	m.joined = append(m.joined[:0], first[at:]...)
	for len(m.joined) < n {
		start += pageSize
		next := m.page(start)
		if next == nil {
			return m.piece(a, n)
		}
		m.joined = append(m.joined, next[:min(pageSize, n-len(m.joined))]...)
	}
	return m.joined, true
}

// piece reads n bytes at a of which not all pages are to be had: a recording has parts of pages.
func (m *Moment) piece(a mem.Addr, n int) ([]byte, bool) {
	if cap(m.joined) < n {
		m.joined = make([]byte, n)
	}
	m.joined = m.joined[:n]
	_, err := m.live.ReadMem(m.joined, a)
	return m.joined, err == nil
}

// Peek is the word at a, of which it does not matter whether it stays. A word of a recording may be missing.
func (m *Moment) Peek(a mem.Addr) (uint64, bool) {
	b, ok := m.bytes(a, 8)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// page is the page at a, as it was when it was read first; nil if it cannot be read.
func (m *Moment) page(a mem.Addr) *[pageSize]byte {
	if p, ok := m.pages[a]; ok {
		return p
	}
	switch {
	case len(m.pages) >= maxPages, !m.budget.Hold(pageSize):
		m.err = work.ErrMemory
		return nil
	case !m.budget.Spend(perRead):
		m.budget.Release(pageSize)
		m.err = m.budget.Refusal()
		return nil
	}
	p := new([pageSize]byte)
	if _, err := m.live.ReadMem(p[:], a); err != nil {
		m.budget.Release(pageSize)
		p = nil
	}
	m.pages[a] = p
	return p
}

// Settle reads all that was used again, and reports of each part whether it is the same.
func (m *Moment) Settle() []bool {
	same := make([]bool, len(m.ends))
	for i := range same {
		same[i] = true
	}
	part := m.partOf()
	order := make([]int, len(m.used))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch x, y := m.used[a].at, m.used[b].at; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return m.used[a].n - m.used[b].n
	})
	var now again
	now.live = m.live
	for _, i := range order {
		u := m.used[i]
		if !same[part[i]] {
			continue
		}
		was, ok := m.bytes(u.at, u.n)
		is, ok2 := now.bytes(u.at, u.n)
		if !ok || !ok2 || !bytes.Equal(was, is) || !m.budget.Spend(perRead/8) {
			same[part[i]] = false
		}
	}
	return same
}

// partOf is the part of each use.
func (m *Moment) partOf() []int {
	out := make([]int, len(m.used))
	from := 0
	for p, end := range m.ends {
		for i := from; i < end; i++ {
			out[i] = p
		}
		from = end
	}
	return out
}

// again reads pages once more, the last of which it holds.
type again struct {
	live   mem.Reader
	at     mem.Addr
	ok     bool
	page   [pageSize]byte
	joined []byte
}

func (g *again) bytes(a mem.Addr, n int) ([]byte, bool) {
	g.joined = g.joined[:0]
	for at := a; len(g.joined) < n; {
		start := at &^ (pageSize - 1)
		if !g.read(start) {
			g.joined = make([]byte, n)
			_, err := g.live.ReadMem(g.joined, a)
			return g.joined, err == nil
		}
		from := int(at - start)
		piece := g.page[from:min(pageSize, from+n-len(g.joined))]
		g.joined = append(g.joined, piece...)
		at += mem.Addr(len(piece))
	}
	return g.joined, true
}

func (g *again) read(a mem.Addr) bool {
	if g.at != a || a == 0 {
		_, err := g.live.ReadMem(g.page[:], a)
		g.at, g.ok = a, err == nil
	}
	return g.ok
}

// Kept are the ranges of those parts that keep says true of, as they were: what a replay takes to find the same. What
// was read behind the last part is among them.
func (m *Moment) Kept(keep func(Part) bool) []mem.Range {
	var out []mem.Range
	part := m.partOf()
	seen := map[use]bool{}
	for i, u := range m.used {
		ended := len(m.ends) > 0 && i < m.ends[len(m.ends)-1]
		if seen[u] || ended && !keep(Part(part[i])) {
			continue
		}
		seen[u] = true
		if b, ok := m.bytes(u.at, u.n); ok {
			out = append(out, mem.Range{Start: u.at, Data: bytes.Clone(b)})
		}
	}
	return out
}

// Close gives up what is held.
func (m *Moment) Close() {
	for _, p := range m.pages {
		if p != nil {
			m.budget.Release(pageSize)
		}
	}
	m.pages, m.used = nil, nil
}
