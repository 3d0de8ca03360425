package dwarf

// abbrev is one entry of .debug_abbrev: the layout of debugging entries.
type abbrev struct {
	tag      uint16
	children bool
	coded    bool // may have addresses: DW_AT_low_pc or DW_AT_ranges
	attrs    []attr
	steps    []step
}

type attr struct {
	name, form uint16 // 0xffff stands for a number above
	implicit   int64  // of DW_FORM_implicit_const
}

// abbrevs is the table of one or more units.
type abbrevs struct {
	dense  []abbrev // code 1 on; compilers number so
	sparse map[uint64]*abbrev
}

// abbrevKey tells tables apart: how attributes are passed over depends on the unit too.
type abbrevKey struct {
	off uint64
	layout
}

func (t *abbrevs) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	return t.sparse[code]
}

// abbrevsAt returns the table at off of .debug_abbrev, what could be read of it; nil if the budget does not
// suffice for it.
func (d *Data) abbrevsAt(off uint64, l layout) *abbrevs {
	key := abbrevKey{off, l}
	if t, ok := d.abbrevs[key]; ok {
		return t
	}
	t := &abbrevs{}
	r := d.reader(secAbbrev, off)
	from := r.off
	var attrs []attr
	for {
		start := r.off
		code := r.uleb()
		if code == 0 {
			break
		}
		var a abbrev
		a, attrs = readAbbrev(&r, attrs, l)
		if !d.spend(r.off-start) || !d.hold(tableSize*(r.off-start)) {
			return nil // the next call may read it
		}
		if r.bad {
			break
		}
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, a)
		} else {
			if t.sparse == nil {
				t.sparse = map[uint64]*abbrev{}
			}
			t.sparse[code] = &a
		}
	}
	if r.bad {
		d.malformed(secAbbrev, off, "table ends beyond the section")
	}
	if !d.keep(secAbbrev, r.off-from) {
		return nil
	}
	d.abbrevs[key] = t
	return t
}

// abbrevAt returns the entry for one code alone.
func (d *Data) abbrevAt(off, want uint64, l layout) *abbrev {
	if t, ok := d.abbrevs[abbrevKey{off, l}]; ok {
		return t.get(want)
	}
	r := d.reader(secAbbrev, off)
	for {
		start := r.off
		code := r.uleb()
		if code == 0 || r.bad {
			return nil
		}
		if code == want {
			a, _ := readAbbrev(&r, nil, l)
			if !d.spend(r.off-start) || r.bad {
				return nil
			}
			return &a
		}
		r.uleb()
		r.u8()
		for range maxAttrs {
			name, form := r.uleb(), r.uleb()
			if form == formImplicitConst {
				r.sleb()
			}
			if name == 0 && form == 0 || r.bad {
				break
			}
		}
		if !d.spend(r.off - start) {
			return nil
		}
	}
}

// readAbbrev reads what is behind the code. Attributes go to the end of store.
func readAbbrev(r *reader, store []attr, l layout) (abbrev, []attr) {
	a := abbrev{tag: short(r.uleb()), children: r.u8() != 0}
	first := len(store)
	for !r.bad {
		at := attr{name: short(r.uleb()), form: short(r.uleb())}
		if at.form == formImplicitConst {
			at.implicit = r.sleb()
		}
		if at.name == 0 && at.form == 0 {
			break
		}
		if len(store)-first == maxAttrs {
			r.fail()
			break
		}
		store = append(store, at)
		a.coded = a.coded || at.name == atLowPC || at.name == atRanges
		a.steps = addStep(a.steps, at, l)
	}
	a.attrs = store[first:len(store):len(store)]
	return a, store
}

func short(v uint64) uint16 { return uint16(min(v, 0xffff)) }

// addStep appends the step for at, joined with the one before if both have a fixed size.
func addStep(steps []step, at attr, l layout) []step {
	s := l.stepOf(at.form)
	if at.name == atSibling {
		switch at.form {
		case formRef1, formRef2, formRef4, formRef8:
			s.op = stepSibling
		case formRefUData:
			s.op = stepUSib
		}
	}
	if n := len(steps); s.op == stepFixed && n > 0 && steps[n-1].op == stepFixed && steps[n-1].n < 1<<20 {
		steps[n-1].n += s.n
		return steps
	}
	return append(steps, s)
}
