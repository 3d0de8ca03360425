package sampler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// Take returns everything since the last Take, or since Run began, with names. It may be called
// while Run goes on, which it does not hold up, and afterwards.
//
// The profile is valid by CheckValid, has the values samples, wall and cpu, and belongs to the
// caller. Its Command is not filled in.
func (r *Recorder) Take() (*profile.Profile, error) {
	r.naming.Lock()
	defer r.naming.Unlock()
	t := &taking{done: make(chan struct{})}
	r.drive(func() { r.beginTaking(t, nil) })
	return r.finishTaking(t)
}

// TakeAt waits until at, or until ctx ends, and returns what Take does, up to that very moment: of a sample that covers
// the time before and behind it each part is where it belongs, and what sleeps, or was not sampled since, has got until
// then what it was last seen in. So profiles that are taken one behind the other add up to the one that a single Take
// at the end would have given.
//
// at counts by the monotonic clock if it has a reading of that, see package time. One that has passed is now.
func (r *Recorder) TakeAt(ctx context.Context, at time.Time) (*profile.Profile, error) {
	left := time.Until(at)
	timer := time.NewTimer(left)
	defer timer.Stop()
	return r.takeAt(ctx, r.sys.Now()+left, timer.C)
}

// takeAt is TakeAt by the clock of the recording; passed has a value at that time.
func (r *Recorder) takeAt(ctx context.Context, at time.Duration, passed <-chan time.Time) (*profile.Profile, error) {
	r.naming.Lock()
	defer r.naming.Unlock()
	t := &taking{done: make(chan struct{})}
	c := &boundary{at: at, taken: func(at time.Duration) { r.beginTaking(t, &at) }}
	r.drive(func() {
		c.at = max(c.at, r.sys.Now()) // what was counted by now cannot be parted
		r.ticker.boundary = c
		r.plan.endAt(c.at)
	})
	select {
	case <-passed:
	case <-ctx.Done():
	case <-t.done: // a round was due behind it
	}
	r.drive(func() {
		if r.ticker.boundary != nil {
			c.at = min(c.at, r.sys.Now())
			r.ticker.close()
		}
	})
	return r.finishTaking(t)
}

// taking is one Take under way.
type taking struct {
	from, to time.Duration
	rate     float64
	e        *extract
	err      error // why e is not there
	once     sync.Once
	done     chan struct{} // closed when e or err is there
}

// fail ends a Take without an extract, unless it has one.
func (t *taking) fail(err error) { t.once.Do(func() { t.err = err; close(t.done) }) }

// take ends a Take with what f extracts; a fault of ours in it is one of the Take, and of the caller.
func (t *taking) take(f func() *extract) {
	defer t.fail(errFault)
	e := f()
	t.once.Do(func() { t.e = e; close(t.done) })
}

var (
	errFault = errors.New("take what was recorded: a fault of fpstack, please report it")
	errStuck = fmt.Errorf("take what was recorded: what walks the stacks has not moved on for %v", stuck)
)

// stuck is for how long what walks stacks may be busy with one of them before it is given up.
const stuck = 10 * time.Second

// beginTaking closes the accounts at a time, nil: as they are now. It runs where the ticker may be used.
func (r *Recorder) beginTaking(t *taking, at *time.Duration) {
	sent := false
	defer func() {
		if !sent { // a fault of ours, which whoever called this reports
			t.fail(errFault)
		}
	}()
	k := r.ticker
	r.mu.Lock()
	t.from, t.to = max(r.naming.taken, r.begun), r.begun+r.stats.Elapsed
	final := !r.running
	r.mu.Unlock()
	switch {
	case final:
	case at != nil:
		t.to = *at
	default:
		t.to = r.sys.Now()
	}
	for _, p := range k.follow.processes {
		for _, th := range p.threads {
			if at != nil && !final && th.watch != nil {
				k.closeAt(p, th, t.to)
			} else {
				k.flush(th)
			}
		}
		if !final {
			k.reportUnseen(p, p.balance.surely())
		}
	}
	t.rate = r.opt.Rate
	k.send(sample{kind: marked, mark: func() { t.take(func() *extract { return r.counter.extract(final) }) }})
	sent = true
}

