package sampler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/tracer"
)

const (
	// copies is how many samples may wait to be walked. A Copy takes 64 KiB at first, and four times that at most:
	// 16 MiB all of them.
	copies = 64
	// queued is how many samples may wait to be counted, those without a copy too.
	queued = 1 << 12
	// stay is how far the next round may be to be waited for on the OS thread. To leave it wakes
	// three threads, which may take the CPU from the one that is recorded.
	stay = 25 * time.Millisecond
	// turn bounds the time spent on the OS thread in one go, longTurn what is added while threads are
	// interrupted that have not. To leave it wakes the runtime's watching thread, for a millisecond of CPU time.
	turn     = time.Second
	longTurn = 900 * time.Millisecond
)

// moveEvery is how often the OS thread goes to the CPU of the one thread that it samples as fast
// as it can: woken there it need not wake another CPU.
const moveEvery = 5 * time.Millisecond

// ErrNothing says that no process was given to be recorded.
var ErrNothing = errors.New("no process to record")

// Recorder records processes. Its methods may be called from any goroutine.
type Recorder struct {
	opt     Options
	sys     system
	samples batches
	counted chan struct{} // closed when the counter has ended
	moves   atomic.Int64  // samples that the counter has done
	stacks  atomic.Uint64 // of its ledger
	stuck   time.Duration // see stuck
	counter *counter
	draw    func() float64

	*requests
	ticker *ticker
	plan   schedule
	// begunWell says that the cost of the beginning was checked.
	begunWell bool
	naming    namer

	mu      sync.Mutex // guards what follows
	running bool
	over    bool // Run has ended
	closed  bool
	begun   time.Duration
	stats   Stats
	// followed is never changed, only replaced.
	followed []Followed
	cpu      time.Duration // own, when the Recorder was made: what it takes to begin counts
	unsure   atomic.Uint64 // samples that were taken, by marks of their stacks
	missing  atomic.Uint64
	extra    notes // of others than the ticker
}

// New returns a Recorder. The caller closes it.
func New(opt Options) *Recorder { return newRecorder(opt, newLive(opt)) }

func newRecorder(opt Options, sys system) *Recorder {
	free := make(chan *tracer.Copy, copies)
	for range copies {
		free <- new(tracer.Copy)
	}
	r := &Recorder{opt: opt, sys: sys, samples: newBatches(sys.Nap), counted: make(chan struct{}),
		requests: newRequests(), draw: rand.Float64, stuck: stuck}
	r.cpu = sys.OwnCPU()
	r.ticker = newTicker(sys, &r.opt, r.samples, free, func() float64 { return r.draw() })
	r.counter = newCounter(&r.opt, sys.Now, free)
	r.naming = newNamer(&r.opt)
	go func() {
		defer close(r.counted)
		r.samples.each(r.count)
	}()
	return r
}

// count takes one sample into account. A fault of ours in it, as of a parser on bytes that no test
// had, costs that sample and is reported: whoever draws on a terminal must not be ended by it.
func (r *Recorder) count(l *sample) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		if l.copied != nil {
			r.counter.free <- l.copied
		}
		r.note("fault", "a stack was lost to a fault of fpstack, please report it: %v", fault)
	}()
	defer r.moves.Add(1)
	r.counter.count(l)
	r.stacks.Store(uint64(len(r.counter.ledger.entries)))
}

// note adds what a person should know, that others than the ticker have seen.
func (r *Recorder) note(kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock() // what is printed may fail
	r.extra.add(kind, format, args...)
}

// Add begins to follow process pid, and those below it if Options.Children says so. It stops
// nothing.
//
// It fails as tracer.Open does.
func (r *Recorder) Add(pid int) error {
	var err error
	r.drive(func() {
		err = r.ticker.add(pid, false, nil)
		r.publish()
	})
	return err
}

// Remove ends following process pid, if it is followed: what it got until now is in the next Take. The process goes on.
func (r *Recorder) Remove(pid int) {
	r.drive(func() {
		r.ticker.remove(pid)
		r.publish()
	})
}

// Run records until ctx ends or every process has ended, with Options.Stay until ctx ends; both are no error. It runs
// once. A recording that ends before a sample was due, without Options.Stay, still samples once what is there.
//
// It fails with ErrNothing if there is no process, or with the reason why the last process
// could not be sampled, if nothing was recorded.
func (r *Recorder) Run(ctx context.Context) error {
	r.mu.Lock()
	if r.running || r.over {
		r.mu.Unlock()
		return errors.New("a Recorder runs once")
	}
	r.running = true
	r.mu.Unlock()
	r.driving.Lock()
	defer r.driving.Unlock()
	defer close(r.ended)
	defer func() {
		r.mu.Lock()
		r.running, r.over = false, true
		r.mu.Unlock()
	}()
	k := r.ticker
	r.recognise(ctx)
	begin := r.sys.Now()
	k.begin(begin)
	r.mu.Lock()
	r.begun = begin
	r.mu.Unlock()
	if len(k.follow.processes) == 0 && !r.opt.Stay {
		return ErrNothing
	}
	fault := r.rounds(ctx, begin)
	k.closeAccounts(r.sys.Now())
	if fault != nil {
		k.notes.add("faults", "the recording was ended by a fault that came again and again: %v", fault)
	}
	r.publish()
	if fault != nil && k.counted.samples == 0 {
		return fmt.Errorf("record: %w", fault)
	}
	if k.follow.failed != nil && len(k.follow.processes) == 0 && k.counted.samples == 0 {
		return fmt.Errorf("record: %w", k.follow.failed)
	}
	return nil
}

