package dwarf

// Kinds of range list entries, DWARF 5, 7.25.
const (
	rleEnd          = 0x00 // DW_RLE_end_of_list
	rleBaseAddressx = 0x01 // DW_RLE_base_addressx
	rleStartxEndx   = 0x02 // DW_RLE_startx_endx
	rleStartxLength = 0x03 // DW_RLE_startx_length
	rleOffsetPair   = 0x04 // DW_RLE_offset_pair
	rleBaseAddress  = 0x05 // DW_RLE_base_address
	rleStartEnd     = 0x06 // DW_RLE_start_end
	rleStartLength  = 0x07 // DW_RLE_start_length
)

// extent is the addresses of an entry as its attributes give them.
type extent struct{ low, high, ranges value }

// each calls f for every range of live code. It is false if a list could not be read to its end.
func (u *unit) each(x extent, f func(lo, hi uint64)) bool {
	live := func(lo, hi uint64) {
		if o := &u.object().o; lo < hi && lo >= o.Low && lo < o.High {
			f(lo, hi)
		}
	}
	if x.ranges.ok() {
		if u.version >= 5 {
			return u.rngList(x.ranges, live)
		}
		return u.rangeList(x.ranges, live)
	}
	lo, ok := u.addr(x.low)
	if !ok || !x.high.ok() {
		return true
	}
	hi, ok := u.addr(x.high)
	if !ok { // of class constant: how many bytes
		hi = lo + x.high.u
	}
	live(lo, hi)
	return true
}

// object is the Data with the addresses: of a split unit, that of its skeleton.
func (u *unit) object() *Data {
	if u.skeleton != nil {
		return u.skeleton.d
	}
	return u.d
}

// highest is the largest address, which marks a base in .debug_ranges.
func (u *unit) highest() uint64 { return ^uint64(0) >> (64 - 8*u.layout.addrSize) }

// rangeList reads a list of .debug_ranges. Source: DWARF 4, 2.17.3; a split unit counts from
// what its skeleton says, and the list lies in the skeleton's file.
func (u *unit) rangeList(v value, f func(lo, hi uint64)) bool {
	d := u.object()
	off := v.u
	if u.skeleton != nil {
		off += u.skeleton.root.gnuRangesBase
	}
	r := d.reader(secRanges, off)
	size := int(u.layout.addrSize)
	base, mark := u.low(), u.highest()
	for d.spend(2 * size) {
		lo, hi := r.uint(size), r.uint(size)
		switch {
		case r.bad:
			d.malformed(secRanges, v.u, "list ends beyond the section")
			return false
		case lo == 0 && hi == 0:
			return true
		case lo == mark:
			base = hi
		default:
			f((base+lo)&mark, (base+hi)&mark)
		}
	}
	return false
}

// rngList reads a list of .debug_rnglists. Source: DWARF 5, 2.17.3 and 7.28.
func (u *unit) rngList(v value, f func(lo, hi uint64)) bool {
	d := u.d
	off := u.part(secRngLists) + v.u
	if v.form == formRngListx {
		var ok bool
		if off, ok = u.rngListx(v.u); !ok {
			d.malformed(secRngLists, u.part(secRngLists), "list %d is missing", v.u)
			return false
		}
	}
	r := d.reader(secRngLists, off)
	mark := u.highest()
	base := u.low()
	for {
		from := r.off
		e := u.rngEntry(&r, base)
		if r.bad || !d.spend(r.off-from) {
			d.malformed(secRngLists, off, "list cannot be read")
			return false
		}
		switch {
		case e.end:
			return true
		case e.isBase:
			base = e.lo
		case base != mark || !e.relative: // a base of -1 marks dropped code
			f(e.lo&mark, e.hi&mark)
		}
	}
}

// rngEntry is one entry of a list. An address that cannot be had is the mark of dropped code.
type rngEntry struct {
	lo, hi                uint64
	end, isBase, relative bool
}

func (u *unit) rngEntry(r *reader, base uint64) rngEntry {
	size := int(u.layout.addrSize)
	index := func() uint64 {
		v, ok := u.addrIndex(r.uleb())
		if !ok {
			return u.highest()
		}
		return v
	}
	switch r.u8() {
	case rleEnd:
		return rngEntry{end: true}
	case rleBaseAddressx:
		return rngEntry{isBase: true, lo: index()}
	case rleStartxEndx:
		return rngEntry{lo: index(), hi: index()}
	case rleStartxLength:
		lo := index()
		return rngEntry{lo: lo, hi: lo + r.uleb()}
	case rleOffsetPair:
		lo := base + r.uleb()
		return rngEntry{lo: lo, hi: base + r.uleb(), relative: true}
	case rleBaseAddress:
		return rngEntry{isBase: true, lo: r.uint(size)}
	case rleStartEnd:
		lo := r.uint(size)
		return rngEntry{lo: lo, hi: r.uint(size)}
	case rleStartLength:
		lo := r.uint(size)
		return rngEntry{lo: lo, hi: lo + r.uleb()}
	}
	r.fail()
	return rngEntry{}
}

// rngListx returns the offset of list i. A split unit does not give the base: its lists begin
// behind the section's header. DWARF 5, 7.28.
func (u *unit) rngListx(i uint64) (uint64, bool) {
	offSize := uint64(u.layout.offSize)
	base := u.root.rngListsBase.u
	if !u.root.rngListsBase.ok() {
		base = 12
		if offSize == 8 {
			base = 20
		}
	}
	base += u.part(secRngLists)
	if i > 1<<40 || base > 1<<62 {
		return 0, false
	}
	r := u.d.reader(secRngLists, base+i*offSize)
	off := r.uint(int(offSize))
	return base + off, !r.bad && off < 1<<62
}
