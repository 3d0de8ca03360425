package sampler

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// track is what the counting goroutine keeps of one thread in one program, but for wantStop and
// wantCopy.
type track struct {
	program  *program
	leftover *leftover
	task     int32
	tid      int
	// wantStop asks for one stop of the thread where it sleeps, because the walk without one
	// did not reach the root.
	wantStop atomic.Bool
	// wantCopy asks for another copy of the thread where it sleeps: what its runtimes need was not copied, as they were
	// not known yet, or not in time. copies counts the latter.
	wantCopy atomic.Bool
	copies   int

	stack   profile.NodeID // where it was at the last sample
	kernel  []string       // where in the kernel it waits: see sample
	running bool           // it did not sleep there
	without bool           // it does not count: it did not have the lock that was asked for
	onCPU   bool           // nor wait for a CPU
	ended   bool           // it was met at the end of a system call on another CPU,
	unsure  bool           // and makes many of them: see vague
	cpu     cpuShare
	vague   vague
	claim   claim

	stopped  bool           // it was stopped in its sleep once
	stopNode profile.NodeID // what that stop gave
	partial  int            // frames that the walk without a stop gave
	stopAt   time.Duration  // when a stop was requested last
}

// task is a thread as the profile shows it.
type task = profile.Task

// sample is what the ticker hands over about one thread. First what the stack seen before has got
// since then, then what was seen now.
type sample struct {
	track   *track
	samples int64
	at, end time.Duration // the wall time of those samples is [at, end)
	cpu     time.Duration // taken since the last sample
	ended   bool          // it was stopped at the end of a system call, on another CPU,
	vague   bool          // and is one that makes many, so that where it was is not sure
	covers  time.Duration // what the first sample of a thread that was just born covers
	kind    sampleKind
	copied  *tracer.Copy     // for stopped, peeked, again
	state   state            // of a stopped thread
	call    snapshot.Syscall // for peeked and again
	kernel  []string         // for peeked and unseen: where in the kernel it waits, innermost first; nil: not read
	mark    func()           // for marked: is called once all before it is counted
	name    profile.Task     // for named
	target  target           // for closed, if the process is followed no longer: to be closed
}

type sampleKind uint8

const (
	nothing sampleKind = iota // only what the stack before has got
	stopped                   // it ran and was stopped
	peeked                    // it sleeps and was copied without a stop
	again                     // it sleeps as at the last sample, and was stopped for a better stack
	unseen                    // it sleeps, and its stack was not to be had
	left                      // CPU time of ended threads that no sample saw
	named                     // it has another name now
	ended                     // it is followed no longer
	closed                    // its program is: no sample of that comes any more
	marked
)

// counter walks and counts. All its fields belong to the goroutine that calls count.
type counter struct {
	opt    *Options
	clock  func() time.Duration
	files  *module.Shared // files are open and parsed once for all processes
	book   *book
	ledger *ledger
	bounds *resolve.Names
	tasks  map[int32]task
	ended  []int32        // tasks that have, and may have entries
	folds  map[task]int32 // what represents several of them
	live   map[*track]struct{}
	// programs are those that are not closed.
	programs map[*program]struct{}
	swept    time.Duration // when sweep forgot something last
	// leftovers are those that have something.
	leftovers map[*leftover]struct{}
	hash      maphash.Hash
	walked    unwind.Stack
	free      chan<- *tracer.Copy
	first     *program // the main program is of this one
	main      int32    // its place, -1 unknown
	// doubtful are the sleepers to be stopped once more, from doubtDue on.
	doubtful map[*track]struct{}
	doubtDue time.Duration
	// generation counts how often ids of sites were given out from 0 again.
	generation int
	out        counts
	problems   map[string]error // of runtimes since the last extract, by who has them
}

// counts are the counter's part of Stats.
type counts struct {
	cut, inferred atomic.Uint64
	ended         atomic.Uint64
	late          atomic.Uint64
	short         atomic.Uint64
	shortfall     atomic.Pointer[snapshot.Shortfall] // the last
	folded        atomic.Uint64
	full          atomic.Bool
	dropped       atomic.Bool
}

// fellShort counts a sample of which Copiers did not get all.
func (o *counts) fellShort(all []snapshot.Shortfall) {
	if n := len(all); n > 0 {
		last := all[n-1] // all belongs to the Copy
		o.shortfall.Store(&last)
		o.short.Add(1)
	}
}

func newCounter(opt *Options, clock func() time.Duration, free chan<- *tracer.Copy) *counter {
	return &counter{opt: opt, clock: clock, files: module.NewShared(), book: newBook(),
		ledger: newLedger(opt.KeepOrder),
		bounds: resolve.New(nil, resolve.Options{Forgets: true}), tasks: map[int32]task{}, folds: map[task]int32{},
		live: map[*track]struct{}{}, programs: map[*program]struct{}{},
		leftovers: map[*leftover]struct{}{}, doubtful: map[*track]struct{}{}, free: free,
		main: -1}
}

