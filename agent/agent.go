// Package agent records chosen processes all the time, and hands what they did to stores at intervals: what `fpstack
// agent` does.
//
// It is given who samples ([Recorder]), who says which processes are chosen ([Chooser]), and where profiles go
// ([Store]). It follows processes as they come and go, within bounds; cuts the recording at multiples of an interval by
// the wall clock, without a gap; and accounts for what it did ([Report]). It ends with an error when it is stuck, so
// that a supervisor starts it again.
//
// It knows neither ptrace nor HTTP.
package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fpstack/fpstack/agent/choose"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/perprocess"
)

// Recorder is who samples: a sampler.Recorder. It is the caller's to close, when Run has returned.
type Recorder interface {
	// Run records until ctx ends.
	Run(ctx context.Context) error
	// TakeAt returns what was recorded until at, or until ctx ends.
	TakeAt(ctx context.Context, at time.Time) (*profile.Profile, error)
}

// Follower is told which processes are recorded.
type Follower interface {
	Add(pid int) error
	Remove(pid int)
	// Counts are those of the recording now. It does not wait.
	Counts() Counts
}

// Chooser says which processes are chosen now: a choose.Scanner.
type Chooser interface {
	Scan(now time.Duration) ([]choose.Chosen, error)
}

// Store is where profiles go, with a name: a push.Outlet.
type Store struct {
	Name string
	Outlet
	Accountant
}

// Outlet sends profiles.
type Outlet interface {
	Put(interval []push.Recorded, from, to time.Time)
	Run(ctx context.Context) error
	Flush(ctx context.Context) bool
}

// Accountant says what became of them.
type Accountant interface {
	Balance() push.Balance
	Trouble() error
}

// Counts are those of a recording.
type Counts struct {
	Rounds  uint64 // of samples, made or late
	Samples uint64
	Stops   uint64
	Wanted  float64 // samples a second
	// Targets are the processes that are followed now.
	Targets []Target
	Notes   []string
}

// Target is one process that is recorded.
type Target struct {
	PID     int
	Threads int
	Rate    float64 // samples a second now
}

// Choice says which processes are recorded, and how many.
type Choice struct {
	Chooser
	MaxTargets int
	MaxThreads int // of all targets
}

// Options say what an Agent does.
type Options struct {
	Recorder Recorder
	Follower Follower
	Choice   Choice
	Stores   []Store
	// AsyncCounter counts async calls of targets within a part of Budget, nil: nobody does.
	AsyncCounter AsyncCounter

	// Interval is how long a profile is.
	Interval time.Duration
	Budget   float64 // share of a CPU that all of it may take, 0: any; it is the Recorder that keeps to it
	// StuckAfter is when it ends if no round of samples was made, 0: never.
	StuckAfter time.Duration

	// Identify reads who a process is, when it is first followed and when it begins another program.
	Identify func(c *choose.Chosen) perprocess.Identity
	// Look reads when a process began, and what it runs now.
	Look func(pid int) (start uint64, runs choose.Program, lives bool)
	// Another says whether the id of a process is that of another one by now.
	Another func(c *choose.Chosen) bool
	// Threads is how many threads a process has.
	Threads func(pid int) int
	// Refusal words in few words why a process cannot be followed; "" if it has only ended.
	Refusal func(err error) string
	// Parts makes what stores get of a profile: with an error those that could be made.
	Parts func(p *profile.Profile, identity perprocess.Identifier) ([]push.Recorded, error)
	// Say reports something that a person should know.
	Say func(line string)
	// Usage is what this program takes: CPU time since it began, memory in bytes now.
	Usage func() (cpu time.Duration, memory int64)
}

// Agent records and sends. Its methods may be called from any goroutine.
type Agent struct {
	opt   Options
	begun time.Time

	mu        sync.Mutex // guards what follows
	choice    Choice
	targets   map[int]*target
	ended     map[procfs.Identity]*target // of them, those that ended in this interval or the one before
	refused   map[int]refusal
	leftOut   map[string]int // by reason, now
	said      map[string]bool
	met       int // targets so far
	intervals int
	lastTake  time.Time
	trouble   error // why the last profile could not be made
	window    usage // of the last intervals
	share     float64
}

// usage is what was used until a time.
type usage struct {
	at  time.Time
	cpu time.Duration
}