// recognising bounds how long the begin of a recording waits for the runtimes of its processes to be recognised.
const recognising = 500 * time.Millisecond

// recognise has the runtimes of the processes recognised before the first sample, which would be without the frames of
// an interpreter otherwise. What begins later is recognised when its first sample is walked.
func (r *Recorder) recognise(ctx context.Context) {
	if r.opt.Runtimes == nil || len(r.ticker.follow.processes) == 0 {
		return
	}
	var programs []*program
	for _, p := range r.ticker.follow.processes {
		programs = append(programs, p.program)
	}
	done := make(chan struct{})
	r.ticker.send(sample{kind: marked, mark: func() {
		defer close(done)
		for _, g := range programs {
			g.open(r.counter)
		}
	}})
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(recognising):
	}
}

// maxFaults is how many faults of our own a recording survives: one that comes back at each round would go on for
// ever, and show nothing.
const maxFaults = 100

// rounds makes rounds of samples until the end. It fails after too many faults of our own.
func (r *Recorder) rounds(ctx context.Context, begin time.Duration) error {
	k := r.ticker
	faults := 0
	plan := &r.plan
	*plan = newSchedule(r.opt.Rate, r.draw)
	plan.origin = begin
	if k.boundary != nil {
		plan.endAt(k.boundary.at)
	}
	money := newBudget(&r.opt, begin, r.sys.OwnCPU())
	due := plan.next(r.sys.Now(), 0)
	for ctx.Err() == nil && (r.opt.Stay || len(k.follow.processes) > 0) {
		if len(k.follow.processes) == 0 {
			r.idle(ctx)
			plan.reached(r.sys.Now())
			due = plan.next(r.sys.Now(), plan.number+1)
			continue
		}
		if !r.rest(ctx, due-k.lead()) {
			break
		}
		if err := r.sys.Do(func() { due = r.burst(ctx, due) }); err != nil {
			k.lostToFault(err)
			if faults++; faults > maxFaults {
				return err
			}
			due = plan.next(r.sys.Now(), k.follow.soonest(plan.number))
		}
		r.noteBeginning(&money, begin)
		r.keepTo(&money)
		if plan.setRate(r.opt.Rate) { // see SetRate
			due = plan.next(r.sys.Now(), k.follow.soonest(plan.number))
		}
		r.publish()
	}
	if k.counted.ticks == 0 && len(k.follow.processes) > 0 && !r.opt.Stay { // it ended before a round was due
		if err := r.sys.Do(func() { r.burst(ctx, r.sys.Now()) }); err != nil {
			k.lostToFault(err)
		}
	}
	return nil
}

// lostToFault gives up what a round had begun that met a fault of ours.
func (k *ticker) lostToFault(err error) {
	k.abandon()
	k.notes.add("fault", "samples were lost to a fault, the last: %v", err)
}

// keepTo has processes sampled less often where the recording costs more than it may, and more often where it does not.
func (r *Recorder) keepTo(money *budget) {
	k := r.ticker
	closed, over := money.check(r.sys.Now(),
		spent{r.sys.OwnCPU(), k.counted.pauses.sum, k.counted.ran, k.follow.beginning()})
	if closed {
		k.follow.share(money.share, 1/money.least)
	}
	if over != nil {
		k.counted.lowered++
		k.notes.add("backed off",
			"sampling at %.3g of %.3g Hz at times: it took %.1f %% of a CPU, and running threads were stopped "+
				"%.1f %% of their time; the limit is %.1f %%",
			money.share*r.opt.Rate, r.opt.Rate, 100*over.cpu, 100*over.stopped, 100*r.opt.MaxOverhead)
	}
}

// noteBeginning notes what it took to begin, once that is over, if it is more than the limit.
func (r *Recorder) noteBeginning(b *budget, begin time.Duration) {
	took := b.cpu - r.cpu
	if r.begunWell || !b.begun || b.limit <= 0 {
		return
	}
	r.begunWell = true
	if lasted := b.at - begin; b.prolonged && took > time.Duration(b.limit*float64(lasted)) {
		r.ticker.notes.add("beginning",
			"to open what is recorded and to sample each thread once took %.2g s of CPU time, up to %.2g s after the "+
				"begin",
			took.Seconds(), lasted.Seconds())
	}
}

