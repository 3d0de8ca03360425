package dwarf

import "sort"

// unit is one unit of .debug_info or .debug_types.
type unit struct {
	d          *Data
	at         place
	end        uint64 // offset behind it
	first      uint64 // offset of its root entry
	version    uint16
	kind       uint8 // DW_UT_; made up before version 5
	layout     layout
	abbrevOff  uint64
	id         uint64 // of a skeleton, a split unit or a type unit
	typeOff    uint64 // of a type unit, from at.off
	table      *abbrevs
	root       root
	rooted     bool
	parts      *parts // in a .dwp: what of each section belongs to the unit
	skeleton   *unit  // of a split unit: where its addresses are
	splitUnit  *unit  // of a skeleton, when opened
	splitTried bool
	lines      *lineTable // when read
}

// parts is where in each section of a .dwp the share of a unit begins.
type parts [sectionCount]uint64

// root is what the first entry of a unit says.
type root struct {
	tag            uint16
	name, compDir  value
	dwoName        value
	stmtList       value
	low, high      value
	ranges         value
	language       uint64
	strOffsetsBase value
	addrBase       value
	rngListsBase   value
	gnuRangesBase  uint64
	gnuDwoID       value
}

// section is where the unit lies.
func (u *unit) section() sectionID {
	if u.at.types {
		return secTypes
	}
	return secInfo
}

func (u *unit) isType() bool { return u.kind == utType || u.kind == utSplitType }

// data is the section up to the end of the unit.
func (u *unit) data() []byte { return u.d.data(u.section())[:u.end] }

// reader is at an offset of the section, which is in the unit, and ends with the unit.
func (u *unit) reader(off uint64) reader { return readerAt(u.data(), off, u.d.o.Big) }

// unit returns the unit that begins at p, nil if none can be read there.
func (d *Data) unit(p place) *unit {
	if u, ok := d.units[p]; ok {
		return u
	}
	u := &unit{d: d, at: p}
	if !u.readHeader() {
		u = nil
	}
	d.units[p] = u
	return u
}

// readHeader reads the unit's header. Source: DWARF 5, 7.5.1; DWARF 4, 7.5.1.
func (u *unit) readHeader() bool {
	id := u.section()
	r := u.d.reader(id, u.at.off)
	in, offSize := r.sub()
	if r.bad {
		u.d.malformed(id, u.at.off, "unit ends beyond the section")
		return false
	}
	u.end = uint64(r.off)
	u.version = uint16(in.uint(2))
	if u.version < 2 || u.version > 5 {
		u.d.malformed(id, u.at.off, "version %d is not known", u.version)
		return false
	}
	u.layout.offSize = uint8(offSize)
	u.kind = utCompile
	if u.at.types {
		u.kind = utType
	}
	if u.version >= 5 {
		u.kind = in.u8()
		u.layout.addrSize = in.u8()
		u.abbrevOff = in.uint(offSize)
	} else {
		u.abbrevOff = in.uint(offSize)
		u.layout.addrSize = in.u8()
	}
	switch {
	case u.kind == utType || u.kind == utSplitType:
		u.id, u.typeOff = in.uint(8), in.uint(offSize)
	case u.kind == utSkeleton || u.kind == utSplitCompile:
		u.id = in.uint(8)
	}
	u.first = uint64(in.off)
	if a := u.layout.addrSize; in.bad || a != 1 && a != 2 && a != 4 && a != 8 {
		u.d.malformed(id, u.at.off, "header of the unit is cut or has addresses of %d bytes", a)
		return false
	}
	u.layout.refAddr = u.layout.offSize
	if u.version == 2 {
		u.layout.refAddr = u.layout.addrSize
	}
	return true
}

// open reads the root entry and the whole table of abbreviations.
func (u *unit) open() bool {
	if u.table == nil && u.readRoot() {
		u.table = u.d.abbrevsAt(u.part(secAbbrev)+u.abbrevOff, u.layout)
	}
	return u.table != nil
}

// part is where the unit's share of a section begins, 0 but in a .dwp.
func (u *unit) part(id sectionID) uint64 {
	if u.parts == nil {
		return 0
	}
	return u.parts[id]
}

