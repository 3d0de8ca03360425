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
	b := NewBuilder(unionOfTypes(ps)...)
	m := merger{b: b, modules: moduleSet{b.Profile(), map[moduleKey]int{}}}
	for _, p := range ps {
		m.add(p)
	}
	out, first := m.b.Profile(), ps[0]
	out.Default = slices.Index(out.Types, first.Types[first.Default])
	out.Period, out.PeriodType, out.Command = first.Period, first.PeriodType, slices.Clone(first.Command)
	for _, p := range ps[1:] {
		if p.Period != out.Period || p.PeriodType != out.PeriodType {
			out.Period = 0
		}
	}
	out.Start, out.Duration = span(ps)
	if slices.ContainsFunc(ps, func(p *Profile) bool { return p.Runs == nil || p.Start.IsZero() }) {
		m.runs = nil
	}
	out.Runs = inOrder(m.runs, out.Start)
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

type merger struct {
	b       *Builder
	modules moduleSet
	runs    []datedRun
}

func (m *merger) add(p *Profile) {
	out := m.b.Profile()
	stacks := out.Tree.Graft(&p.Tree, m.frames(p))
	tasks := make([]int, len(p.Tasks))
	for i, t := range p.Tasks {
		tasks[i] = m.b.Task(t)
	}
	column := make([]int, len(p.Types))
	for k, t := range p.Types {
		column[k] = slices.Index(out.Types, t)
	}
	values := make([]int64, len(out.Types))
	for i, s := range p.Samples {
		clear(values)
		for k, v := range p.Value(i) {
			values[column[k]] += v
		}
		m.b.Add(stacks[s.Stack], mapTask(tasks, s.Task), values...)
	}
	for _, r := range p.Runs {
		r.Task, r.Stack = mapTask(tasks, r.Task), stacks[r.Stack]
		m.runs = append(m.runs, datedRun{r, p.Start.Add(r.At)})
	}
	for _, c := range p.Comments {
		if !slices.Contains(out.Comments, c) {
			out.Comments = append(out.Comments, c)
		}
	}
}

func mapTask(tasks []int, i int) int {
	if i < 0 {
		return -1
	}
	return tasks[i]
}

// frames gives the ids that p's frames have in the result.
func (m *merger) frames(p *Profile) []FrameID {
	modules := make([]int, len(p.Modules))
	moved := make([]uint64, len(p.Modules)) // what to add to an address
	for i, mod := range p.Modules {
		modules[i] = m.modules.add(mod)
		moved[i] = m.b.p.Modules[modules[i]].Base - mod.Base
	}
	ids := make([]FrameID, len(p.Frames))
	for f, frame := range p.Frames {
		if frame.Module >= 0 {
			if frame.Addr != 0 {
				frame.Addr += moved[frame.Module]
			}
			frame.Module = modules[frame.Module]
		}
		ids[f] = m.b.Frame(frame)
	}
	return ids
}
