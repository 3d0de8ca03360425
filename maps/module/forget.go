package module

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/maps"
)

// Keep bounds by n how many modules are kept that are mapped no longer: [Set.Update] forgets those beyond, first
// what has been gone for longest, closes their files and gives back what reading them held of the budget. Who uses a
// Set for as long as its process runs calls it, as that may load other libraries for ever. A module that is mapped
// again before it is forgotten is the same one. Those that were given out can still be used if their files have no
// Close (see [Shared.Opener]). Without Keep all are kept.
func (s *Set) Keep(n int) { s.keep = n }

// Has reports whether what is known of an object can serve again: nothing of it was forgotten.
func (s *Set) Has(o Object) bool {
	if s.images == nil {
		return true
	}
	_, ok := s.images[o.elf]
	return ok
}

// forget drops modules that have been mapped no longer than others, if there are too many.
func (s *Set) forget() {
	if s.keep < 0 {
		return
	}
	current := map[*object]bool{}
	for _, o := range s.objects {
		current[o] = true
	}
	for _, o := range s.copies {
		current[o] = true
	}
	var gone []*Module
	for at, m := range s.byPlace {
		if current[at.object] && s.maps(m) {
			m.unmapped = 0
			continue
		}
		m.unmapped++
		gone = append(gone, m)
	}
	if len(gone) > s.keep {
		slices.SortFunc(gone, func(a, b *Module) int {
			return cmp.Or(cmp.Compare(a.unmapped, b.unmapped), cmp.Compare(b.ID, a.ID))
		})
		s.drop(gone[s.keep:])
	}
}

// maps reports whether the file of m is mapped where m is.
func (s *Set) maps(m *Module) bool {
	all := s.table.All()
	for i := s.index(&maps.Mapping{Start: m.start}); i < len(all) && all[i].Start < max(m.end, m.start+1); i++ {
		if sameFile(&all[i], &m.from) {
			return true
		}
	}
	return false
}

// drop forgets modules, and objects of which no module is left.
func (s *Set) drop(gone []*Module) {
	lost := map[*Module]bool{}
	for _, m := range gone {
		lost[m] = true
	}
	s.modules = slices.DeleteFunc(s.modules, func(m *Module) bool { return lost[m] })
	used := map[*object]bool{}
	for at, m := range s.byPlace {
		if lost[m] {
			delete(s.byPlace, at)
		} else {
			used[at.object] = true
		}
	}
	for id, o := range s.objects {
		if !used[o] {
			delete(s.objects, id)
			s.release(o)
		}
	}
	s.retired = slices.DeleteFunc(s.retired, func(o *object) bool {
		if !used[o] {
			s.release(o)
		}
		return !used[o]
	})
	s.images = map[*image]struct{}{}
	for _, m := range s.modules {
		s.images[m.elf] = struct{}{}
	}
}

// Objects lists what s has opened and not forgotten.
func (s *Set) Objects(yield func(Object) bool) {
	for _, o := range s.objects {
		if o != nil && o.elf != nil && !yield(Object{o.elf}) {
			return
		}
	}
	for _, list := range [][]*object{s.copies, s.retired} {
		for _, o := range list {
			if o != nil && o.elf != nil && !yield(Object{o.elf}) {
				return
			}
		}
	}
	for _, m := range s.modules {
		if !yield(m.Object()) {
			return
		}
	}
}

// Release gives back what reading the modules held of the budget. Nothing is asked of s afterwards; those of its
// modules that others know can still be used as after [Set.Keep].
func (s *Set) Release() {
	for _, o := range s.objects {
		s.release(o)
	}
	for _, list := range [][]*object{s.copies, s.retired} {
		for _, o := range list {
			s.release(o)
		}
	}
}

// release closes the file of an object and gives back what it held.
func (s *Set) release(o *object) {
	if o == nil {
		return
	}
	if o.close != nil {
		o.close()
		o.close = nil
	}
	o.budget.ReleaseAll()
	if o.elf == nil {
		return
	}
	s.sections -= len(o.elf.sections)
	for _, c := range o.elf.chunks { // they are charged to the Set
		s.memoryLeft += len(c.data)
		s.budget.Release(int64(len(c.data)))
	}
}
