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
	merger *profile.Merger
	groups groups
	slots  []slot // oldest first
	begin  time.Duration
	now    time.Duration // end of the last take
	limit  int           // of nodes and of samples, see fills
}

func newStore(begin time.Duration, types []profile.ValueType, limit int) *store {
	return &store{merger: profile.NewMerger(types...), begin: begin, now: begin, limit: limit}
}

// profile is everything since the begin. It changes with the next add.
func (s *store) profile() *profile.Profile { return s.merger.Profile() }

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

// merge adds p.
func (s *store) merge(p *profile.Profile, from, to time.Duration) slot {
	in := s.merger.Add(p)
	sl := slot{from: from, to: to, samples: make([]profile.Sample, len(p.Samples)), values: slices.Clone(p.Values)}
	for i, sample := range p.Samples {
		sl.samples[i] = in.Sample(sample)
	}
	s.groups.extend(s.profile())
	return sl
}
