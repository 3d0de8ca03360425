package profile

// Graft adds the stacks of src to t, each frame under the id that frames gives it, and returns the place of each
// node of src.
func (t *Tree) Graft(src *Tree, frames []FrameID) []NodeID {
	at := make([]NodeID, src.Len())
	add := t.Child
	if t.Len() == 1 && distinct(frames) { // no two stacks can become one
		t.Grow(src.Len())
		add = t.Push
	}
	for n := 1; n < len(src.parent); n++ {
		at[n] = add(at[src.parent[n]], frames[src.frame[n]])
	}
	return at
}

// distinct says whether no id is in ids twice.
func distinct(ids []FrameID) bool {
	seen := make(map[FrameID]bool, len(ids))
	for _, id := range ids {
		seen[id] = true
	}
	return len(seen) == len(ids)
}

// TaskGraft adds stacks of one tree to another, those of each task below a root of its own.
type TaskGraft struct {
	to, from *Tree
	frames   []FrameID
	root     func(task int) NodeID
	known    []NodeID
	owner    []int // by node of from: the task + 2 that known is for
	path     []NodeID
}

// NewTaskGraft returns one that adds stacks of from to to. root gives the node of to below which the stacks of a task
// are, -1 for samples of no task; frames is as for [Tree.Graft].
func NewTaskGraft(to, from *Tree, frames []FrameID, root func(task int) NodeID) *TaskGraft {
	return &TaskGraft{to: to, from: from, frames: frames, root: root,
		known: make([]NodeID, from.Len()), owner: make([]int, from.Len())}
}

// Place returns the place of stack n of a task. It is fast where the stacks of one task follow each other.
func (g *TaskGraft) Place(n NodeID, task int) NodeID {
	g.path = g.path[:0]
	for n != 0 && g.owner[n] != task+2 {
		g.path = append(g.path, n)
		n = g.from.parent[n]
	}
	if n == 0 && g.owner[0] != task+2 {
		g.known[0], g.owner[0] = g.root(task), task+2
	}
	at := g.known[n]
	for i := len(g.path) - 1; i >= 0; i-- {
		n := g.path[i]
		at = g.to.Child(at, g.frames[g.from.frame[n]])
		g.known[n], g.owner[n] = at, task+2
	}
	return at
}
