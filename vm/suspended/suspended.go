// Package suspended lists functions that wait without a thread, as async ones do, which a runtime has as objects on its
// heap and in no list: they are searched for in the memory of the process while it runs, read at one moment, and shown
// as stacks.
//
// The runtime knows what the objects look like, and who waits for whom. This package says of the whole what is missing.
package suspended

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/moment"
	"github.com/fpstack/fpstack/vm/search"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

const (
	maxSearched = 512 << 20 // bytes
	// MaxObjects bounds the objects of one kind.
	MaxObjects = 1 << 16
	maxScans   = 3       // where the heap moves meanwhile
	maxRetried = 1 << 13 // functions for which it is tried again
)

// Memory is what a runtime is searched in.
type Memory struct {
	search  func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error
	scratch mem.Reader
	keep    func(mem.Range)
	// Replayed says that it is a recording, which has what was of use.
	Replayed bool
}

// Of is the memory that i shows.
func Of(i module.Image) Memory {
	m := Memory{search: i.Search, scratch: i.Scratch, keep: i.Keep, Replayed: i.Replayed}
	if m.scratch == nil {
		m.scratch = i.Memory
	}
	return m
}

// CanBeSearched reports whether it can.
func (m *Memory) CanBeSearched() bool { return m.search != nil }

// Scan is one search for objects, which are read at one moment. It is made by [Memory.Scan], and given up by Close.
type Scan struct {
	Moment *moment.Moment
	View   view.View // of the moment
	// Full says that there are more objects than are read. The runtime sets it.
	Full bool

	memory search.Memory
	keep   func(mem.Range)
	cut    error
	missed error
	same   []bool // of parts: they were the same when they were read again
	moved  int
}

// Scan begins a search; in says which mappings there are, which of them are looked at, and the budget.
func (m *Memory) Scan(in search.Memory) Scan {
	in.Search, in.Most = m.search, maxSearched
	s := Scan{memory: in, keep: m.keep}
	s.Moment = moment.New(m.scratch, s.IsMapped, in.Budget)
	s.View = view.From(s.Moment)
	return s
}

// Each gives look all memory that objects may lie in: see [search.Memory.Each].
func (s *Scan) Each(look func(at mem.Addr, b []byte) bool) {
	if e := s.memory.Each(look); s.cut == nil {
		s.cut = e.Cut
	}
}

// Anywhere is the memory in which something may refer to objects, theirs or not.
func (s *Scan) Anywhere() search.Memory {
	m := s.memory
	m.Block = 0
	return m
}

// Miss says that err has kept something from being found that was read of other memory than the moment's. Where nothing
// is mapped nothing is missed: words of memory that is used again lead anywhere.
func (s *Scan) Miss(err error) {
	var fault *mem.FaultError
	if s.missed == nil && (errors.As(err, &fault) && s.IsMapped(fault.Addr) || errors.Is(err, work.ErrSpent) ||
		errors.Is(err, work.ErrMemory)) {
		s.missed = err
	}
}

// Settle reads all again.
func (s *Scan) Settle() { s.same = s.Moment.Settle() }

// Again reads all once more, and reports of each part whether it has stayed the same since it was read again last. What
// is read from then on is of this moment.
func (s *Scan) Again() []bool { return s.Moment.Settle() }

// Stayed reports whether a part was the same when it was read again. Those that were not are counted.
func (s *Scan) Stayed(p moment.Part) bool {
	if !s.same[p] {
		s.moved++
	}
	return s.same[p]
}

// Stayed are those of list whose parts were the same when they were read again, in the place of list.
func Stayed[T any](s *Scan, list []T, parts []moment.Part) []T {
	kept := list[:0]
	for i := range list {
		if s.Stayed(parts[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// Change counts something else that was not the same.
func (s *Scan) Change() { s.moved++ }

// Moved is how many parts were not the same.
func (s *Scan) Moved() int { return s.moved }

// Keep lets what was of use be saved.
func (s *Scan) Keep() {
	if s.keep == nil {
		return
	}
	for _, r := range s.Moment.Kept(func(p moment.Part) bool { return int(p) >= len(s.same) || s.same[p] }) {
		s.keep(r)
	}
}

// Close gives up what is held.
func (s *Scan) Close() { s.Moment.Close() }

// Problem says what is missing of functions, which are called so; nil for nothing.
func (s *Scan) Problem(functions string) error {
	switch err := s.Moment.Err(); {
	case errors.Is(err, work.ErrMemory):
		return fmt.Errorf("%s may be missing: reading them takes more memory than fpstack uses", functions)
	case err != nil:
		return fmt.Errorf("%s may be missing: %w", functions, err)
	case s.Full:
		return fmt.Errorf("%s are missing: no more than %d objects of a kind are read", functions, MaxObjects)
	case s.cut != nil:
		return fmt.Errorf("%s may be missing: %w", functions, s.cut)
	case s.missed != nil:
		return fmt.Errorf("%s may be missing, or who waits for them: %w", functions, s.missed)
	case s.moved > 0:
		return fmt.Errorf("%s may be missing that have just begun, or who waits for them: %d objects changed while "+
			"they were read: %w", functions, s.moved, moment.ErrChanged)
	case s.Moment.Faults() > 0:
		return fmt.Errorf("%s may be missing, or who waits for them: not all of their memory could be read", functions)
	}
	return nil
}

// IsMapped reports whether a is in memory that can be read.
func (s *Scan) IsMapped(a mem.Addr) bool {
	m := s.memory.Table.Find(a)
	return m != nil && m.Perm&maps.Read != 0
}

// Finder is a search that knows what is looked for.
type Finder interface {
	// Read finds all of it, and returns how much that is.
	Read() (found int, err error)
	Moved() int
	Close()
}

// Best searches, and where the heap has moved meanwhile again, some times: the result is the one that has found most,
// which the caller closes. An error is why the last one ended.
func Best[F Finder](begin func() F) (best F, err error) {
	best = begin()
	most, err := best.Read()
	for i := 1; i < maxScans && err == nil && best.Moved() > 0 && most <= maxRetried; i++ {
		next := begin()
		var found int
		if found, err = next.Read(); found > most {
			best, next, most = next, best, found
		}
		next.Close()
	}
	return best, err
}
