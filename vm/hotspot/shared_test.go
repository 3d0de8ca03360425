package hotspot

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// TestSharedReads: what was read to walk one thread is not read again for another one of the same stop, but for one
// that was stopped since.
func TestSharedReads(t *testing.T) {
	for _, prefix := range []string{"ring-", "chaos-"} {
		open(t, prefix, func(name string, p *process) {
			live := &failing{Reader: p.running}
			p.begin(live)
			walk := func(ended time.Time) int {
				th := p.Threads[0]
				th.Stopped = time.Millisecond
				th.Time = ended.Add(-th.Stopped)
				before := live.n
				p.walker.Walk(&th, p.Reader(&th, live), unwind.Options{})
				return live.n - before
			}
			stop := time.Now()
			walk(stop) // and learns what stays
			first, second, later := walk(time.Now()), walk(stop), walk(time.Now().Add(time.Hour))
			if second*4 > first && second > 3 || later < first {
				t.Errorf("%s: %d reads, of the same stop %d, of a later one %d", name, first, second, later)
			}
		})
	}
}

// TestSteps: a stack that was seen before takes few steps of a run's budget for each of its frames, as a recording
// takes many: what was copied of the stack is not charged as reads of the process.
func TestSteps(t *testing.T) {
	const most = 1_500 // a frame; each read of the process is some 500
	open(t, "ring-", func(name string, p *process) {
		p.budget = work.New(work.Steps, work.Memory)
		r := p.begin(p.running)
		p.stacks(r, p.running, same)
		before, _ := p.budget.Left()
		frames := int64(0)
		for _, s := range p.stacks(r, p.running, same) {
			frames += int64(len(s.Frames))
		}
		after, _ := p.budget.Left()
		if frames == 0 || (before-after)/frames > most {
			t.Errorf("%s: %d steps for %d frames", name, before-after, frames)
		}
		t.Logf("%s: %d steps for %d frames", name, before-after, frames)
	})
}

// TestRosterStays: the list of threads is not made again while they are the same, and is when one is another's.
func TestRosterStays(t *testing.T) {
	open(t, "dead-", func(name string, p *process) {
		r := p.begin(p.running)
		r.ThreadFacts(p.Snapshot)
		first := r.roster.Load()
		maps.DeleteFunc(first.byID, func(id int, _ listedThread) bool { // some of the process were not recorded
			return !slices.ContainsFunc(p.Threads, func(th snapshot.Thread) bool { return th.InnerTID() == id })
		})
		if r.ThreadFacts(p.Snapshot); r.roster.Load() != first {
			t.Errorf("%s: the list of %d threads was made again", name, len(first.byID))
		}
		other := *first
		other.all = other.all[1:]
		r.roster.Store(&other)
		if r.ThreadFacts(p.Snapshot); len(r.roster.Load().all) != len(first.all) {
			t.Errorf("%s: a thread that came is not listed", name)
		}
	})
}
