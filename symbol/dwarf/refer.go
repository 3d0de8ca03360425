package dwarf

// entryAt is a debugging entry: its unit and its offset in the section.
type entryAt struct {
	u   *unit
	off uint64
}

// str returns a copy of a string attribute, "" if it cannot be read or the budget does not suffice.
func (u *unit) str(v value) string { return u.d.paid(u.text(v)) }

// paid returns s if the budget allows a copy of it, else "".
func (d *Data) paid(s string) string {
	if !d.spend(len(s)) {
		return ""
	}
	return s
}

func (u *unit) text(v value) string {
	d := u.d
	switch v.form {
	case formString:
		return cstring(d.data(u.section()), v.u)
	case formStrp:
		return cstring(d.data(secStr), v.u)
	case formLineStrp:
		return cstring(d.data(secLineStr), v.u)
	case formStrpSup, formGNUStrpAlt:
		if d.o.Alt == nil {
			return ""
		}
		return cstring(d.o.Alt.data(secStr), v.u)
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		base, ok := u.strOffsets()
		if !ok || v.u > 1<<40 {
			return ""
		}
		r := d.reader(secStrOffsets, base+v.u*uint64(u.layout.offSize))
		off := r.uint(int(u.layout.offSize))
		if r.bad {
			return ""
		}
		return cstring(d.data(secStr), off)
	}
	return ""
}

// strOffsets is where the unit's string offsets begin. A split unit does not say so: its own
// begin behind the section's header, which version 4 does not have. DWARF 5, 7.26 and 3.1.3.
func (u *unit) strOffsets() (uint64, bool) {
	if b := u.root.strOffsetsBase; b.ok() {
		return u.part(secStrOffsets) + b.u, b.u < 1<<62
	}
	if u.version < 5 {
		return u.part(secStrOffsets), true
	}
	return u.part(secStrOffsets) + 2*uint64(u.layout.offSize), true
}

// addr returns an address attribute. Indexes count in the section of the object that holds
// the code, not in that of the split unit.
func (u *unit) addr(v value) (uint64, bool) {
	switch v.form {
	case formAddr:
		return v.u, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return u.addrIndex(v.u)
	}
	return 0, false
}

func (u *unit) addrIndex(i uint64) (uint64, bool) {
	if u.skeleton != nil {
		return u.skeleton.addrIndex(i)
	}
	base := u.root.addrBase
	if !base.ok() {
		if u.version < 5 {
			return 0, false
		}
		base.u = 8 // behind the section's header, DWARF 5, 7.27
	}
	if i > 1<<40 || base.u > 1<<62 {
		return 0, false
	}
	r := u.d.reader(secAddr, base.u+i*uint64(u.layout.addrSize))
	v := r.uint(int(u.layout.addrSize))
	return v, !r.bad
}

// ref returns the entry that an attribute refers to.
func (u *unit) ref(v value) (entryAt, bool) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUData:
		off := u.at.off + v.u
		return entryAt{u, off}, off >= u.first && off < u.end
	case formRefAddr:
		return inSection(u.d, v.u)
	case formGNURefAlt, formRefSup4, formRefSup8:
		if u.d.o.Alt == nil {
			return entryAt{}, false
		}
		return inSection(u.d.o.Alt, v.u)
	case formRefSig8:
		t := u.d.typeUnit(v.u)
		if t == nil || t.typeOff < t.first-t.at.off || t.typeOff >= t.end-t.at.off {
			return entryAt{}, false
		}
		return entryAt{t, t.at.off + t.typeOff}, true
	}
	return entryAt{}, false
}

func inSection(d *Data, off uint64) (entryAt, bool) {
	t := d.unitAround(off)
	return entryAt{t, off}, t != nil
}
