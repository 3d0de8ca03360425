package pclntab

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/work"
)

// section is the bytes of one ELF section and the address it is linked at.
type section struct {
	Addr uint64
	Data []byte
}

// bytes returns n bytes at addr.
func (s section) bytes(addr, n uint64) ([]byte, bool) {
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

// Open finds the table of an object and what it needs from other sections. sections returns the bytes of one
// by name, not compressed, and the address that it is linked at; it is asked for some ten names.
//
// The address of runtime.text and of the trees of inlined calls come from the runtime's
// moduledata, which is found by its pointers into the table, so symbols are not needed. Without
// moduledata, text is what the header says, or the start of .text (wrong by the start-up
// code where a C linker made the program), and [Table.InlineErr] says what is missing.
// What is looked through for it, and what the Table is asked later, takes from b; nil: without a
// bound. It fails with [ErrNone] if there is no table.
func Open(sections func(name string) (addr uint64, data []byte, ok bool), b *work.Budget) (*Table, error) {
	find := func(name string) (section, bool) {
		addr, data, ok := sections(name)
		return section{Addr: addr, Data: data}, ok
	}
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
	t.addr, t.budget = s.Addr, b
	if start := t.word(t.data, 2); start != 0 {
		t.text = start
	}
	t.inline.err = t.useModuledata(find)
	return t, nil
}

// useModuledata sets text and the place of inlined calls.
func (t *Table) useModuledata(find func(name string) (section, bool)) error {
	o := object{t: t, find: find, left: t.budget.Purse()}
	words, ok := o.moduledata()
	switch {
	case o.left.Spent():
		return fmt.Errorf("inlined calls: moduledata is not looked for: %w", t.budget.Refusal())
	case !ok:
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
	find func(name string) (section, bool)
	left work.Purse
}

// maxCandidates bounds the words that point to the table and are compared with moduledata. Programs
// have one or two; a file may consist of nothing else.
const maxCandidates = 64

// pair is one relocation: at is where value will stand.
type pair struct{ at, value uint64 }

// moduledata returns the first words of the moduledata that belongs to the table. It tries
// words of the data sections that point to the table, as it is in the file or as a
// relocation will make it.
func (o *object) moduledata() ([]uint64, bool) {
	var data []section
	for _, name := range []string{".go.module", ".noptrdata", ".data", ".data.rel.ro"} {
		if s, ok := o.find(name); ok {
			data = append(data, s)
		}
	}
	var candidates []uint64
	for _, s := range data {
		candidates = o.pointing(s, candidates)
	}
	o.relocations(func(p pair) {
		if p.value == o.t.addr && len(candidates) < maxCandidates {
			candidates = append(candidates, p.at)
		}
	})
	moved := o.moved(candidates)
	for _, s := range data {
		for _, at := range candidates {
			if w, ok := o.words(s, at, moved); ok {
				return w, true
			}
		}
	}
	return nil, false
}

// pointing adds the addresses in s of words that point to the table.
func (o *object) pointing(s section, to []uint64) []uint64 {
	size := uint64(o.t.ptr)
	for off := uint64(0); off+size <= uint64(len(s.Data)) && len(to) < maxCandidates; off += size {
		if !o.left.Spend(int64(size)) {
			break
		}
		if o.t.uint(s.Data[off:], o.t.ptr) == o.t.addr {
			to = append(to, s.Addr+off)
		}
	}
	return to
}

// moved returns the relocations of what may be moduledata, by their addresses. Of several at one address
// the last counts.
func (o *object) moved(candidates []uint64) []pair {
	var out []pair
	slices.Sort(candidates)
	candidates = slices.Compact(candidates)
	size := uint64(o.t.ptr)
	o.relocations(func(p pair) {
		i, found := slices.BinarySearch(candidates, p.at)
		if !found {
			i--
		}
		if i >= 0 && (p.at-candidates[i])/size < moduledataWords && len(out) < maxCandidates*moduledataWords {
			out = append(out, p)
		}
	})
	slices.SortStableFunc(out, func(a, b pair) int { return cmp.Compare(a.at, b.at) })
	return out
}

// words reads a candidate at addr and checks that it points where the table says.
func (o *object) words(s section, addr uint64, moved []pair) ([]uint64, bool) {
	t, size := o.t, uint64(o.t.ptr)
	b, ok := s.bytes(addr, moduledataWords*size)
	if !ok {
		return nil, false
	}
	w := make([]uint64, moduledataWords)
	for i := range w {
		w[i] = t.uint(b[i*t.ptr:], t.ptr)
	}
	from, _ := slices.BinarySearchFunc(moved, addr, func(p pair, addr uint64) int { return cmp.Compare(p.at, addr) })
	for _, p := range moved[from:] {
		i := (p.at - addr) / size
		if i >= moduledataWords {
			break
		}
		if (p.at-addr)%size == 0 {
			w[i] = p.value
		}
	}
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

// relocations calls f for each entry with an addend, as far as the budget goes. Where addends stand
// in the relocated word itself (REL, RELR) there is nothing to tell. The type is not looked
// at: what is made of an entry is checked.
// Source: System V gABI, Elf32_Rela and Elf64_Rela.
func (o *object) relocations(f func(pair)) {
	for _, name := range []string{".rela.dyn", ".rela"} {
		s, ok := o.find(name)
		if !ok {
			continue
		}
		size := 3 * o.t.ptr
		for b := s.Data; len(b) >= size && o.left.Spend(int64(size)); b = b[size:] {
			f(pair{o.t.uint(b, o.t.ptr), o.t.uint(b[2*o.t.ptr:], o.t.ptr)})
		}
	}
}
