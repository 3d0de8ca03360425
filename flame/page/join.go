package page

import (
	"cmp"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

// joiner makes one call tree of shown frames out of profiles.
type joiner struct {
	table   *table
	tree    tree
	lists   []list
	runs    []profile.Run
	order   []task
	tasks   map[task]int
	threads bool
	types   int

	merged profile.Tree // nodes of tree, where several stacks may become one
}

// add adds the samples of p, and where olds is not nil what an older side has in the same places as p.Values. A
// negative value, which comparing tools write, is one of the older side.
func (b *joiner) add(p *profile.Profile, olds []int64) {
	frames := b.table.addAll(p)
	tasks := make([]int, len(p.Tasks))
	for i, t := range p.Tasks {
		tasks[i] = b.task(task{t.PID, t.TID, b.table.cleaned.Clean(t.Process), b.table.cleaned.Clean(t.Thread)})
	}
	samples := make([]int32, len(p.Samples)) // by task, else as they stand
	for i := range samples {
		samples[i] = int32(i)
	}
	byTask := func(a, c int32) int { return cmp.Compare(p.Samples[a].Task, p.Samples[c].Task) }
	if !slices.IsSortedFunc(samples, byTask) {
		slices.SortStableFunc(samples, byTask)
	}
	place := b.places(p, frames)
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
	b.finish()
	b.addRuns(p, place, tasks)
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

// addList fills l with what the samples, all of one task, hold in values, and adds it.
func (b *joiner) addList(p *profile.Profile, values []int64, samples []int32, place func(profile.NodeID, int) uint32, l list) {
	l.nodes, l.values = make([]uint32, len(samples)), make([]int64, 0, len(samples)*b.types)
	negative := false
	for i, s := range samples {
		l.nodes[i] = place(p.Samples[s].Stack, l.task)
		for _, v := range values[int(s)*b.types:][:b.types] {
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

// places returns a function that gives the node of a stack of p in a task.
func (b *joiner) places(p *profile.Profile, frames []uint32) func(profile.NodeID, int) uint32 {
	if !b.threads && distinct(frames) {
		// No two stacks can become one: the tree is taken as it is.
		t := tree{make([]uint32, p.Tree.Len()), make([]uint32, p.Tree.Len())}
		for n := 1; n < len(t.frame); n++ {
			id := profile.NodeID(n)
			t.frame[n], t.parent[n] = frames[p.Tree.Frame(id)], uint32(p.Tree.Parent(id))
		}
		b.tree = t
		return func(n profile.NodeID, _ int) uint32 { return uint32(n) }
	}
	b.unpack()
	known, owner := make([]uint32, p.Tree.Len()), make([]int, p.Tree.Len()) // owner is the task + 2 that known holds for
	var path []profile.NodeID
	return func(n profile.NodeID, at int) uint32 {
		if !b.threads {
			at = -1
		}
		path = path[:0]
		for n != 0 && owner[n] != at+2 {
			path = append(path, n)
			n = p.Tree.Parent(n)
		}
		to := b.root(at)
		if n != 0 {
			to = profile.NodeID(known[n])
		}
		for _, n := range slices.Backward(path) {
			to = b.merged.Child(to, profile.FrameID(frames[p.Tree.Frame(n)]))
			known[n], owner[n] = uint32(to), at+2
		}
		return uint32(to)
	}
}

// unpack makes b.merged hold what b.tree does, under the same numbers.
func (b *joiner) unpack() {
	for n := b.merged.Len(); n < len(b.tree.frame); n++ {
		b.merged.Child(profile.NodeID(b.tree.parent[n]), profile.FrameID(b.tree.frame[n]))
	}
}

// finish takes the nodes of b.merged over into b.tree.
func (b *joiner) finish() {
	if len(b.tree.frame) == 0 {
		b.tree = tree{make([]uint32, 1), make([]uint32, 1)}
	}
	for n := len(b.tree.frame); n < b.merged.Len(); n++ {
		id := profile.NodeID(n)
		b.tree.frame = append(b.tree.frame, uint32(b.merged.Frame(id)))
		b.tree.parent = append(b.tree.parent, uint32(b.merged.Parent(id)))
	}
}

// root is the node below which the stacks of a task stand.
func (b *joiner) root(at int) profile.NodeID {
	if at < 0 {
		return 0
	}
	t, n := b.order[at], profile.NodeID(0)
	for _, name := range []string{numbered(t.Process, t.PID), numbered(t.Thread, t.TID)} {
		if name != "" {
			n = b.merged.Child(n, profile.FrameID(b.table.add(frame{name: name, special: true}, thread)))
		}
	}
	return n
}

// distinct says whether no id stands in ids twice.
func distinct(ids []uint32) bool {
	seen := map[uint32]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	return len(seen) == len(ids)
}

// maxRuns bounds what a page remembers of the order in time.
const maxRuns = 1_000_000

func (b *joiner) addRuns(p *profile.Profile, place func(profile.NodeID, int) uint32, tasks []int) {
	if len(p.Runs) > maxRuns {
		return
	}
	runs := slices.Clone(p.Runs)
	for i := range runs { // first, as two of p's tasks may look alike and be one
		runs[i].Task = taskOf(tasks, runs[i].Task)
	}
	slices.SortStableFunc(runs, func(a, c profile.Run) int {
		return cmp.Or(cmp.Compare(a.Task, c.Task), cmp.Compare(a.At, c.At))
	})
	for _, r := range runs {
		r.Stack = profile.NodeID(place(r.Stack, r.Task))
		b.runs = append(b.runs, r)
	}
	b.finish()
}
