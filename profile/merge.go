package profile

import (
	"cmp"
	"errors"
	"slices"
	"time"
)

// Merge puts profiles together: values of the same type are added up, types that only some
// have are kept and are zero for the others. What describes a profile as a whole is taken
// from the first where it holds for one alone.
//
// A module that stands in several, with the same path, build id, offset and size, is one, and the
// addresses in it are turned into those of the first. Runs are kept if every profile has them
// and says when it began. The result shares nothing with ps that anybody changes.
//
// Precondition: each passes [Profile.CheckValid]. It fails if there is none.
func Merge(ps ...*Profile) (*Profile, error) {
	if len(ps) == 0 {
		return nil, errors.New("merge profiles: none given")
	}
	if err := checkSums(ps); err != nil {
		return nil, err
	}
	m := NewMerger(unionOfTypes(ps)...)
	var runs []datedRun
	for _, p := range ps {
		in := m.Add(p)
		for _, r := range p.Runs {
			runs = append(runs, datedRun{in.run(r), p.Start.Add(r.At)})
		}
	}
	out, first := m.Profile(), ps[0]
	out.Default = slices.Index(out.Types, first.Types[first.Default])
	out.Period, out.PeriodType, out.Command = first.Period, first.PeriodType, slices.Clone(first.Command)
	for _, p := range ps[1:] {
		if p.Period != out.Period || p.PeriodType != out.PeriodType {
			out.Period = 0
		}
	}
	out.Start, out.Duration = span(ps)
	if slices.ContainsFunc(ps, func(p *Profile) bool { return p.Runs == nil || p.Start.IsZero() }) {
		runs = nil
	}
	out.Runs = inOrder(runs, out.Start)
	out.Comments = unionOfComments(ps)
	return out, nil
}

// unionOfTypes keeps the order of the first, and puts behind it what others add.
func unionOfTypes(ps []*Profile) []ValueType {
	var types []ValueType
	for _, p := range ps {
		for _, t := range p.Types {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	return types
}

// span gives the first start and the time that at least one of ps was recording. Where a start
// is not known they count as one after the other.
func span(ps []*Profile) (start time.Time, length time.Duration) {
	var sum time.Duration
	sorted := slices.Clone(ps)
	slices.SortStableFunc(sorted, func(a, b *Profile) int { return a.Start.Compare(b.Start) })
	var end time.Time
	for _, p := range sorted {
		sum += p.Duration
		from, to := p.Start, p.Start.Add(p.Duration)
		if from.Before(end) {
			from = end
		}
		if to.After(from) {
			length += to.Sub(from)
			end = to
		}
	}
	if sorted[0].Start.IsZero() {
		return time.Time{}, sum
	}
	return sorted[0].Start, length
}

// datedRun is a Run that knows the time of day, as two profiles did not begin at once.
type datedRun struct {
	Run
	from time.Time
}

// inOrder sorts runs and counts their At from start. It gives nil if one task has two at the same
// time: then there is no order.
func inOrder(runs []datedRun, start time.Time) []Run {
	slices.SortStableFunc(runs, func(a, b datedRun) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), a.from.Compare(b.from))
	})
	var out []Run
	for i, r := range runs {
		if i > 0 && runs[i-1].Task == r.Task && r.from.Before(runs[i-1].from.Add(runs[i-1].For)) {
			return nil
		}
		r.At = r.from.Sub(start)
		out = append(out, r.Run)
	}
	return out
}

// moduleKey tells modules of different profiles apart.
type moduleKey struct {
	path, buildID string
	offset, size  uint64
}

// moduleSet keeps each module of several profiles once.
type moduleSet struct {
	p   *Profile
	ids map[moduleKey]int
}

// add returns the index of mod in the result.
func (s moduleSet) add(mod Module) int {
	key := moduleKey{mod.Path, mod.BuildID, mod.Offset, mod.End - mod.Start}
	i, ok := s.ids[key]
	if !ok {
		i = len(s.p.Modules)
		s.p.Modules = append(s.p.Modules, mod)
		s.ids[key] = i
	}
	return i
}

