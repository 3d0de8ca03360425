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
	"iter"
	"maps"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

const (
	pageSize = 4096
	// maxPages bounds the memory that is held of the process: 64 MB.
	maxPages = 16 << 10
	// maxRead bounds one read, bytes.
	maxRead = 64 << 10
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
	used   [][]use                      // of usesHeld each, but for the last
	uses   int
	recent [1 << 10]recent
	joined []byte // of what lies in two pages
	err    error  // why nothing is read any more
	ends   []int  // of parts, in used
	has    func(mem.Addr) bool
	faults int
}

type use struct {
	at mem.Addr
	n  uint32
}

// recent is a use that a part has already: the same words of what many objects share are read again and again.
type recent struct {
	use
	part int // from 1 on
}

// usesHeld is how many uses are taken from the budget at once.
const usesHeld = 4 << 10

// usesSize is what they take, bytes.
const usesSize = usesHeld * 16

// Part is what was read between two calls of [Moment.Part]: an object with what it leads to.
type Part int

// New returns a Moment of the process that live reads; has reports whether that should have the byte at an address, nil
// whether it has any. What it holds is taken from b until Close.
func New(live mem.Reader, has func(mem.Addr) bool, b *work.Budget) *Moment {
	return &Moment{live: live, has: has, budget: b, pages: map[mem.Addr]*[pageSize]byte{}}
}

// Part ends the part at hand, and returns its number.
func (m *Moment) Part() Part {
	m.ends = append(m.ends, m.uses)
	return Part(len(m.ends) - 1)
}

// Faults is how many reads have failed of memory that the process should have. Words of memory that is used again lead
// anywhere: what they lead to is none.
func (m *Moment) Faults() int { return m.faults }

// Err implements view.Source.
func (m *Moment) Err() error { return m.err }

// perRead is what a read of a page costs in steps of the budget.
const perRead = 1 << 10

// Bytes implements view.Source.
func (m *Moment) Bytes(a mem.Addr, n int) ([]byte, bool) {
	b, ok := m.bytes(a, n)
	if !ok {
		if m.has == nil || m.has(a) {
			m.faults++
		}
		return nil, false
	}
	if !m.note(use{a, uint32(n)}) {
		return nil, false
	}
	return b, true
}

// note keeps that u is of the part at hand. It is false if there is no room.
func (m *Moment) note(u use) bool {
	part := len(m.ends) + 1
	r := &m.recent[(uint64(u.at)>>3^uint64(u.n)<<7)%uint64(len(m.recent))]
	if r.use == u && r.part == part {
		return true
	}
	if m.uses%usesHeld == 0 {
		if !m.budget.Hold(usesSize) {
			m.err = work.ErrMemory
			return false
		}
		m.used = append(m.used, make([]use, 0, usesHeld))
	}
	last := &m.used[len(m.used)-1]
	*last = append(*last, u)
	m.uses++
	*r = recent{u, part}
	return true
}

// usesFrom are the uses from one number to another, which is behind them.
func (m *Moment) usesFrom(from, end int) iter.Seq[use] {
	return func(yield func(use) bool) {
		for i := from; i < end; i++ {
			if !yield(m.used[i/usesHeld][i%usesHeld]) {
				return
			}
		}
	}
}

func (m *Moment) bytes(a mem.Addr, n int) ([]byte, bool) {
	if n <= 0 || n > maxRead || a+mem.Addr(n) < a || m.err != nil {
		return nil, false
	}
	if !m.budget.Spend(1) {
		m.err = m.budget.Refusal()
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

// Settle reads all that was used again, and reports of each part whether it is the same as when it was read, or as at
// the last Settle. What is read of these pages from then on is of this moment.
func (m *Moment) Settle() []bool {
	same := make([]bool, len(m.ends))
	changed := m.changed()
	defer m.renew(changed)
	from := 0
	for p, end := range m.ends {
		same[p] = true
		for u := range m.usesFrom(from, end) {
			same[p] = same[p] && m.isSame(u, changed)
		}
		from = end
	}
	return same
}

// renew takes the changed pages for what they are now. What could not be read may be read now.
func (m *Moment) renew(changed map[mem.Addr]*[pageSize]byte) {
	for a, now := range changed {
		if m.pages[a] = now; now == nil {
			m.budget.Release(pageSize)
		}
	}
	maps.DeleteFunc(m.pages, func(_ mem.Addr, p *[pageSize]byte) bool { return p == nil })
}

// changed are the pages that are not what they were, as they are now; nil for one that cannot be read any more.
func (m *Moment) changed() map[mem.Addr]*[pageSize]byte {
	out := map[mem.Addr]*[pageSize]byte{}
	now := new([pageSize]byte)
	for a, was := range m.pages {
		if was == nil {
			continue
		}
		switch _, err := m.live.ReadMem(now[:], a); {
		case !m.budget.Spend(perRead), err != nil:
			out[a] = nil
		case *now != *was:
			out[a] = now
			now = new([pageSize]byte)
		}
	}
	return out
}

// isSame reports whether u holds what it did: all of it, where only parts of its pages are to be had, is read again.
func (m *Moment) isSame(u use, changed map[mem.Addr]*[pageSize]byte) bool {
	end := u.at + mem.Addr(u.n)
	for start := u.at &^ (pageSize - 1); start < end; start += pageSize {
		now, differs := changed[start]
		was := m.pages[start]
		if was != nil && !differs {
			continue
		}
		if was == nil || now == nil {
			return was == nil && !differs // a recording does not change
		}
		from, to := max(u.at, start)-start, min(end, start+pageSize)-start
		if !bytes.Equal(was[from:to], now[from:to]) {
			return false
		}
	}
	return true
}

// Kept are the ranges of those parts that keep says true of, as they were: what a replay takes to find the same. What
// was read behind the last part is among them.
func (m *Moment) Kept(keep func(Part) bool) []mem.Range {
	var out []mem.Range
	seen := map[use]bool{}
	part, i := 0, -1
	for u := range m.usesFrom(0, m.uses) {
		i++
		for part < len(m.ends) && i >= m.ends[part] {
			part++
		}
		if seen[u] || part < len(m.ends) && !keep(Part(part)) {
			continue
		}
		seen[u] = true
		if b, ok := m.bytes(u.at, int(u.n)); ok {
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
	m.budget.Release(int64(len(m.used)) * usesSize)
	m.pages, m.used, m.uses = nil, nil, 0
}