// finishTaking names what was taken.
func (r *Recorder) finishTaking(t *taking) (*profile.Profile, error) {
	since, seen := time.Now(), r.moves.Load()
	for counted := false; !counted; {
		select {
		case <-t.done:
			counted = true
		case <-time.After(handEvery): // the counter may not have taken the mark
			r.drive(func() { r.ticker.out.handOver(r.ticker.turn.now) })
			if now := r.moves.Load(); now != seen {
				since, seen = time.Now(), now
			} else if time.Since(since) > r.stuck {
				return nil, errStuck
			}
		}
	}
	if t.err != nil {
		return nil, t.err
	}
	for who, problem := range t.e.problems {
		r.note("runtime "+who, "%s: %s", who, strings.ReplaceAll(problem.Error(), "\n", "; "))
	}
	samples := t.e.marked()
	r.unsure.Add(samples[markUnsure])
	r.missing.Add(samples[markMissing])
	p, err := r.naming.name(t.e, t.from)
	if err != nil {
		r.note("names", "names are missing: %v", err)
	}
	r.mu.Lock()
	if r.over && r.stats.Elapsed > 0 {
		r.stats.Overhead = float64(r.sys.OwnCPU()-r.cpu) / float64(r.stats.Elapsed)
	}
	r.mu.Unlock()
	r.naming.taken = t.to
	p.Start = time.Now().Add(t.from - r.sys.Now())
	p.Duration = t.to - t.from
	if t.rate > 0 {
		p.Period = time.Duration(float64(time.Second) / t.rate)
	}
	p.PeriodType, p.Default = profile.WallTime, 1
	if r.opt.Mode == CPU {
		p.PeriodType, p.Default = profile.CPUTime, 2
	}
	return p, p.CheckValid()
}

// namer turns extracts into profiles and keeps the names it has found.
type namer struct {
	sync.Mutex
	taken      time.Duration // until when was taken
	names      *resolve.Names
	budget     *work.Budget
	native     bool // frames of a runtime's own are shown
	generation int
	sites      map[profile.FrameID][]profile.Frame // Module is a place, -1 for none
	unnamed    map[profile.FrameID]bool            // of sites, those that their runtime may name later
	modules    map[int32]profile.Module
}

func newNamer(opt *Options) namer {
	names := opt.Names
	names.Forgets = true
	return namer{names: resolve.New(nil, names), budget: opt.Names.Budget, native: names.Native,
		sites:   map[profile.FrameID][]profile.Frame{},
		unnamed: map[profile.FrameID]bool{}, modules: map[int32]profile.Module{}}
}

// draft is a profile that is being made of an extract.
type draft struct {
	*profile.Builder
	n       *namer
	e       *extract
	module  map[int32]int // place -> index in Modules
	logical []profile.NodeID
	frames  map[profile.FrameID][]profile.FrameID // of a site
}

// name makes the profile of e. An error says which names may be missing.
func (n *namer) name(e *extract, from time.Duration) (*profile.Profile, error) {
	n.renumber(e)
	n.lookUp(e)
	d := &draft{profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime), n, e,
		map[int32]int{}, make([]profile.NodeID, e.tree.Len()), map[profile.FrameID][]profile.FrameID{}}
	if e.main >= 0 {
		d.place(e.main)
	}
	d.stacks()
	for i := range e.entries {
		s := &e.entries[i]
		d.Add(d.logical[s.stack], d.Task(e.tasks[s.task]), s.samples, int64(s.wall), int64(s.cpu))
	}
	d.order(from)
	d.Profile().Tree.Trim()
	return d.Profile(), n.names.Err()
}

// stacks makes the tree of logical frames.
func (d *draft) stacks() {
	tree, most := &d.Profile().Tree, 0
	own := true // each site has an outermost logical frame that no other has
	site := map[profile.FrameID]profile.FrameID{}
	for n := range d.e.stacks {
		at := d.e.tree.Frame(n)
		frames := d.site(at)
		most += len(frames)
		if own && len(frames) > 0 {
			outer := frames[len(frames)-1]
			if other, ok := site[outer]; !ok {
				site[outer] = at
			} else {
				own = other == at
			}
		}
		own = own && len(frames) > 0
	}
	tree.Grow(most)
	child := tree.Child
	if own { // then no two stacks become one, and none need be looked for
		child = tree.Push
	}
	for n := range d.e.stacks {
		at := d.logical[d.e.tree.Parent(n)]
		frames := d.site(d.e.tree.Frame(n))
		for j := len(frames) - 1; j >= 0; j-- { // a function calls what was inlined into it
			at = child(at, frames[j])
		}
		d.logical[n] = at
	}
}