// Merger adds profiles to one, which grows. It is for one goroutine at a time.
type Merger struct {
	b       *Builder
	modules moduleSet
}

// NewMerger returns a Merger for a profile with those values.
func NewMerger(types ...ValueType) *Merger {
	b := NewBuilder(types...)
	return &Merger{b, moduleSet{b.Profile(), map[moduleKey]int{}}}
}

// Profile is what was added so far. The caller fills the fields that describe it as a whole, and
// changes nothing else. It changes with the next Add; ids in it stay.
func (m *Merger) Profile() *Profile { return m.b.Profile() }

// Added says where stacks and tasks of a profile are in the one that it was added to.
type Added struct {
	stacks []NodeID // 0 where neither a sample nor a run has the stack
	tasks  []int
}

// Sample returns s with the ids of the whole.
func (a *Added) Sample(s Sample) Sample {
	s.Stack = a.stacks[s.Stack]
	if s.Task >= 0 {
		s.Task = a.tasks[s.Task]
	}
	return s
}

func (a *Added) run(r Run) Run {
	s := a.Sample(Sample{r.Stack, r.Task})
	r.Stack, r.Task = s.Stack, s.Task
	return r
}

// Add adds the samples of p, the stacks that samples and runs refer to, and all tasks. Values of a type that
// the Merger has not are left out. p is not kept.
//
// Precondition: p passes [Profile.CheckValid].
func (m *Merger) Add(p *Profile) *Added {
	in := &Added{stacks: m.stacks(p), tasks: make([]int, len(p.Tasks))}
	for i, t := range p.Tasks {
		in.tasks[i] = m.b.Task(t)
	}
	types := m.Profile().Types
	column := make([]int, len(p.Types))
	for k, t := range p.Types {
		column[k] = slices.Index(types, t)
	}
	values := make([]int64, len(types))
	for i, s := range p.Samples {
		clear(values)
		for k, v := range p.Value(i) {
			if column[k] >= 0 {
				values[column[k]] += v
			}
		}
		s = in.Sample(s)
		m.b.Add(s.Stack, s.Task, values...)
	}
	return in
}

// stacks gives the node in the whole of each node of p that a sample or a run refers to, itself or by its
// callees. Callers have lower ids than callees, so one pass upward in ids is enough.
func (m *Merger) stacks(p *Profile) []NodeID {
	wanted := make([]bool, p.Tree.Len())
	want := func(n NodeID) {
		for ; n != 0 && !wanted[n]; n = p.Tree.Parent(n) {
			wanted[n] = true
		}
	}
	for _, s := range p.Samples {
		want(s.Stack)
	}
	for _, r := range p.Runs {
		want(r.Stack)
	}
	at := make([]NodeID, p.Tree.Len())
	frames, known := make([]FrameID, len(p.Frames)), make([]bool, len(p.Frames))
	for n := 1; n < len(at); n++ {
		if !wanted[n] {
			continue
		}
		f := p.Tree.frame[n]
		if !known[f] {
			frames[f], known[f] = m.frame(p, f), true
		}
		at[n] = m.b.Child(at[p.Tree.parent[n]], frames[f])
	}
	return at
}

// frame gives the id in the whole of p's frame f.
func (m *Merger) frame(p *Profile, f FrameID) FrameID {
	frame := p.Frames[f]
	if frame.Module >= 0 {
		mod := p.Modules[frame.Module]
		frame.Module = m.modules.add(mod)
		if frame.Addr != 0 {
			frame.Addr += m.Profile().Modules[frame.Module].Base - mod.Base
		}
	}
	return m.b.Frame(frame)
}

// unionOfComments keeps each once.
func unionOfComments(ps []*Profile) []string {
	var all []string
	for _, p := range ps {
		for _, c := range p.Comments {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}

// graft adds the stacks of src to dst and gives each node of src its place there. frames
// are the ids of src's frames in the profile of dst.
func graft(dst, src *Tree, frames []FrameID) []NodeID {
	at := make([]NodeID, src.Len())
	for n := 1; n < len(src.parent); n++ {
		at[n] = dst.Child(at[src.parent[n]], frames[src.frame[n]])
	}
	return at
}