// New returns an Agent.
func New(opt Options) *Agent {
	now := time.Now()
	a := &Agent{opt: opt, choice: opt.Choice, begun: now, targets: map[int]*target{},
		ended:   map[procfs.Identity]*target{},
		refused: map[int]refusal{},
		leftOut: map[string]int{}, said: map[string]bool{}, lastTake: now}
	cpu, _ := opt.Usage()
	a.window = usage{now, cpu}
	return a
}

// Choose has what a chooses now take the place of what it chose before, from the next look at processes on: those that
// are in both are recorded without a gap.
func (a *Agent) Choose(c Choice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.choice = c
	clear(a.said)
	clear(a.refused)
}

// chooses is what it chooses by now.
func (a *Agent) chooses() Choice {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.choice
}

// ErrStuck says that the recording does not go on, or does not end.
var ErrStuck = errors.New("the recording is stuck")

// flushing is how long stores are offered what is left at the end, and ending how long the recording may take to end.
const (
	flushing = 5 * time.Second
	ending   = 5 * time.Second
)

// Run records and sends until ctx ends, which is no error: what was recorded until then is sent, or kept in a spool.
// It fails if it is stuck, or a store is.
//
// It uses neither the Recorder nor the Follower after it has returned, unless it fails with ErrStuck: goroutines of it
// may go on then, and whatever they use must stay open.
func (a *Agent) Run(ctx context.Context) error {
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	sending, stopSending := context.WithCancel(context.Background())
	defer stopSending()
	var stores sync.WaitGroup
	for _, s := range a.opt.Stores {
		stores.Go(func() {
			if err := s.Run(sending); err != nil {
				end(err)
			}
		})
	}
	recorded := a.record(inner, end)
	<-inner.Done()
	stuck := false
	select {
	case <-recorded:
	case <-time.After(ending):
		stuck = true
	}
	stopSending()
	stores.Wait()
	a.flush()
	var cause error
	if ctx.Err() == nil {
		cause = context.Cause(inner)
	}
	switch {
	case !stuck || errors.Is(cause, ErrStuck):
		return cause
	case cause != nil:
		return fmt.Errorf("%w: it has not ended within %v, after: %w", ErrStuck, ending, cause)
	}
	return fmt.Errorf("%w: it has not ended within %v", ErrStuck, ending)
}

// record begins all that uses the Recorder, and closes what it returns when nothing does any more.
func (a *Agent) record(ctx context.Context, end context.CancelCauseFunc) <-chan struct{} {
	var using sync.WaitGroup
	using.Go(func() {
		if err := a.opt.Recorder.Run(ctx); err != nil {
			end(err)
		}
	})
	using.Go(func() { a.watch(ctx, end) })
	using.Go(func() { a.follow(ctx) })
	using.Go(func() { a.cutAtIntervals(ctx) })
	if a.opt.AsyncCounter != nil {
		using.Go(func() { a.countAsync(ctx) })
	}
	recorded := make(chan struct{})
	go func() {
		using.Wait()
		close(recorded)
	}()
	return recorded
}

// flush offers the stores what is left.
func (a *Agent) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), flushing)
	defer cancel()
	var all sync.WaitGroup
	for _, s := range a.opt.Stores {
		all.Go(func() { s.Flush(ctx) })
	}
	all.Wait()
}

// watch ends a recording that does not go on.
func (a *Agent) watch(ctx context.Context, end context.CancelCauseFunc) {
	if a.opt.StuckAfter <= 0 {
		return
	}
	tick := time.NewTicker(max(a.opt.StuckAfter/10, time.Millisecond))
	defer tick.Stop()
	last, since := uint64(0), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if counts := a.opt.Follower.Counts(); counts.Rounds != last || len(counts.Targets) == 0 {
			last, since = counts.Rounds, time.Now()
		}
		a.mu.Lock()
		noTake := time.Since(a.lastTake) - 2*a.opt.Interval
		a.mu.Unlock()
		for what, d := range map[string]time.Duration{"no round of samples was made": time.Since(since),
			"no interval was ended": noTake} {
			if d > a.opt.StuckAfter {
				end(fmt.Errorf("%w: %s for %v", ErrStuck, what, d.Round(time.Second)))
				return
			}
		}
	}
}