// readRoot reads the root entry, with nothing but its own abbreviation.
func (u *unit) readRoot() bool {
	if u.rooted {
		return u.root.tag != 0
	}
	u.rooted = true
	r := u.reader(u.first)
	code := r.uleb()
	var a *abbrev
	if u.table != nil {
		a = u.table.get(code)
	} else {
		a = u.d.abbrevAt(u.part(secAbbrev)+u.abbrevOff, code, u.layout)
	}
	if a == nil || r.bad {
		u.rooted = u.d.left > 0 // else the next call may read it
		u.d.malformed(u.section(), u.first, "abbreviation %d of the root entry is missing", code)
		return false
	}
	for _, at := range a.attrs {
		v := u.layout.read(&r, at.form, at.implicit)
		if r.bad {
			u.d.malformed(u.section(), u.first, "attribute %#x of form %#x of the root entry cannot be read", at.name,
				at.form)
			return false
		}
		u.root.set(at.name, v)
	}
	u.root.tag = a.tag
	if u.root.gnuDwoID.ok() {
		u.id = u.root.gnuDwoID.u
	}
	return a.tag != 0
}

func (t *root) set(name uint16, v value) {
	switch name {
	case atName:
		t.name = v
	case atCompDir:
		t.compDir = v
	case atDwoName, atGNUDwoName:
		t.dwoName = v
	case atStmtList:
		t.stmtList = v
	case atLowPC:
		t.low = v
	case atHighPC:
		t.high = v
	case atRanges:
		t.ranges = v
	case atLanguage:
		t.language = v.u
	case atStrOffsetsBase:
		t.strOffsetsBase = v
	case atAddrBase, atGNUAddrBase:
		t.addrBase = v
	case atRngListsBase:
		t.rngListsBase = v
	case atGNURangesBase:
		t.gnuRangesBase = v.u
	case atGNUDwoID:
		t.gnuDwoID = v
	}
}

// low is the address that the unit's range lists count from.
func (u *unit) low() uint64 {
	if u.skeleton != nil {
		return u.skeleton.low()
	}
	v, _ := u.addr(u.root.low)
	return v
}

// scan finds the beginning of every unit in .debug_info by their lengths.
func (d *Data) scan() []uint64 {
	if d.scanned {
		return d.starts
	}
	d.starts = d.starts[:0]
	r := d.reader(secInfo, 0)
	for r.more() && len(d.starts) < maxUnits && d.spend(16) && d.hold(8) {
		start := r.off
		r.sub()
		if r.bad || r.off == start {
			d.malformed(secInfo, uint64(start), "unit ends beyond the section")
			break
		}
		d.starts = append(d.starts, uint64(start))
	}
	d.scanned = d.left > 0 // else the next call may go on
	return d.starts
}

// unitAround returns the unit that holds an offset of .debug_info, nil if there is none.
func (d *Data) unitAround(off uint64) *unit {
	starts := d.scan()
	i := sort.Search(len(starts), func(i int) bool { return starts[i] > off })
	if i == 0 {
		return nil
	}
	u := d.unit(place{off: starts[i-1]})
	if u == nil || off < u.first || off >= u.end {
		return nil
	}
	return u
}

// typeUnit returns the type unit with a signature, nil if there is none.
func (d *Data) typeUnit(sig uint64) *unit {
	if ix := d.packages(1); ix != nil {
		return d.packed(ix, sig)
	}
	if d.sigs == nil {
		d.sigs = map[uint64]place{}
		for _, off := range d.scan() {
			d.addSignature(place{off: off})
		}
		r := d.reader(secTypes, 0)
		for n := 0; r.more() && n < maxUnits; n++ {
			off := uint64(r.off)
			if r.sub(); r.bad || uint64(r.off) == off {
				break
			}
			d.addSignature(place{types: true, off: off})
		}
	}
	at, ok := d.sigs[sig]
	if d.left == 0 { // the next call may find more
		d.sigs = nil
	}
	if !ok {
		return nil
	}
	return d.unit(at)
}

func (d *Data) addSignature(p place) {
	if !d.spend(32) || !d.hold(signatureSize) {
		return
	}
	u := unit{d: d, at: p} // not kept: there may be very many
	if u.readHeader() && u.isType() {
		if _, ok := d.sigs[u.id]; !ok {
			d.sigs[u.id] = p
		}
	}
}
