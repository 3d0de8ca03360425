package dwarf

import "slices"

// scopeInfo is what a function or an inlined call says of itself.
type scopeInfo struct {
	name     *funcName
	callFile uint64
	callLine uint64
}

// funcName is the name of a function, shared by all places it was inlined at.
type funcName struct {
	linkage string
	name    string
	prefix  string
	full    string  // prefix and name, when asked for
	owner   entryAt // the entry that has the name, or its declaration in a class
	waiting bool    // for the prefix
}

// function is the attributes of an entry that lead to a name.
type function struct {
	tag                        uint16
	name, linkage              value
	origin, specification, sig value
	callFile, callLine         uint64
	children                   bool
}

// entry decodes the entry at e.
func (e entryAt) entry() (f function, ok bool) {
	u := e.u
	if !u.open() {
		return f, false
	}
	r := u.reader(e.off)
	a := u.table.get(r.uleb())
	if a == nil || r.bad {
		u.d.malformed(u.section(), e.off, "reference to what is no entry")
		return f, false
	}
	if !u.d.spend(len(a.attrs)) { // many of them may take no byte
		return f, false
	}
	f.tag, f.children = a.tag, a.children
	for _, at := range a.attrs {
		v := u.layout.read(&r, at.form, at.implicit)
		switch at.name {
		case atName:
			f.name = v
		case atLinkageName, atMIPSLinkageName:
			f.linkage = v
		case atAbstractOrigin:
			f.origin = v
		case atSpecification:
			f.specification = v
		case atSignature:
			f.sig = v
		case atCallFile:
			f.callFile = v.u
		case atCallLine:
			f.callLine = v.u
		}
	}
	return f, !r.bad && u.d.spend(r.off-int(e.off))
}

// namer collects names that still need what is around them.
type namer struct {
	known   map[entryAt]*funcName
	pending map[*unit][]*funcName
	units   []*unit // of pending, in the order they came
}

// nameAll finds the names of every scope that a search has found.
func nameAll(searches []*search) {
	n := &namer{known: map[entryAt]*funcName{}, pending: map[*unit][]*funcName{}}
	for _, s := range searches {
		for _, chain := range s.chains {
			for _, sc := range chain {
				if _, ok := s.scopes[sc.entryAt]; ok {
					continue
				}
				f, ok := sc.entry()
				info := &scopeInfo{name: &funcName{}}
				if ok {
					info.callFile, info.callLine = f.callFile, f.callLine
					info.name = n.of(sc.entryAt, f, 0)
					n.wait(info.name)
				}
				s.scopes[sc.entryAt] = info
			}
		}
	}
	for _, u := range n.units {
		qualify(u, n.pending[u])
	}
}

// of returns the name of an entry, completed by the entries that it refers to, hops of which
// are behind us. A copy of a function may have a linkage name of its own.
func (n *namer) of(e entryAt, f function, hops int) *funcName {
	if known, ok := n.known[e]; ok {
		return known
	}
	out := &funcName{linkage: e.u.str(f.linkage), name: e.u.str(f.name)}
	n.known[e] = out
	if out.name != "" {
		out.owner = e
	}
	next := f.origin
	if !next.ok() {
		next = f.specification
	}
	if !next.ok() || hops == maxHops || out.linkage != "" && out.name != "" {
		return out
	}
	to, ok := e.u.ref(next)
	if !ok {
		e.u.missing(next)
		return out
	}
	if out.name != "" && f.specification.ok() {
		out.owner = to // the declaration is in the class, the definition outside of it
	}
	if f, ok := to.entry(); ok {
		out.complete(n.of(to, f, hops+1))
	}
	return out
}

// complete takes from known what n does not have.
func (n *funcName) complete(known *funcName) {
	if n.linkage == "" {
		n.linkage = known.linkage
	}
	if n.name == "" {
		n.name, n.owner = known.name, known.owner
	}
}

// wait puts a name on the list of those that need what is around them.
func (n *namer) wait(f *funcName) {
	u := f.owner.u
	if f.waiting || f.linkage != "" || f.name == "" || u == nil || plain[u.root.language] {
		return
	}
	f.waiting = true
	if _, ok := n.pending[u]; !ok {
		n.units = append(n.units, u)
	}
	n.pending[u] = append(n.pending[u], f)
}

