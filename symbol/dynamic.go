package symbol

import (
	"github.com/fpstack/fpstack/maps/module"
)

// Dynamic looks up names in .dynsym of a module by its hash table, so that of a large table a few pages are read. It
// is not changed after it was made.
//
// Source: DT_GNU_HASH as elf/dl-lookup.c of glibc reads it; the gABI does not describe it.
type Dynamic struct {
	path                string
	table               *rawTable
	bloom, buckets      []byte
	chain               []byte
	first, shift        uint32
	bloomWords, nBucket uint32
}

// maxChain bounds the symbols of one bucket that are compared: linkers make some four to a bucket.
const maxChain = 1 << 10

// OpenDynamic returns the names that m exports, nil if it has no such tables, or they are not whole. It is for 64-bit
// objects.
func OpenDynamic(m *module.Module) *Dynamic {
	var d *Dynamic
	if err := module.Guard(m.Path, func() error { d = openDynamic(m); return nil }); err != nil {
		return nil
	}
	return d
}

func openDynamic(m *module.Module) *Dynamic {
	const header, bloomWord = 16, 8
	hash, ok := m.Section(".gnu.hash")
	t := newTable(m, ".dynsym", 0)
	if !ok || t == nil || t.err != nil || !t.wide || len(hash.Data) < header {
		return nil
	}
	b := hash.Data
	d := &Dynamic{path: m.Path, table: t, nBucket: t.u32(b), first: t.u32(b[4:]), bloomWords: t.u32(b[8:]),
		shift: t.u32(b[12:])}
	bucketsAt := header + bloomWord*uint64(d.bloomWords)
	chainAt := bucketsAt + 4*uint64(d.nBucket)
	if d.nBucket == 0 || d.bloomWords == 0 || chainAt > uint64(len(b)) {
		return nil
	}
	d.bloom, d.buckets, d.chain = b[header:bucketsAt], b[bucketsAt:chainAt], b[chainAt:]
	return d
}

// Lookup returns where the symbol with that name is, and its size; false if m defines none. Of several versions it is
// any.
func (d *Dynamic) Lookup(name string) (v module.Vaddr, size uint64, ok bool) {
	err := module.Guard(d.path, func() error { v, size, ok = d.lookup(name); return nil })
	return v, size, ok && err == nil
}

// Forget lets go of the memory of the tables, of which each Lookup reads a few pages anywhere: see
// [module.Module.Forget]. d can still be used. A nil d has none.
func (d *Dynamic) Forget() {
	if d == nil {
		return
	}
	for _, part := range [][]byte{d.bloom, d.buckets, d.chain, d.table.data, d.table.strings} {
		d.table.forget(part)
	}
}

func (d *Dynamic) lookup(name string) (v module.Vaddr, size uint64, ok bool) {
	t, hash := d.table, gnuHash(name)
	word := t.u64(d.bloom[8*(hash/64%d.bloomWords):])
	if word>>(hash%64)&(word>>(hash>>(d.shift&31)%64))&1 == 0 {
		return 0, 0, false
	}
	i := uint64(t.u32(d.buckets[4*(hash%d.nBucket):]))
	for end := i + maxChain; i < end; i++ {
		at := 4 * (i - uint64(d.first)) // wraps around where i is below first
		if at+4 > uint64(len(d.chain)) || at+4 < at || i >= uint64(t.count()) {
			break
		}
		here := t.u32(d.chain[at:])
		if here|1 == hash|1 {
			e := entry{index: uint32(i), table: t}
			s := t.data[i*uint64(t.size):]
			if string(e.nameBytes()) == name && t.u16(s[6:]) != shnUndef { // Elf64_Sym in elf(5)
				return module.Vaddr(t.u64(s[8:])), t.u64(s[16:]), true
			}
		}
		if here&1 != 0 {
			break
		}
	}
	return 0, 0, false
}

func gnuHash(name string) uint32 {
	h := uint32(5381)
	for i := range len(name) {
		h = h*33 + uint32(name[i])
	}
	return h
}
