package profile

// Language says that k is a function of a language whose runtime executes it, where it is known which: no native code,
// and no code of which only that a runtime made it is known.
func (k Kind) Language() bool { return k.Made() && k != JIT }

// FoldNative returns p with native frames below a function of a language added to that function: what native code does
// for it is its own time then. What waits keeps its frame. Sums stay the same. p is not changed; the result shares its
// frames, modules and tasks.
//
// Precondition: p is valid.
func (p *Profile) FoldNative() *Profile {
	out := *p
	var to []NodeID
	out.Tree, to = p.NativeFolded()
	at := map[Sample]int{}
	out.Samples, out.Values = nil, nil
	for i, s := range p.Samples {
		s.Stack = to[s.Stack]
		k, ok := at[s]
		if !ok {
			k = len(out.Samples)
			at[s], out.Samples = k, append(out.Samples, s)
			out.Values = append(out.Values, make([]int64, len(p.Types))...)
		}
		for t, v := range p.Value(i) {
			out.Values[k*len(p.Types)+t] += v
		}
	}
	out.Runs = make([]Run, len(p.Runs))
	for i, r := range p.Runs {
		r.Stack = to[r.Stack]
		out.Runs[i] = r
	}
	return &out
}

// NativeFolded returns the tree of [Profile.FoldNative], and for each node of p's the one that it is in there.
//
// Precondition: p is valid.
func (p *Profile) NativeFolded() (tree Tree, to []NodeID) {
	to, inside := make([]NodeID, p.Tree.Len()), p.inLanguage()
	for n := NodeID(1); int(n) < p.Tree.Len(); n++ {
		f, up := &p.Frames[p.Tree.Frame(n)], p.Tree.Parent(n)
		if inside[n] && !f.Kind.Language() && !f.Waits() {
			to[n] = to[up]
			continue
		}
		to[n] = tree.Child(to[up], p.Tree.Frame(n))
	}
	return tree, to
}

// inLanguage says of each node whether it or one that called it is a function of a language.
func (p *Profile) inLanguage() []bool {
	inside := make([]bool, p.Tree.Len())
	for n := NodeID(1); int(n) < len(inside); n++ {
		inside[n] = inside[p.Tree.Parent(n)] || p.Frames[p.Tree.Frame(n)].Kind.Language()
	}
	return inside
}

// MostlyLanguage reports whether more than half of what ran, by the value that p shows, is in functions of a language
// or was done for them. Waiting is not looked at.
//
// Precondition: p is valid.
func (p *Profile) MostlyLanguage() bool {
	inside := p.inLanguage()
	var within, ran float64
	for i, s := range p.Samples {
		if s.Stack != 0 && p.Frames[p.Tree.Frame(s.Stack)].Waits() {
			continue
		}
		v := float64(p.Value(i)[p.Default])
		ran += v
		if inside[s.Stack] {
			within += v
		}
	}
	return within > ran/2
}

// WithoutWaits returns p without the samples that wait. p is not changed; the result shares all but samples and values
// with it, and has no runs.
//
// Precondition: p is valid.
func (p *Profile) WithoutWaits() *Profile {
	out := *p
	out.Samples, out.Values, out.Runs = nil, nil, nil
	for i, s := range p.Samples {
		if s.Stack == 0 || !p.Frames[p.Tree.Frame(s.Stack)].Waits() {
			out.Samples, out.Values = append(out.Samples, s), append(out.Values, p.Value(i)...)
		}
	}
	return &out
}
