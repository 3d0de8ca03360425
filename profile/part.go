package profile

// Parter makes parts of a profile by its tasks. What one part takes depends on that part alone, however many there are.
// It is for one goroutine at a time, while nobody changes the profile.
type Parter struct {
	p       *Profile
	samples []int // indexes of the profile's, those of each task together
	first   []int // of each task in samples, and where the last one's end
	modules map[string]int
	stacks  []NodeID // in the part that is being made, by those of the profile; 0: none yet
	made    []NodeID // which of those are not 0
}

// NewParter returns one for p.
//
// Precondition: p passes [Profile.CheckValid].
func NewParter(p *Profile) *Parter {
	x := &Parter{p: p, samples: p.ByTask(), first: make([]int, len(p.Tasks)+1), modules: map[string]int{},
		stacks: make([]NodeID, p.Tree.Len())}
	for i := range p.Modules {
		if _, known := x.modules[p.Modules[i].Path]; !known {
			x.modules[p.Modules[i].Path] = i
		}
	}
	at := 0
	for at < len(x.samples) && p.Samples[x.samples[at]].Task < 0 {
		at++ // of no task
	}
	for task := range p.Tasks {
		x.first[task] = at
		for at < len(x.samples) && p.Samples[x.samples[at]].Task == task {
			at++
		}
	}
	x.first[len(p.Tasks)] = at
	return x
}

// Part is what the profile has of some of its tasks, each of which is shown as what as returns: their samples with
// their stacks, frames and modules. Tasks that become equal are one. The module with the path main is the first if it
// is there. Runs are left out. It shares nothing with the profile that anybody changes.
//
// Precondition: tasks are indexes of Profile.Tasks.
func (x *Parter) Part(tasks []int, as func(Task) Task, main string) *Profile {
	m := NewMerger(x.p.Types...)
	if i, ok := x.modules[main]; ok {
		m.modules.add(x.p.Modules[i])
	}
	frames := map[FrameID]FrameID{}
	for _, task := range tasks {
		shown := m.b.Task(as(x.p.Tasks[task]))
		for _, i := range x.samples[x.first[task]:x.first[task+1]] {
			m.b.Add(x.stack(m, frames, x.p.Samples[i].Stack), shown, x.p.Value(i)...)
		}
	}
	for _, n := range x.made {
		x.stacks[n] = 0
	}
	x.made = x.made[:0]
	out := m.Profile()
	out.Default, out.Period, out.PeriodType = x.p.Default, x.p.Period, x.p.PeriodType
	out.Start, out.Duration = x.p.Start, x.p.Duration
	return out
}

// stack is the stack n in the part that m makes.
func (x *Parter) stack(m *Merger, frames map[FrameID]FrameID, n NodeID) NodeID {
	from := len(x.made)
	for at := n; at != 0 && x.stacks[at] == 0; at = x.p.Tree.Parent(at) {
		x.made = append(x.made, at)
	}
	for i := len(x.made) - 1; i >= from; i-- { // callers first
		at := x.made[i]
		of := x.p.Tree.Frame(at)
		f, known := frames[of]
		if !known {
			f = m.frame(x.p, of)
			frames[of] = f
		}
		x.stacks[at] = m.b.Child(x.stacks[x.p.Tree.Parent(at)], f)
	}
	return x.stacks[n]
}
