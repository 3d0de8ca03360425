package profile

import "slices"

// Builder makes a Profile piece by piece, keeping each frame, task and pair of stack and
// task once. It is for one goroutine at a time.
type Builder struct {
	p       *Profile
	frames  map[Frame]FrameID
	tasks   map[Task]int
	samples map[Sample]int // index in p.Samples
}

// NewBuilder returns a Builder for a profile with those values.
func NewBuilder(types ...ValueType) *Builder {
	return &Builder{p: &Profile{Types: slices.Clone(types)}, frames: map[Frame]FrameID{}, tasks: map[Task]int{},
		samples: map[Sample]int{}}
}

// Profile returns what was built so far. It stays the Builder's until no method of that is
// called any more. The caller fills the fields that describe the profile as a whole.
func (b *Builder) Profile() *Profile { return b.p }

// Frame returns the id of f. Its fields that a Profile does not use are cleared.
func (b *Builder) Frame(f Frame) FrameID {
	f.Index, f.Interrupted, f.Column, f.Origin, f.Note, f.Unsure, f.Gap = 0, false, 0, "", "", false, false
	id, ok := b.frames[f]
	if !ok {
		id = FrameID(len(b.p.Frames))
		b.p.Frames = append(b.p.Frames, f)
		b.frames[f] = id
	}
	return id
}

// Task returns the index of t.
func (b *Builder) Task(t Task) int {
	i, ok := b.tasks[t]
	if !ok {
		i = len(b.p.Tasks)
		b.p.Tasks = append(b.p.Tasks, t)
		b.tasks[t] = i
	}
	return i
}

// Child returns the stack in which f was called from parent.
func (b *Builder) Child(parent NodeID, f FrameID) NodeID { return b.p.Tree.Child(parent, f) }

// Add adds values, one for each type, to those of stack in task (-1 for none).
func (b *Builder) Add(stack NodeID, task int, values ...int64) {
	key := Sample{stack, task}
	i, ok := b.samples[key]
	if !ok {
		i = len(b.p.Samples)
		b.p.Samples = append(b.p.Samples, key)
		b.p.Values = append(b.p.Values, make([]int64, len(b.p.Types))...)
		b.samples[key] = i
	}
	for k, v := range values[:len(b.p.Types)] {
		b.p.Values[i*len(b.p.Types)+k] += v
	}
}