// count takes one sample into account.
func (c *counter) count(l *sample) {
	c.resolveDoubts()
	t := l.track
	if l.kind == again { // the better stack of the time since
		c.restack(t, l)
		c.credit(t, l)
	} else {
		c.credit(t, l)
		if l.copied != nil || l.kind == unseen {
			c.restack(t, l)
		}
	}
	if l.copied != nil {
		c.out.fellShort(l.copied.Thread.Shortfalls)
		c.free <- l.copied
		l.copied = nil
	}
	switch l.kind {
	case named:
		c.rename(t, l.name)
	case ended:
		c.finish(t)
	case closed:
		t.program.close(c.opt.Stay)
		delete(c.programs, t.program)
		c.keepProblem(t)
		if l.target != nil {
			c.closeLeftover(t.leftover)
		}
		if l.target != nil {
			l.target.Close()
		}
	case marked:
		l.mark()
	}
}

// rename gives a thread its name. The first makes it known.
func (c *counter) rename(t *track, name task) {
	c.tasks[t.task] = name
	c.live[t] = struct{}{}
	c.programs[t.program] = struct{}{}
	if c.first == nil && t.program.main {
		c.first = t.program
	}
}

// credit gives the stack before what it has got, and the thread its CPU time.
func (c *counter) credit(t *track, l *sample) {
	switch {
	case t == nil:
		return
	case l.kind == left:
		c.inherit(t, l.cpu)
		return
	}
	t.claim.took += l.cpu
	if t.without {
		return
	}
	if l.end > l.at {
		if t.running && t.unsure {
			t.vague.add(vagueSample{t.stack, l.samples, l.end - l.at, t.ended})
		} else {
			e := c.ledger.entry(t.stack, t.task, t.running)
			e.samples += l.samples
			e.wall += l.end - l.at
			c.met(l.samples, t.running && t.ended)
		}
		c.ledger.keep(t.stack, t.task, l.at, l.end)
		if t.running {
			t.cpu.ran(t.stack, l.samples, l.end-l.at, t.onCPU && !t.unsure)
			if t.cpu.due() {
				c.spread(t)
			}
		}
	}
	t.cpu.pool += l.cpu
}

func (c *counter) spread(t *track) {
	c.spreadVague(t)
	t.cpu.spread(func(n profile.NodeID, d time.Duration) {
		if d > 0 {
			c.ledger.entry(n, t.task, true).cpu += d
		}
	})
}

// restack walks what was copied.
func (c *counter) restack(t *track, l *sample) {
	if c.opt.LockHolders {
		k, ok := t.program.runtimes.(lockKnower)
		t.without = !ok || l.kind == unseen || !k.HoldsLock(&l.copied.Thread)
	}
	switch l.kind {
	case stopped:
		t.program.walk(c, &c.walked, &l.copied.Thread, l.copied.Stale)
		if c.walked.Late { // of others the stack stays as it is
			c.out.late.Add(1)
		}
		t.running, t.onCPU = !l.copied.Blocked && l.state != slept, l.state == onCPU
		t.ended, t.unsure = l.ended, l.vague
		t.stack = c.stackOf(t)
		if l.covers > 0 {
			t.claim.stack, t.claim.covers = t.stack, l.covers
		}
		if l.copied.Blocked && l.copied.Thread.Syscall != nil {
			t.stack = c.waiting(t.program, t.stack, &l.copied.Thread, l.copied.Thread.Syscall)
		}
	case peeked, again:
		t.running = false
		t.stack = c.sleeping(t, l)
	case unseen:
		t.running = false
		t.stack = c.waiting(t.program, c.book.said(0, wordSite, wordUnseen), nil, &l.call)
	}
	if l.kind != again { // which is of the same sleep
		t.kernel = l.kernel
	}
	if !t.running {
		t.stack = c.inKernel(t.stack, t.kernel)
	}
	if c.book.full {
		c.out.full.Store(true)
	}
}

// stackOf enters what was walked.
func (c *counter) stackOf(t *track) profile.NodeID {
	if c.walked.Stop != unwind.Root {
		c.out.cut.Add(1)
	}
	return c.book.stack(&c.walked, t.program)
}

// waiting puts the system call that a thread of g sleeps in on top of its stack.
func (c *counter) waiting(g *program, stack profile.NodeID, t *snapshot.Thread, call *snapshot.Syscall) profile.NodeID {
	if t == nil || t.Arch == nil {
		return c.book.said(stack, callSite, resolve.Wait(nil, call))
	}
	known := *call
	known.Number = g.callNumber(c, t.Arch, call)
	return c.book.said(stack, callSite, resolve.Wait(t.Arch, &known))
}

// inKernel puts where in the kernel a thread waits on top of the system call.
func (c *counter) inKernel(stack profile.NodeID, kernel []string) profile.NodeID {
	for _, frame := range slices.Backward(kernel) {
		name, _, _ := strings.Cut(frame, "+0x")
		stack = c.book.said(stack, callSite, name)
	}
	return stack
}

// finish closes the account of a thread. What CPU time it could not be seen to take stays in
// the pool for the next Take.
func (c *counter) finish(t *track) {
	c.spread(t)
	if t.cpu.pool == 0 {
		delete(c.live, t)
	}
	c.claims(t)
	t.program = nil
	c.retire(t.task)
}
