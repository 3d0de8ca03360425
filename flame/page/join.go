package page

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// joiner makes one call tree of shown frames out of a profile.
type joiner struct {
	table   *table
	frames  []profile.FrameID // what the table calls each frame of the profile
	tree    profile.Tree
	lists   []list
	runs    []profile.Run
	left    int // runs of the side that has too many for a timeline
	order   []task
	tasks   map[task]int
	threads bool
	types   int
}

// add adds the samples of p, and where olds is not nil what an older side has in the same places as p.Values. A
// negative value, which comparing tools write, is one of the older side.
func (b *joiner) add(p *profile.Profile, olds []int64) {
	b.frames = b.table.addAll(p)
	tasks := make([]int, len(p.Tasks))
	for i, t := range p.Tasks {
		tasks[i] = b.task(task{t.PID, t.TID, b.table.cleaned.Clean(t.Process), b.table.cleaned.Clean(t.Thread)})
	}
	place := b.places(p, b.frames)
	samples := p.ByTask()
	for from := 0; from < len(samples); {
		to, at := from, p.Samples[samples[from]].Task
		for to < len(samples) && p.Samples[samples[to]].Task == at {
			to++
		}
		b.addList(p, p.Values, samples[from:to], place, list{task: taskOf(tasks, at)})
		if olds != nil {
			b.addList(p, olds, samples[from:to], place, list{task: taskOf(tasks, at), old: true})
		}
		from = to
	}
	b.addRuns(p, place, tasks)
	b.tree.Trim()
}

func taskOf(tasks []int, at int) int {
	if at < 0 {
		return -1
	}
	return tasks[at]
}

func (b *joiner) task(t task) int {
	i, ok := b.tasks[t]
	if !ok {
		i = len(b.order)
		b.order = append(b.order, t)
		b.tasks[t] = i
	}
	return i
}

// places returns a function that gives the node of a stack of p in one of the page's tasks.
func (b *joiner) places(p *profile.Profile, frames []profile.FrameID) func(profile.NodeID, int) profile.NodeID {
	if b.threads {
		return profile.NewTaskGraft(&b.tree, &p.Tree, frames, b.root).Place
	}
	at := b.tree.Graft(&p.Tree, frames)
	return func(n profile.NodeID, _ int) profile.NodeID { return at[n] }
}

// root is the node below which the stacks of a task are.
func (b *joiner) root(at int) profile.NodeID {
	if at < 0 {
		return 0
	}
	t, n := b.order[at], profile.NodeID(0)
	for _, name := range []string{numbered(t.Process, t.PID), numbered(t.Thread, t.TID)} {
		if name != "" {
			n = b.tree.Child(n, b.table.add(frame{name: name, special: true}, thread))
		}
	}
	return n
}

// addList fills l with what the samples, all of one task, hold in values, and adds it.
func (b *joiner) addList(p *profile.Profile, values []int64, samples []int,
	place func(profile.NodeID, int) profile.NodeID, l list) {
	l.nodes, l.values = make([]profile.NodeID, len(samples)), make([]int64, 0, len(samples)*b.types)
	negative := false
	for i, s := range samples {
		l.nodes[i] = place(p.Samples[s].Stack, l.task)
		for _, v := range values[s*b.types:][:b.types] {
			negative = negative || v < 0
			l.values = append(l.values, v)
		}
	}
	if negative {
		other := list{task: l.task, old: !l.old, nodes: slices.Clone(l.nodes), values: make([]int64, len(l.values))}
		for i, v := range l.values {
			l.values[i], other.values[i] = max(v, 0), max(-v, 0)
		}
		b.lists = append(b.lists, other)
	}
	b.lists = append(b.lists, l)
}

// maxRuns bounds what a page remembers of the order in time.
const maxRuns = 1_000_000

func (b *joiner) addRuns(p *profile.Profile, place func(profile.NodeID, int) profile.NodeID, tasks []int) {
	if len(p.Runs) > maxRuns {
		b.left = len(p.Runs)
		return
	}
	b.runs = slices.Clone(p.Runs)
	for i := range b.runs { // first, as two of p's tasks may look alike and be one
		b.runs[i].Task = taskOf(tasks, b.runs[i].Task)
	}
	slices.SortStableFunc(b.runs, func(a, c profile.Run) int {
		return cmp.Or(cmp.Compare(a.Task, c.Task), cmp.Compare(a.At, c.At))
	})
	for i, r := range b.runs {
		b.runs[i].Stack = place(r.Stack, r.Task)
	}
}
