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
	out.Tree = Tree{}
	to, inside := make([]NodeID, p.Tree.Len()), make([]bool, p.Tree.Len())
	for n := NodeID(1); int(n) < p.Tree.Len(); n++ {
		f, up := &p.Frames[p.Tree.Frame(n)], p.Tree.Parent(n)
		own := f.Kind.Language()
		inside[n] = own || inside[up]
		if inside[n] && !own && !f.Waits() {
			to[n] = to[up]
			continue
		}
		to[n] = out.Tree.Child(to[up], p.Tree.Frame(n))
	}
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
