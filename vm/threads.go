package vm

import (
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
)

// ThreadDescriber is a runtime that knows more of its threads than their stacks show.
type ThreadDescriber interface {
	// ThreadFacts says what is known of the threads of s, by their ids. It may read the image; the threads run again.
	ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread
}

// ThreadFacts is what the runtimes of the process know of the threads of s, by their ids. Of several that know a thread
// it is what the first says, and the facts of the others.
func (p *Process) ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread {
	out := map[int]profile.RuntimeThread{}
	for _, r := range p.all {
		d, ok := r.(ThreadDescriber)
		if !ok {
			continue
		}
		p.keep(module.Guard(r.String(), func() error {
			for tid, f := range d.ThreadFacts(s) {
				if had, known := out[tid]; known {
					had.Facts = slices.Concat(had.Facts, f.Facts)
					f = had
				}
				out[tid] = f
			}
			return nil
		}))
	}
	return out
}