// burst makes the round that is due, and those that follow at once, on the OS thread. It
// returns when the next is due.
func (r *Recorder) burst(ctx context.Context, due time.Duration) time.Duration {
	k, plan := r.ticker, &r.plan
	defer func() { k.out.handOver(k.turn.now) }()
	defer k.drain()
	moved := time.Duration(-moveEvery)
	k.out.queue.dense.Store(k.dense())
	for until := r.sys.Now() + turn; ; {
		now := r.sys.Now()
		for ; now < due; now = r.sys.Now() {
			k.await(due)
		}
		upto := plan.reached(now)
		k.tick(now, plan.number, upto, plan.period())
		now = r.sys.Now()
		due = plan.next(now, k.follow.soonest(plan.number))
		if r.opt.Rate == 0 && k.turn.runners == 1 && now >= moved+moveEvery {
			moved = now
			k.turn.runs.watch.Near()
		}
		if due > now+stay || now >= until && (len(k.queue.interrupted) == 0 || now >= until+longTurn) ||
			r.waiting.Load() > 0 || r.sys.Dirty() || ctx.Err() != nil || len(k.follow.processes) == 0 {
			return due
		}
	}
}

// publish makes the counts readable for others.
func (r *Recorder) publish() {
	k := r.ticker
	now, cpu := r.sys.Now(), r.sys.OwnCPU()
	s := Stats{Ticks: k.counted.ticks, LateTicks: k.counted.late, Samples: k.counted.samples, Reused: k.counted.reused,
		Stops: k.counted.stops, Peeks: k.counted.peeks, Lost: k.counted.lost, Behind: k.counted.behind,
		Processes: len(k.follow.processes), Ended: k.follow.ended, Unseen: k.counted.unseen,
		PauseP50: k.counted.pauses.quantile(0.5), PauseP90: k.counted.pauses.quantile(0.9),
		PauseP99: k.counted.pauses.quantile(0.99),
		PauseMax: k.counted.pauses.max, BackedOff: k.counted.lowered, MaxOverhead: r.opt.MaxOverhead,
		Wanted: r.opt.Rate,
		Notes:  k.notes.all()}
	k.births.report(&s)
	for _, p := range k.follow.processes {
		s.Threads += len(p.threads)
	}
	if k.counted.ran > 0 {
		s.Stopped = float64(k.counted.pauses.sum) / float64(k.counted.ran)
	}
	followed := r.list()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.followed = followed
	if !r.running && !r.over { // nothing was counted yet
		return
	}
	s.Elapsed = now - r.begun
	if s.Elapsed > 0 {
		s.Overhead = float64(cpu-r.cpu) / float64(s.Elapsed)
		s.Rate = float64(s.Ticks) / s.Elapsed.Seconds()
	}
	r.stats = s
}

// Stats returns the counts so far: those of the last round.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Stacks = r.stacks.Load()
	out := &r.counter.out
	s.CallEnds = out.ended.Load()
	s.Cut, s.Late, s.Inferred = out.cut.Load(), out.late.Load(), out.inferred.Load()
	s.Unsure, s.Missing = r.unsure.Load(), r.missing.Load()
	if s.Short = out.short.Load(); s.Short > 0 {
		s.Shortfall = out.shortfall.Load().String()
	}
	s.Notes = append(append([]string(nil), s.Notes...), r.extra.all()...)
	if out.full.Load() {
		s.Notes = append(s.Notes, fmt.Sprintf("more stacks than are kept: the others are %q", wordTooMany))
	}
	if n := out.folded.Load(); n > 0 {
		s.Notes = append(s.Notes,
			fmt.Sprintf("%d threads that ended are shown together as %q, those that were seen longest by themselves", n,
				nameEnded))
	}
	if out.dropped.Load() {
		s.Notes = append(s.Notes, "the order of stacks was dropped: it would have taken too much memory")
	}
	return s
}

// Close gives up all processes. No method may be called afterwards.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	r.mu.Unlock()
	if !r.finishCounting(r.letAllGo()) {
		return errors.Join(r.sys.Close(), errStuck) // what it holds is in use
	}
	return errors.Join(r.sys.Close(), r.counter.files.Close())
}

// letAllGo ends following all processes. It returns the samples that were not handed over.
func (r *Recorder) letAllGo() []sample {
	r.driving.Lock()
	defer r.driving.Unlock()
	for _, p := range r.ticker.follow.processes {
		p.gone = true
	}
	r.ticker.sweep()
	r.ticker.births.close()
	return r.ticker.out.batch
}

// finishCounting gives the last samples to the counter and waits for its end, false if that does not come.
func (r *Recorder) finishCounting(rest []sample) bool {
	full := r.samples.full
	if len(rest) == 0 {
		close(full)
		full = nil
	}
	since, seen := time.Now(), r.moves.Load()
	for {
		select {
		case full <- rest:
			close(full)
			full = nil
		case <-r.counted:
			return true
		case <-time.After(handEvery):
		}
		if now := r.moves.Load(); now != seen {
			since, seen = time.Now(), now
		} else if time.Since(since) > r.stuck {
			return false
		}
	}
}
