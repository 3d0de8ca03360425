package dwarf

import (
	"fmt"
	"slices"
)

// split returns the unit with the rest of a skeleton, nil if u is none or the file is not at hand.
func (u *unit) split() *unit {
	if u.splitTried || !u.root.dwoName.ok() || u.d.split {
		return u.splitUnit
	}
	u.splitTried = true
	sk := Skeleton{Name: u.str(u.root.dwoName), CompDir: u.str(u.root.compDir), ID: u.id}
	if u.d.o.Split == nil {
		u.d.problem(fmt.Errorf("functions of split units are in .dwo files, which are not read: %q and others",
			sk.Name))
		return nil
	}
	d, err := u.d.o.Split(sk)
	if err != nil || d == nil {
		u.d.problem(err)
		return nil
	}
	if !slices.Contains(u.d.splits, d) {
		u.d.splits = append(u.d.splits, d)
		d.begin()
	}
	s := d.splitWith(sk.ID)
	if s == nil || s.version >= 5 != (u.version >= 5) || s.skeleton != nil && s.skeleton != u {
		d.malformed(secInfo, 0, "no unit %#016x of %q, or of another version", sk.ID, sk.Name)
		return nil
	}
	s.skeleton = u
	if s.open() {
		u.splitUnit = s
	}
	return u.splitUnit
}

// splitWith returns the compilation unit with an id.
func (d *Data) splitWith(id uint64) *unit {
	if ix := d.packages(0); ix != nil {
		return d.packed(ix, id)
	}
	for _, off := range d.scan() {
		if !d.spend(32) {
			break
		}
		u := unit{d: d, at: place{off: off}} // not kept: there may be very many
		if u.readHeader() && !u.isType() && (u.version >= 5 || u.readRoot()) && u.id == id {
			return d.unit(u.at)
		}
	}
	return nil
}

// packageIndex is .debug_cu_index or .debug_tu_index of a .dwp. Source: DWARF 5, 7.3.5;
// for version 2 gcc.gnu.org/wiki/DebugFissionDWP.
type packageIndex struct {
	id      sectionID // of the index itself
	columns []sectionID
	units   uint64
	slots   uint64
	hash    uint64 // offset of the hash table
}

// packages returns the index of compilation (0) or type units (1), nil if d is no .dwp.
func (d *Data) packages(which int) *packageIndex {
	if !d.opened && d.split {
		d.opened = true
		d.index[0] = d.readIndex(secCUIndex)
		d.index[1] = d.readIndex(secTUIndex)
	}
	return d.index[which]
}

func (d *Data) readIndex(id sectionID) *packageIndex {
	b := d.data(id)
	if len(b) == 0 {
		return nil
	}
	r := d.reader(id, 0)
	version := r.uint(4)
	if v := r; d.o.Big { // 2 bytes in version 5, and padding
		v.off = 0
		if version = v.uint(2); version != 5 {
			version = v.uint(2)
		}
	} else if version&0xffff == 5 {
		version = 5
	}
	columns, units, slots := r.uint(4), r.uint(4), r.uint(4)
	size := uint64(len(b))
	if units == 0 && slots == 0 && !r.bad { // dwp writes one although there are no types
		return nil
	}
	if r.bad || version != 2 && version != 5 || columns > 16 || slots == 0 || slots&(slots-1) != 0 ||
		16+slots*12+(1+2*units)*columns*4 > size {
		d.malformed(id, 0, "index of version %d with %d columns, %d units and %d slots", version, columns, units, slots)
		return nil
	}
	ix := &packageIndex{id: id, units: units, slots: slots, hash: 16}
	r.skip(slots * 12)
	for range columns {
		ix.columns = append(ix.columns, columnSection(r.uint(4), version))
	}
	return ix
}

// columnSection says which section a column is about, -1 if it is none of ours.
func columnSection(n, version uint64) sectionID {
	switch {
	case n == 1: // DW_SECT_INFO
		return secInfo
	case n == 2 && version == 2: // DW_SECT_TYPES
		return secTypes
	case n == 3: // DW_SECT_ABBREV
		return secAbbrev
	case n == 4: // DW_SECT_LINE
		return secLine
	case n == 6: // DW_SECT_STR_OFFSETS
		return secStrOffsets
	case n == 8 && version == 5: // DW_SECT_RNGLISTS
		return secRngLists
	}
	return -1
}

// packed returns the unit with a signature by an index.
func (d *Data) packed(ix *packageIndex, sig uint64) *unit {
	mask := ix.slots - 1
	at, by := sig&mask, (sig>>32)&mask|1
	for n := uint64(0); n < ix.slots && d.spend(8); n++ {
		r := d.reader(ix.id, ix.hash+8*at)
		key := r.uint(8)
		r.seek(ix.hash + 8*ix.slots + 4*at)
		row := r.uint(4)
		if row == 0 {
			return nil
		}
		if key == sig {
			return d.packedRow(ix, row)
		}
		at = (at + by) & mask
	}
	return nil
}

func (d *Data) packedRow(ix *packageIndex, row uint64) *unit {
	if row > ix.units {
		d.malformed(ix.id, 0, "row %d of %d", row, ix.units)
		return nil
	}
	var p parts
	at := place{}
	found := false
	r := d.reader(ix.id, ix.hash+12*ix.slots+4*uint64(len(ix.columns))*row)
	for _, sec := range ix.columns {
		off := r.uint(4)
		if sec < 0 {
			continue
		}
		p[sec] = off
		if sec == secInfo || sec == secTypes && ix.id == secTUIndex {
			at, found = place{types: sec == secTypes, off: off}, true
		}
	}
	if !found || r.bad {
		return nil
	}
	u := d.unit(at)
	if u != nil && u.parts == nil {
		u.parts = &p
	}
	return u
}
