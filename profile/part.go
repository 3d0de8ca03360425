package profile

import "slices"

// Part is what p has of the tasks that keep chooses: their samples with their stacks, frames and modules. The module
// with the path main is the first if it is there. Runs are left out; samples without a task are of no part. It shares
// nothing with p that anybody changes.
//
// Precondition: p passes [Profile.CheckValid].
func (p *Profile) Part(keep func(Task) bool, main string) *Profile {
	chosen := make([]bool, len(p.Tasks))
	for i, t := range p.Tasks {
		chosen[i] = keep(t)
	}
	of := *p
	of.Samples, of.Values, of.Runs, of.Tasks = nil, nil, nil, nil
	at := make([]int, len(p.Tasks)) // in of.Tasks
	for i, t := range p.Tasks {
		if chosen[i] {
			at[i] = len(of.Tasks)
			of.Tasks = append(of.Tasks, t)
		}
	}
	for i, s := range p.Samples {
		if s.Task >= 0 && chosen[s.Task] {
			of.Samples = append(of.Samples, Sample{s.Stack, at[s.Task]})
			of.Values = append(of.Values, p.Value(i)...)
		}
	}
	m := NewMerger(p.Types...)
	if i := slices.IndexFunc(p.Modules, func(m Module) bool { return m.Path == main }); i >= 0 {
		m.modules.add(p.Modules[i])
	}
	m.Add(&of)
	out := m.Profile()
	out.Default, out.Period, out.PeriodType = p.Default, p.Period, p.PeriodType
	out.Start, out.Duration = p.Start, p.Duration
	return out
}
