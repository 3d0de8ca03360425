package module

import (
	"bytes"

	"github.com/fpstack/fpstack/maps"
)

// Update makes s the modules of the same process after its mappings changed. What is the same
// file at the same place stays the same *Module; another file at the same addresses becomes
// another one. So what is known of a *Module stays true, and what is known of an address does
// not: see [Set.Changes].
//
// Files that are mapped no longer stay open until Close, so that addresses which were seen in them
// can be named later; [Set.Keep] bounds them. A process that began another program needs another Set.
//
// It asks for a file to be opened again where the file was written over in place, as its header or
// its build id tell. A change of other bytes alone is not seen.
func (s *Set) Update(table *maps.Table) {
	s.table, s.last = table, nil
	s.changes++
	clear(s.byAddr)
	for id, o := range s.objects {
		if o == nil || o.rewritten() {
			delete(s.objects, id)
			s.retire(o)
		}
	}
	kept := s.copies[:0]
	for _, o := range s.copies {
		if s.holds(o) {
			kept = append(kept, o)
		} else if s.keep >= 0 {
			s.retired = append(s.retired, o) // until its modules are forgotten
		}
	}
	clear(s.copies[len(kept):])
	s.copies = kept
	s.forget()
}

// Changes is how often the mappings have changed. While it is the same, an address belongs to
// the same Module.
func (s *Set) Changes() int { return s.changes }

// retire keeps a file open that no new Module is made of.
func (s *Set) retire(o *object) {
	if o != nil && (o.close != nil || s.keep >= 0) {
		s.retired = append(s.retired, o)
	}
}

// rewritten reports whether the file of o is another now than when it was opened: a mapped file
// that is written in place changes under its readers.
func (o *object) rewritten() bool {
	if o.elf == nil || len(o.elf.data) == 0 || o.from != nil {
		return false
	}
	changed := true
	err := Guard(o.path, func() error {
		changed = !bytes.Equal(o.head, o.elf.start()) || o.elf.findBuildID() != o.elf.buildID
		return nil
	})
	return changed || err != nil
}

// holds reports whether an object that was read from memory is there still: the mapping that it
// begins in, and the bytes at its start. It points o to the new mapping.
func (s *Set) holds(o *object) bool {
	m := s.table.Find(o.from.Start)
	if m == nil || m.Start != o.from.Start || m.Offset != o.from.Offset || !sameFile(m, o.from) {
		return false
	}
	head, err := s.copyMemory(m.Start, uint64(len(o.head)))
	s.memoryLeft += len(head) // it is not kept
	s.budget.Release(int64(len(head)))
	if err != nil || !bytes.Equal(head, o.head) {
		return false
	}
	o.from = m
	return true
}

// start is the beginning of an object that is a file or a copy of memory: its ELF header.
func (im *image) start() []byte {
	data := im.data
	if len(im.chunks) > 0 {
		data = im.chunks[0].data
	}
	return data[:min(len(data), headerSize)]
}
