package top

import (
	"fmt"
	"slices"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// maxStacks bounds a store: a node of the tree takes about 50 bytes in all, a sample about
// 100, a frame of its own 500.
const maxStacks = 1 << 21

// slot is what one take brought, in the ids of the store.
type slot struct {
	from, to time.Duration // since the begin
	samples  []profile.Sample
	values   []int64 // one for each type for each sample
}

// store keeps what was taken since the begin, each stack once, and beside it the takes of
// the last window. It only grows; what refers to its ids stays right until it is given up.
type store struct {
	builder *profile.Builder
	modules map[moduleKey]int
	groups  groups
	slots   []slot // oldest first
	begin   time.Duration
	now     time.Duration // end of the last take
	limit   int           // of nodes and of samples, see fills
}

// moduleKey is what makes two modules of different takes the same.
type moduleKey struct {
	path, buildID string
	base          uint64
}

func newStore(begin time.Duration, types []profile.ValueType, limit int) *store {
	return &store{builder: profile.NewBuilder(types...), modules: map[moduleKey]int{}, begin: begin, now: begin, limit: limit}
}

// profile is everything since the begin. It changes with the next add.
func (s *store) profile() *profile.Profile { return s.builder.Profile() }

// add merges what was taken from the end of the take before until at, and forgets the
// slots that have left the window. It fails if p has other values than the takes before.
// Precondition: p is valid.
func (s *store) add(p *profile.Profile, at, window time.Duration) error {
	if !slices.Equal(p.Types, s.profile().Types) {
		return fmt.Errorf("merge profile: values %v, before %v", p.Types, s.profile().Types)
	}
	s.profile().Default = p.Default
	s.slots = append(s.slots, s.merge(p, s.now, at))
	s.now = at
	for len(s.slots) > 0 && s.slots[0].to <= at-window {
		s.slots = s.slots[1:]
	}
	return nil
}

// compact returns a store that knows the slots of s alone, for when s has grown too large.
func (s *store) compact() *store {
	old := s.profile()
	fresh := newStore(s.now, old.Types, s.limit)
	fresh.profile().Default = old.Default
	for _, sl := range s.slots {
		view := &profile.Profile{Types: old.Types, Modules: old.Modules, Frames: old.Frames, Tree: old.Tree,
			Tasks: old.Tasks, Samples: sl.samples, Values: sl.values}
		fresh.begin = min(fresh.begin, sl.from)
		fresh.slots = append(fresh.slots, fresh.merge(view, sl.from, sl.to))
	}
	return fresh
}

// fills tells whether s takes more than a part of what it may.
func (s *store) fills(part int) bool {
	p := s.profile()
	return max(p.Tree.Len(), len(p.Frames), len(p.Samples), 16*len(p.Tasks)) > s.limit/part
}

// merge adds the samples of p. Only the stacks that samples refer to are looked at.
func (s *store) merge(p *profile.Profile, from, to time.Duration) slot {
	nodes := s.mapNodes(p)
	tasks := make([]int, len(p.Tasks))
	for i, t := range p.Tasks {
		tasks[i] = s.builder.Task(t)
	}
	sl := slot{from: from, to: to, samples: make([]profile.Sample, len(p.Samples)), values: slices.Clone(p.Values)}
	for i, sample := range p.Samples {
		merged := profile.Sample{Stack: nodes[sample.Stack], Task: -1}
		if sample.Task >= 0 {
			merged.Task = tasks[sample.Task]
		}
		s.builder.Add(merged.Stack, merged.Task, p.Value(i)...)
		sl.samples[i] = merged
	}
	s.groups.extend(s.profile())
	return sl
}

// mapNodes gives the node of s for each node of p that a sample refers to, itself or by its
// callees. Callers have lower ids than callees, so one pass upward in ids is enough.
func (s *store) mapNodes(p *profile.Profile) []profile.NodeID {
	nodes := make([]profile.NodeID, p.Tree.Len())
	wanted := make([]bool, p.Tree.Len())
	for _, sample := range p.Samples {
		for n := sample.Stack; n != 0 && !wanted[n]; n = p.Tree.Parent(n) {
			wanted[n] = true
		}
	}
	frames := make([]profile.FrameID, len(p.Frames))
	known := make([]bool, len(p.Frames))
	for n := 1; n < len(nodes); n++ {
		if !wanted[n] {
			continue
		}
		id := profile.NodeID(n)
		f := p.Tree.Frame(id)
		if !known[f] {
			frames[f], known[f] = s.frame(p, f), true
		}
		nodes[n] = s.builder.Child(nodes[p.Tree.Parent(id)], frames[f])
	}
	return nodes
}

// frame gives the frame of s that is p's frame f.
func (s *store) frame(p *profile.Profile, f profile.FrameID) profile.FrameID {
	frame := p.Frames[f]
	if frame.Module >= 0 {
		m := &p.Modules[frame.Module]
		key := moduleKey{m.Path, m.BuildID, m.Base}
		i, ok := s.modules[key]
		if !ok {
			mine := s.profile()
			i = len(mine.Modules)
			mine.Modules = append(mine.Modules, *m)
			s.modules[key] = i
		}
		frame.Module = i
	}
	return s.builder.Frame(frame)
}
