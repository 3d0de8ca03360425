package pclntab

import (
	"errors"
	"fmt"
)

// Section is the bytes of one ELF section and the address it is linked at.
type Section struct {
	Addr uint64
	Data []byte
}

// bytes returns n bytes at addr.
func (s Section) bytes(addr, n uint64) ([]byte, bool) {
	if addr < s.Addr || addr-s.Addr > uint64(len(s.Data)) || n > uint64(len(s.Data))-(addr-s.Addr) {
		return nil, false
	}
	off := addr - s.Addr
	return s.Data[off : off+n], true
}

// Words of struct moduledata in runtime/symtab.go, Go 1.18 and later. gofunc is given for
// Go 1.20 and later: 1.18 and 1.19 lack covctrs and ecovctrs before it.
const (
	wordNames, wordCUs, wordFiles, wordPCs = 1, 4, 7, 10
	wordFuncs, wordFtab, wordFtabLen       = 13, 16, 17
	wordMinPC, wordText                    = 20, 22
	wordGofunc                             = 40
	moduledataWords                        = 41
)

// Open finds the table of an object and what it needs from other sections. find returns a
// section by name; it is asked for some ten names.
//
// The address of runtime.text and of the trees of inlined calls come from the runtime's
// moduledata, which is found by its pointers into the table, so symbols are not needed. Without
// moduledata, text is what the header says, or the start of .text (wrong by the start-up
// code where a C linker made the program), and [Table.InlineErr] says what is missing.
// It fails with [ErrNone] if there is no table.
func Open(find func(name string) (Section, bool)) (*Table, error) {
	s, ok := find(".gopclntab")
	if !ok {
		if s, ok = find(".data.rel.ro.gopclntab"); !ok {
			return nil, ErrNone
		}
	}
	var text uint64
	if ts, ok := find(".text"); ok {
		text = ts.Addr
	}
	t, err := Parse(s.Data, text)
	if err != nil || t.version < go118 {
		if t != nil {
			t.inline.err = errOldInline
		}
		return t, err
	}
	t.addr = s.Addr
	if start := t.word(t.data, 2); start != 0 {
		t.text = start
	}
	t.inline.err = t.useModuledata(find)
	return t, nil
}

// useModuledata sets text and the place of inlined calls.
func (t *Table) useModuledata(find func(name string) (Section, bool)) error {
	o := object{t: t, find: find}
	words, ok := o.moduledata()
	if !ok {
		return errors.New("inlined calls: moduledata not found")
	}
	t.text = words[wordText]
	if t.version < go120 {
		return errOldInline
	}
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab", ".rodata", ".data.rel.ro"} {
		if s, ok := find(name); ok && len(s.Data) > 0 {
			t.inline.spans = append(t.inline.spans, s)
		}
	}
	t.inline.base = words[wordGofunc]
	if _, ok := t.inline.read(t.inline.base, 1); !ok {
		return fmt.Errorf("inlined calls: go:func.* at %#x is not in the file", t.inline.base)
	}
	t.inline.err = nil
	return t.checkInlines()
}

// object looks for moduledata.
type object struct {
	t    *Table
	find func(name string) (Section, bool)
}

// moduledata returns the first words of the moduledata that belongs to the table. It tries
// each word of the data sections that points to the table, as it stands in the file or as a
// relocation will make it.
func (o *object) moduledata() ([]uint64, bool) {
	for _, name := range []string{".go.module", ".noptrdata", ".data", ".data.rel.ro"} {
		s, ok := o.find(name)
		if !ok {
			continue
		}
		size := uint64(o.t.ptr)
		for off := uint64(0); off+size <= uint64(len(s.Data)); off += size {
			if o.t.uint(s.Data[off:], o.t.ptr) != o.t.addr {
				continue
			}
			if w, ok := o.words(s, s.Addr+off); ok {
				return w, true
			}
		}
		var words []uint64
		o.relocations(func(at, value uint64) bool {
			if _, in := s.bytes(at, size); in && value == o.t.addr {
				words, ok = o.words(s, at)
				return words == nil
			}
			return true
		})
		if words != nil {
			return words, true
		}
	}
	return nil, false
}

// words reads a candidate at addr and checks that it points where the table says.
func (o *object) words(s Section, addr uint64) ([]uint64, bool) {
	t, size := o.t, uint64(o.t.ptr)
	b, ok := s.bytes(addr, moduledataWords*size)
	if !ok {
		return nil, false
	}
	w := make([]uint64, moduledataWords)
	for i := range w {
		w[i] = t.uint(b[i*t.ptr:], t.ptr)
	}
	o.relocations(func(at, value uint64) bool {
		if at >= addr && (at-addr)/size < moduledataWords && (at-addr)%size == 0 {
			w[(at-addr)/size] = value
		}
		return true
	})
	for _, c := range []struct {
		word int
		want uint64
	}{
		{wordNames, t.addr + t.nameOff}, {wordCUs, t.addr + t.cuOff}, {wordFiles, t.addr + t.fileOff},
		{wordPCs, t.addr + t.pcOff}, {wordFuncs, t.addr + t.funcOff}, {wordFtab, t.addr + t.funcOff},
		{wordFtabLen, uint64(t.nfunc) + 1},
		{wordMinPC, w[wordText] + uint64(t.order.Uint32(t.functab))},
	} {
		if w[c.word] != c.want {
			return nil, false
		}
	}
	return w, true
}

// relocations calls f for each entry with an addend, until f returns false. Where addends stand
// in the relocated word itself (REL, RELR) there is nothing to tell. The type is not looked
// at: what is made of an entry is checked.
// Source: System V gABI, Elf32_Rela and Elf64_Rela.
func (o *object) relocations(f func(at, value uint64) bool) {
	for _, name := range []string{".rela.dyn", ".rela"} {
		s, ok := o.find(name)
		if !ok {
			continue
		}
		size := 3 * o.t.ptr
		for b := s.Data; len(b) >= size; b = b[size:] {
			if !f(o.t.uint(b, o.t.ptr), o.t.uint(b[2*o.t.ptr:], o.t.ptr)) {
				return
			}
		}
	}
}