// missing notes a reference that leads nowhere.
func (u *unit) missing(v value) {
	switch v.form {
	case formGNURefAlt, formRefSup4, formRefSup8:
		if u.d.o.Alt == nil {
			u.d.problem(errNoAlt)
			return
		}
	}
	u.d.malformed(u.section(), u.at.off, "reference %#x of form %#x leads nowhere", v.u, v.form)
}

// qualify finds the namespaces and classes around the owners of names, in one walk through
// their unit.
func qualify(u *unit, names []*funcName) {
	slices.SortFunc(names, func(a, b *funcName) int { return int(int64(a.owner.off) - int64(b.owner.off)) })
	w := &around{u: u}
	for _, f := range names {
		f.prefix = u.d.paid(w.of(f.owner.off))
	}
}

// around walks through the entries of a unit and knows what is around each.
type around struct {
	u      *unit
	off    uint64
	path   []uint64 // offsets of the entries around off
	prefix []string // of each in path, with those around it; as far as asked for
	done   bool
}

// of returns what is around the entry at target, as "ns::Class::". Targets must ascend.
func (w *around) of(target uint64) string {
	u := w.u
	b := u.data()
	if w.off == 0 {
		w.off = u.first
	}
	for !w.done && w.off < target {
		start := w.off
		r := u.reader(w.off)
		code := r.uleb()
		if code == 0 {
			if len(w.path) <= 1 {
				break
			}
			w.pop()
			w.off = uint64(r.off)
			continue
		}
		a := u.table.get(code)
		if a == nil {
			break
		}
		next, sibling, ok := u.layout.pass(a.steps, b, r.off, u.d.o.Big)
		if !ok || !u.d.spend(next-int(start)) {
			break
		}
		w.off = uint64(next)
		if !a.children {
			continue
		}
		if to := u.at.off + sibling; sibling < u.end-u.at.off && to > w.off && to <= target {
			w.off = to
			continue
		}
		if len(w.path) >= maxDepth {
			break
		}
		w.path = append(w.path, start)
	}
	if w.off != target {
		w.done = w.off < target
		return ""
	}
	return w.spell()
}

func (w *around) pop() {
	w.path = w.path[:len(w.path)-1]
	w.prefix = w.prefix[:min(len(w.prefix), len(w.path))]
}

// spell joins the names on the path.
func (w *around) spell() string {
	if len(w.path) > maxScopes {
		return ""
	}
	for i := len(w.prefix); i < len(w.path); i++ {
		s := ""
		if i > 0 {
			s = w.prefix[i-1]
		}
		if name := (entryAt{w.u, w.path[i]}).scopeName(); name != "" && len(s) < maxString {
			s = w.u.d.paid(s + name + "::")
		}
		w.prefix = append(w.prefix, s)
	}
	if len(w.path) == 0 {
		return ""
	}
	return w.prefix[len(w.path)-1]
}

// scopeName is the name of a namespace, class or function around others, "" if it adds none.
func (e entryAt) scopeName() string {
	for range maxHops {
		f, ok := e.entry()
		if !ok {
			return ""
		}
		switch f.tag {
		case tagClass, tagStructure, tagUnion, tagInterface, tagEnumeration, tagNamespace, tagModule, tagSubprogram:
		default:
			return ""
		}
		if name := e.u.str(f.name); name != "" {
			return name
		}
		next := f.sig // a type that is in a unit of its own
		for _, v := range []value{f.specification, f.origin} {
			if v.ok() {
				next = v
			}
		}
		if !next.ok() {
			if f.tag == tagNamespace {
				return "(anonymous namespace)"
			}
			return ""
		}
		to, ok := e.u.ref(next)
		if !ok {
			return ""
		}
		e = to
	}
	return ""
}

// String is the name with what is around it, one string for all who ask.
func (n *funcName) String() string {
	if n.full == "" {
		n.full = n.prefix + n.name
	}
	return n.full
}
