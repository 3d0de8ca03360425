package dwarf

// scope is a function or an inlined call around a wanted address. Only the innermost needs to
// say which addresses it holds: strict DWARF 2 has no words for code in several pieces.
type scope struct {
	entryAt
	inline bool
	start  uint64 // of the range that holds the address, if known
	known  bool   // start is
}

// search finds what holds the wanted addresses of one unit.
type search struct {
	u      *unit // where lines are
	want   []uint64
	number []int     // of each in the list of all
	chains [][]scope // for each address the function and the calls inlined there, outermost first
	rows   []row
	scopes map[entryAt]*scopeInfo
}

func newSearch(u *unit, all []uint64, wanted []int) *search {
	s := &search{u: u, number: wanted, want: make([]uint64, len(wanted)),
		chains: make([][]scope, len(wanted)), rows: make([]row, len(wanted)), scopes: map[entryAt]*scopeInfo{}}
	for i, at := range wanted {
		s.want[i] = all[at]
	}
	return s
}

func (s *search) run() {
	s.u.lineTable().find(s.want, s.rows)
	if split := s.u.split(); split != nil {
		s.walk(split)
	}
	s.walk(s.u) // a skeleton may hold the inlined calls of its unit (-fsplit-dwarf-inlining)
}

// walk goes through the entries of u for the addresses that have no function yet: first without
// what is inside of other functions and of types, then, for what this left out, through all.
// Functions inside of others are those of GNU C, Ada and Fortran, functions inside of types
// those of Rust.
func (s *search) walk(u *unit) {
	for _, thorough := range []bool{false, true} {
		part := &walker{s: s, u: u, thorough: thorough}
		for i, c := range s.chains {
			if c == nil {
				part.want = append(part.want, s.want[i])
				part.number = append(part.number, i)
			}
		}
		if len(part.want) > 0 {
			part.run()
		}
	}
}

// walker is one walk through the entries of a unit, in their order.
type walker struct {
	s        *search
	u        *unit
	want     []uint64
	number   []int // in s
	thorough bool
	path     []level // the entries around the current one
}

// level is an entry that others are inside of.
type level struct {
	off    uint64
	tag    uint16
	ranges []claim // of a function that holds a wanted address
}

func (w *walker) run() {
	u := w.u
	b := u.data()
	off := int(u.first)
	from := off
	defer func() { u.d.spend(off - from) }()
	for off < len(b) {
		start := off
		r := reader{b: b, off: off, big: u.d.o.Big}
		code := r.uleb()
		off = r.off
		if code == 0 {
			if len(w.path) <= 1 || r.bad {
				return
			}
			w.path = w.path[:len(w.path)-1]
			continue
		}
		a := u.table.get(code)
		if a == nil {
			u.d.malformed(u.section(), uint64(start), "abbreviation %d is missing", code)
			return
		}
		next, sibling, ok := u.layout.pass(a.steps, b, off, u.d.o.Big)
		if !ok {
			u.d.malformed(u.section(), uint64(start), "attributes of the entry cannot be read")
			return
		}
		at := level{off: uint64(start), tag: a.tag}
		closed := !encloses(a.tag)
		if a.tag == tagSubprogram || a.tag == tagInlined {
			closed = w.meet(a, &at, off)
		}
		off = next
		switch {
		case !a.children:
			if len(w.path) == 0 {
				return
			}
		case closed && !w.thorough && w.jumps(sibling, off):
			off = int(u.at.off + sibling)
		case len(w.path) >= maxDepth:
			u.d.malformed(u.section(), uint64(start), "entries are %d deep", maxDepth)
			return
		default:
			w.path = append(w.path, at)
		}
		if off-from > often {
			u.d.spend(off - from)
			from = off
		}
		if u.d.left == 0 {
			return
		}
	}
}

// jumps reports whether sibling, an offset in the unit, leads forward from off.
func (w *walker) jumps(sibling uint64, off int) bool {
	return sibling < w.u.end-w.u.at.off && w.u.at.off+sibling > uint64(off)
}

// encloses reports whether functions with code are commonly inside of an entry.
func encloses(tag uint16) bool {
	switch tag {
	case tagCompileUnit, tagSkeleton, tagPartialUnit, tagNamespace, tagModule, tagLexical, tagTry, tagCatch, tagWith:
		return true
	}
	return false
}

// meet notes a function or inlined call for the wanted addresses in its code. attrs is where its
// attributes begin. It returns whether none of them can be in the entries inside.
func (w *walker) meet(a *abbrev, at *level, attrs int) (closed bool) {
	if !a.coded {
		return a.tag == tagSubprogram // a declaration, or the abstract instance
	}
	if !w.u.d.spend(len(a.attrs)) { // many of them may take no byte
		return true
	}
	var x extent
	r := reader{b: w.u.data(), off: attrs, big: w.u.d.o.Big}
	for _, at := range a.attrs {
		v := w.u.layout.read(&r, at.form, at.implicit)
		switch at.name {
		case atLowPC:
			x.low = v
		case atHighPC:
			x.high = v
		case atRanges:
			x.ranges = v
		}
	}
	if r.bad {
		return true
	}
	closed = true
	w.u.each(x, func(lo, hi uint64) {
		i, j := span(w.want, lo, hi)
		if i == j || !w.u.d.spend(j-i+rangeCost) {
			return
		}
		closed = false
		at.ranges = append(at.ranges, claim{lo: lo, hi: hi})
		chain := w.chain(at)
		for ; i < j && chain != nil; i++ {
			w.s.chains[w.number[i]] = chain
		}
	})
	return closed
}

// chain returns the function that at belongs to and the calls inlined in it down to at. What
// comes later in the unit takes the place of what came before: it is further inside, or, where two
// calls beside each other claim an address, no worse.
func (w *walker) chain(at *level) []scope {
	from := len(w.path)
	for n := 0; at.tag != tagSubprogram; n++ {
		from--
		if from < 0 || n == maxInline {
			return nil // a call inlined into nothing
		}
		if w.path[from].tag == tagSubprogram {
			break
		}
	}
	lo := at.ranges[len(at.ranges)-1].lo
	var out []scope
	for i := from; i < len(w.path); i++ {
		if l := &w.path[i]; l.tag == tagSubprogram || l.tag == tagInlined {
			out = append(out, l.scope(w.u, lo))
		}
	}
	return append(out, at.scope(w.u, lo))
}

// scope is l as what is around the address v.
func (l *level) scope(u *unit, v uint64) scope {
	sc := scope{entryAt: entryAt{u, l.off}, inline: l.tag == tagInlined}
	n := len(l.ranges)
	for n > 0 && !sc.known {
		n--
		if r := l.ranges[n]; v >= r.lo && v < r.hi {
			sc.start, sc.known = r.lo, true
		}
	}
	u.d.spend(len(l.ranges) - n)
	return sc
}
