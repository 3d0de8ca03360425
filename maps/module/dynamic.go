package module

const (
	dtHash    = 4          // DT_HASH
	dtStrTab  = 5          // DT_STRTAB
	dtSymTab  = 6          // DT_SYMTAB
	dtStrSz   = 10         // DT_STRSZ
	dtGNUHash = 0x6ffffef5 // DT_GNU_HASH

	shtStrTab  = 3          // SHT_STRTAB
	shtHash    = 5          // SHT_HASH
	shtDynamic = 6          // SHT_DYNAMIC
	shtDynSym  = 11         // SHT_DYNSYM
	shtGNUHash = 0x6ffffff6 // SHT_GNU_HASH

	emS390 = 22 // EM_S390

	maxDynamic = 4096 // entries of the dynamic section that are looked at; programs have some 30
)

// dynamic is what PT_DYNAMIC says of the tables that name symbols; 0 is "not said".
type dynamic struct {
	hash, gnuHash, symTab, strTab Vaddr
	strSz                         uint64
}

// addDynamic makes sections of what PT_DYNAMIC points to.
// Source: gABI chapter 5, Dynamic Section; DT_GNU_HASH as binutils bfd/elflink.c writes it.
func (im *image) addDynamic(seg *Segment) {
	im.add(Section{Name: ".dynamic", Type: shtDynamic, Addr: seg.Addr, Data: seg.Data, EntSize: uint64(2 * im.class)})
	if im.hasData(".dynsym") && im.hasData(".dynstr") {
		return
	}
	d := im.readDynamic(seg.Data)
	symSize := uint64(16)
	if im.class == 8 {
		symSize = 24
	}
	var count uint64
	if b, n, ok := im.sysvHash(d.hash); ok {
		im.add(Section{Name: ".hash", Type: shtHash, Addr: d.hash, Data: b})
		count = n
	}
	if b, n, ok := im.gnuHash(d.gnuHash); ok {
		im.add(Section{Name: ".gnu.hash", Type: shtGNUHash, Addr: d.gnuHash, Data: b})
		count = max(count, n)
	}
	if b, ok := im.vaddrBytes(d.strTab, d.strSz); ok && d.strTab != 0 {
		im.add(Section{Name: ".dynstr", Type: shtStrTab, Addr: d.strTab, Data: b})
	}
	if b, ok := im.fromVaddr(d.symTab); ok && d.symTab != 0 {
		n := min(count, uint64(len(b))/symSize)
		im.add(Section{Name: ".dynsym", Type: shtDynSym, Addr: d.symTab, Data: b[: n*symSize : n*symSize],
			EntSize: symSize,
			Link:    uint32(max(im.section(".dynstr"), 0))})
	}
}

func (im *image) readDynamic(b []byte) (d dynamic) {
	w := im.class
	for range maxDynamic {
		if len(b) < 2*w {
			break
		}
		tag, val := im.word(b), im.word(b[w:])
		b = b[2*w:]
		switch tag {
		case 0: // DT_NULL
			return d
		case dtHash:
			d.hash = im.pointer(val)
		case dtGNUHash:
			d.gnuHash = im.pointer(val)
		case dtSymTab:
			d.symTab = im.pointer(val)
		case dtStrTab:
			d.strTab = im.pointer(val)
		case dtStrSz:
			d.strSz = val
		}
	}
	return d
}

// pointer makes a link address of a pointer in the dynamic section. In memory, glibc adds
// the load bias to some of them in place (ADJUST_DYN_INFO in elf/get-dynamic-info.h).
func (im *image) pointer(v uint64) Vaddr {
	if _, ok := im.fromVaddr(Vaddr(v)); !ok && im.chunks != nil {
		return Vaddr(v - im.bias)
	}
	return Vaddr(v)
}

// sysvHash returns the bytes of a DT_HASH table and the number of symbols, nchain.
// Its words have 4 bytes, 8 on 64-bit s390.
func (im *image) sysvHash(v Vaddr) (table []byte, symbols uint64, ok bool) {
	b, ok := im.fromVaddr(v)
	w := uint64(4)
	if im.machine == emS390 && im.class == 8 {
		w = 8
	}
	if !ok || v == 0 || uint64(len(b)) < 2*w {
		return nil, 0, false
	}
	buckets, chain := im.sized(b, w), im.sized(b[w:], w)
	words := uint64(len(b)) / w
	if buckets > words || chain > words || 2+buckets+chain > words {
		return nil, 0, false
	}
	n := (2 + buckets + chain) * w
	return b[:n:n], chain, true
}

func (im *image) sized(b []byte, w uint64) uint64 {
	if w == 8 {
		return im.order.Uint64(b)
	}
	return uint64(im.order.Uint32(b))
}

// gnuHash returns the bytes of a DT_GNU_HASH table and the number of symbols: the highest
// one that a bucket names, and the chain from there to the entry with bit 0 set.
func (im *image) gnuHash(v Vaddr) (table []byte, symbols uint64, ok bool) {
	b, ok := im.fromVaddr(v)
	if !ok || v == 0 || len(b) < 16 {
		return nil, 0, false
	}
	u32 := func(off uint64) uint64 { return uint64(im.order.Uint32(b[off:])) }
	buckets, first, bloom := u32(0), u32(4), u32(8)
	size := uint64(len(b))
	bucketsAt := 16 + bloom*uint64(im.class)
	chainAt := bucketsAt + 4*buckets
	if chainAt > size {
		return nil, 0, false
	}
	last := uint64(0)
	left := im.budget.Purse() // a file with holes may be larger than any disk
	for i := range buckets {  // bounded by chainAt <= size
		if !left.Spend(1) {
			return nil, 0, false
		}
		last = max(last, u32(bucketsAt+4*i))
	}
	if last < first {
		return b[:chainAt:chainAt], first, true
	}
	for at := chainAt + 4*(last-first); at+4 <= size && left.Spend(1); at += 4 {
		last++
		if u32(at)&1 != 0 {
			return b[: at+4 : at+4], last, true
		}
	}
	return nil, 0, false
}
