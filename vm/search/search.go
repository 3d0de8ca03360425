// Package search finds objects of a runtime in the writable memory of a process, where no list has them: by a word
// that they begin with, as a map, a type or a table of functions, or by a word that refers to one.
//
// The process runs meanwhile: what is found was there when it was read, and may be elsewhere by now. Who asks checks
// the shape of each object, and reads it again by package vm/moment. What was not looked at, [Extent] says.
package search

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// Memory is what is searched.
type Memory struct {
	// Search reads a mapping: that of a [module.Image]. nil: there is nothing to be searched.
	Search func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error
	Table  *maps.Table
	Most   int64 // bytes that are looked at
	// Budget is what looking at them is taken from, a step for some bytes.
	Budget *work.Budget
	// Also reports whether a mapping that has a file is searched too: memory of the runtime's own. nil: none is.
	Also func(m *maps.Mapping) bool
	// Dead is memory that nothing lives in, ascending: stacks below their stack pointer.
	Dead maps.Spans
	// Block is of what length the pieces are in which the runtime has its heap from the kernel, each at a multiple of
	// it, with objects in no other memory: a power of two. 0: objects may lie in any, as malloc's do.
	Block mem.Addr
}

// Extent is how far a search came.
type Extent struct {
	Bytes int64
	// Cut says why there may be more: nil if all was looked at that is in memory.
	Cut error
}

// Whole reports whether all was looked at.
func (e Extent) Whole() bool { return e.Cut == nil }

// perStep is how many bytes are looked at in about a nanosecond.
const perStep = 3

// Each gives look all writable memory without a file, and what Also names, piece by piece, ascending, until it returns
// false. The pieces begin at a whole word, and are valid until look returns.
func (m *Memory) Each(look func(at mem.Addr, b []byte) bool) Extent {
	var e Extent
	if m.Search == nil || m.Table == nil {
		return Extent{Cut: module.ErrNoSearch}
	}
	all := m.Table.All()
	for i := range all {
		part, ok := m.objects(all[i])
		if m.Also != nil && m.Also(&all[i]) {
			part, ok = all[i], true
		}
		if !ok {
			continue
		}
		stopped := false
		err := m.Search(&part, func(at mem.Addr, b []byte) bool {
			switch {
			case e.Bytes+int64(len(b)) > m.Most:
				e.Cut = fmt.Errorf("no more than %d MB of its memory were searched", m.Most>>20)
			case !m.Budget.Spend(int64(len(b)) / perStep):
				e.Cut = m.Budget.Refusal()
			default:
				e.Bytes += int64(len(b))
				stopped = !m.living(at, b, look)
				return !stopped
			}
			return false
		})
		if e.Cut == nil && err != nil {
			e.Cut = err
		}
		if stopped || e.Cut != nil && e.Bytes+wordSize > m.Most {
			break
		}
	}
	return e
}

// objects is the part of a mapping in which objects of a runtime may lie, false for none. What is in front of the first
// block is no part: the kernel makes one mapping of neighbours. What brk(2) gave and the stack of the first thread are
// no blocks of anybody.
func (m *Memory) objects(of maps.Mapping) (part maps.Mapping, ok bool) {
	const objects = maps.Read | maps.Write
	if of.Inode != 0 || of.Perm&objects != objects {
		return of, false
	}
	mapped := of.Path == "" || strings.HasPrefix(of.Path, "[anon")
	if m.Block == 0 {
		return of, mapped || of.Path == "[heap]" || strings.HasPrefix(of.Path, "[stack")
	}
	start := (of.Start + m.Block - 1) &^ (m.Block - 1)
	if start < of.Start || start >= of.End {
		return of, false
	}
	of.Start = start
	return of, mapped
}

// living gives look b without what is dead of it.
func (m *Memory) living(at mem.Addr, b []byte, look func(at mem.Addr, b []byte) bool) bool {
	if off := int(-at & (wordSize - 1)); off != 0 {
		if off >= len(b) {
			return true
		}
		at, b = at+mem.Addr(off), b[off:]
	}
	for _, d := range m.Dead {
		end := at + mem.Addr(len(b))
		if d.End <= at || d.Start >= end {
			continue
		}
		if d.Start > at && !look(at, b[:d.Start-at]) {
			return false
		}
		if d.End >= end {
			return true
		}
		at, b = d.End, b[d.End-at:]
	}
	return look(at, b)
}

const (
	wordSize   = 8
	filterBits = 16
)

// Words are words that are looked for all at once, each with a number of the caller's.
type Words struct {
	may [1 << (filterBits - 6)]uint64 // by some bits of the word
	has map[uint64]int
}

// NewWords returns an empty set.
func NewWords() *Words { return &Words{has: map[uint64]int{}} }

// hash spreads the bits in which addresses of objects differ.
func hash(w uint64) uint64 { return w * 0x9e3779b97f4a7c15 >> (64 - filterBits) }

// Add adds word with its number, unless it is there: then it keeps the one that it has.
func (s *Words) Add(word uint64, number int) {
	if _, ok := s.has[word]; ok {
		return
	}
	s.has[word] = number
	h := hash(word)
	s.may[h>>6] |= 1 << (h & 63)
}

// Len is how many words there are.
func (s *Words) Len() int { return len(s.has) }

// Number is that of word.
func (s *Words) Number(word uint64) (int, bool) {
	if h := hash(word); s.may[h>>6]>>(h&63)&1 == 0 {
		return 0, false
	}
	n, ok := s.has[word]
	return n, ok
}

// In calls found for each aligned word of b, which lies at the aligned address at, that is one of s: with where in b it
// is and its number. It ends when found returns false, and reports whether it did not.
func (s *Words) In(b []byte, found func(offset, number int) bool) bool {
	for rest := b; len(rest) >= wordSize; rest = rest[wordSize:] {
		w := binary.LittleEndian.Uint64(rest)
		h := hash(w)
		if s.may[h>>6]>>(h&63)&1 == 0 { // mostly: what else could be asked before is not as foreseeable
			continue
		}
		if n, ok := s.has[w]; ok && !found(len(b)-len(rest), n) {
			return false
		}
	}
	return true
}