// order brings the runs into the profile.
func (d *draft) order(from time.Duration) {
	p := d.Profile()
	last := map[int]int{} // task -> its last run
	for _, r := range d.e.runs {
		task, stack := d.Task(d.e.tasks[r.task]), d.logical[r.stack]
		if i, ok := last[task]; ok && p.Runs[i].Stack == stack && p.Runs[i].At+p.Runs[i].For == r.at-from {
			p.Runs[i].For += r.end - r.at
			continue
		}
		last[task] = len(p.Runs)
		p.Runs = append(p.Runs, profile.Run{Task: task, Stack: stack, At: r.at - from, For: r.end - r.at})
	}
}

// site returns the logical frames of a site, innermost first.
func (d *draft) site(id profile.FrameID) []profile.FrameID {
	frames, ok := d.frames[id]
	if !ok {
		for _, f := range d.n.sites[id] {
			if f.Module >= 0 {
				f.Module = d.place(int32(f.Module))
			}
			frames = append(frames, d.Frame(f))
		}
		d.frames[id] = frames
	}
	return frames
}

// place returns the index in Modules of a place.
func (d *draft) place(at int32) int {
	i, ok := d.module[at]
	if !ok {
		p := d.Profile()
		i = len(p.Modules)
		p.Modules = append(p.Modules, d.n.module(at, &d.e.places[at]))
		d.module[at] = i
	}
	return i
}

func (n *namer) module(at int32, p *place) profile.Module {
	m, ok := n.modules[at]
	if !ok {
		m = n.names.Module(p.m)
		m.Start, m.End, m.Offset = uint64(p.start), uint64(p.end), uint64(p.offset)
		n.modules[at] = m
	}
	return m
}

// lookUp names the sites of e that have no names yet, each module's in one go.
func (n *namer) lookUp(e *extract) {
	var ids []profile.FrameID
	var unnamed []unwind.Frame
	for stack := range e.stacks {
		frame := e.tree.Frame(stack)
		s := &e.sites[frame]
		stale := e.made[s.made].names != nil && (e.renamed || n.unnamed[frame])
		if _, ok := n.sites[frame]; ok && !stale {
			continue
		}
		delete(n.unnamed, frame)
		switch s.kind {
		case callSite:
			n.sites[frame] = []profile.Frame{{Kind: profile.Kernel, Func: e.words[s.addr], Module: -1}}
		case wordSite:
			n.sites[frame] = []profile.Frame{{Kind: profile.Unknown, Func: e.words[s.addr], Module: -1}}
		case codeSite:
			if s.stub && !n.native {
				n.sites[frame] = []profile.Frame{} // its time is that of the functions around it
				continue
			}
			n.unnamed[frame] = s.made != 0 && e.made[s.made].names == nil
			if names := e.named(s, n.native); names != nil {
				n.sites[frame] = names
				continue
			}
			ids, unnamed = append(ids, frame), append(unnamed, s.physical(e))
		}
	}
	n.budget.Earn(earned)
	for i, frames := range n.names.Frames(unnamed) {
		for j := range frames {
			frames[j].Module = int(max(-1, e.sites[ids[i]].module))
		}
		n.sites[ids[i]] = frames
	}
	n.names.Forget()
}

// named is the logical frames of a site as a runtime named them, or the mapping of made code that nobody names; nil for
// native code. What is the runtime's own is part of the functions around it.
func (e *extract) named(s *site, native bool) []profile.Frame {
	made := &e.made[s.made]
	frames := slices.DeleteFunc(slices.Clone(made.names), func(f profile.Frame) bool { return f.Stub && !native })
	if made.names == nil && made.where != nil {
		frames = []profile.Frame{*made.where}
	}
	place := int(max(-1, s.module))
	if place >= 0 && e.places[place].m.Made() { // its name says nothing
		place = -1
	}
	for i := range frames {
		frames[i].Module = place
	}
	if n := len(frames); n > 0 {
		frames[n-1].Addr, frames[n-1].Interrupted = uint64(s.physical(e).PC), s.interrupted
	}
	return frames
}

// earned is the steps that each Take gives back to the budget of the run: a tenth of a second. A table that
// is drawn for days asks for new places all the time.
const earned = 100 << 20

// physical is a site as the walk found it, in the process that its module was first met in.
func (s *site) physical(e *extract) unwind.Frame {
	f := unwind.Frame{PC: mem.Addr(s.addr), Interrupted: s.interrupted, Signal: s.signal}
	if s.module >= 0 {
		f.Module = e.places[s.module].m
		f.PC = f.Module.Addr(module.Vaddr(s.addr))
	}
	return f
}
