package capture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Sampler samples processes.
type Sampler interface {
	// Begin begins a moment: it reads who waits for whom in those processes, before any is stopped, as a stop changes
	// it.
	Begin(ctx context.Context, pids []int)
	// Sample makes the dump of one process; it may return a dump and an error. tids are the threads that are wanted,
	// nil for all.
	Sample(ctx context.Context, pid int, tids []int) (*profile.Dump, error)
	// Asleep makes the dump of a process without a stop: of one that nobody asked for.
	Asleep(ctx context.Context, pid int) (*profile.Dump, error)
	// End ends a moment, and gives who waits for whom in all its processes, nil if that is not known.
	End() *profile.Waits
}

// Options say when and how much is sampled.
type Options struct {
	// At is when the moments begin, after the first: Usual or Hurried. One that comes while another lasts begins when
	// that is over.
	At []time.Duration
	// Process is what sampling one process may take at least, more where Whole, which bounds everything, leaves more to
	// each; 0: PerProcess and InAll.
	Process, Whole time.Duration
	// Enough reports, from the third moment on, whether no further one would say more; nil: none is spared.
	Enough func(*hang.Case) bool
	// Tree lists the processes, parents before their children, at each moment again.
	Tree func() []int
	// Done is told each dump as soon as it is made, nil for nobody.
	Done func(moment int, d *profile.Dump)
	// Gone reports whether an error says that the process has ended.
	Gone func(error) bool
	// Seen are command lines that had been there before, nil for none.
	Seen map[string]bool
	// Started is when a process began, in ticks after boot, and whether it is there; nil: as /proc shows it.
	Started func(pid int) (uint64, bool)
}

// When moments are.
var (
	Usual   = []time.Duration{0, 2 * time.Second, 7 * time.Second}
	Quick   = []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second} // with Options.Enough
	Hurried = []time.Duration{0, time.Second}                                   // when somebody wants us to end
)

// The usual bounds.
const (
	PerProcess = 2 * time.Second
	InAll      = time.Minute
	// mostPerProcess is enough for a large runtime whose tables are read on a busy machine.
	mostPerProcess = 12 * time.Second
)

// Run fills in the Moments of c, and what they showed. It ends early with ctx: then what it has is in c.
func Run(ctx context.Context, c *hang.Case, s Sampler, opt Options) {
	if opt.Process == 0 {
		opt.Process = PerProcess
	}
	if opt.Whole == 0 {
		opt.Whole = InAll
	}
	if opt.Started == nil {
		opt.Started = func(pid int) (uint64, bool) { return procfs.Start("/proc", pid) }
	}
	r := &run{c: c, s: s, opt: opt, began: time.Now(), problems: map[string]int{}, known: map[int]uint64{}}
	for i := range c.Processes {
		if p := &c.Processes[i]; p.Start > 0 {
			r.known[p.PID] = p.Start
		}
	}
	ctx, cancel := context.WithDeadline(ctx, r.began.Add(opt.Whole))
	defer cancel()
	pids := opt.Tree()
	first, ran, commands := seenOf(pids), r.programs(pids), newStarts(opt.Tree, opt.Seen)
	for i, at := range opt.At {
		if !commands.watch(ctx, r.began.Add(at)) {
			break
		}
		if !r.moment(ctx, i) { // nobody is left: what was seen before says more
			opt.At = opt.At[:len(c.Moments)]
			break
		}
		if i >= 2 && i < len(opt.At)-1 && opt.Enough != nil && opt.Enough(c) {
			opt.At = opt.At[:i+1]
			break
		}
	}
	commands.look()
	commands.tell(&c.Activity)
	last := seenOf(opt.Tree())
	last.since(first, &c.Activity)
	programsOf(slices.Collect(maps.Keys(ran))).since(ran, c.Roots, &c.Activity)
	r.closely(ctx)
	c.Outside = Describe(outside(c))
	c.Outside = append(c.Outside, holders(slices.Concat(c.Outside, c.Processes))...)
	r.beside(ctx)
	if ctx.Err() != nil && len(c.Moments) < len(opt.At) {
		r.problem(fmt.Sprintf("%d of %d moments were not sampled: %s", len(opt.At)-len(c.Moments), len(opt.At),
			early(ctx)))
	}
}

// run is one Run.
type run struct {
	c        *hang.Case
	s        Sampler
	opt      Options
	began    time.Time
	problems map[string]int
	known    map[int]uint64 // when the processes of the case began
}

// programs is what processes run, and the roots did that have ended since the case was begun.
func (r *run) programs(pids []int) programs {
	all := programsOf(pids)
	for i := range r.c.Processes {
		p := &r.c.Processes[i]
		if _, there := all[p.PID]; !there && slices.Contains(r.c.Roots, p.PID) {
			all[p.PID] = program{start: p.Start, name: p.Name, ended: p.State == "Z"}
		}
	}
	return all
}

// moment samples every process once. It is false if all of them had ended.
func (r *run) moment(ctx context.Context, number int) bool {
	pids := r.opt.Tree()
	m := hang.Moment{Time: time.Now(), Counters: map[int]hang.Span{}}
	before := readAll(pids)
	var slept map[int]time.Duration
	if number == 0 { // later ones know when we stopped it
		slept = sleptFor(before)
	}
	r.s.Begin(ctx, pids)
	var sampled []int
	for i, pid := range slices.Backward(pids) {
		if ctx.Err() != nil {
			r.problem(fmt.Sprintf("process %d: not sampled: %s", pid, early(ctx)))
			continue
		}
		// Just before its stop: what ran while others were sampled is what the process did.
		if now := read(pid); now != nil {
			before[pid] = now
		}
		d, same := r.sampleSame(ctx, pid, r.share(ctx, (len(r.opt.At)-number-1)*len(pids)+i+1))
		if !same {
			delete(before, pid)
		}
		if d != nil {
			m.Dumps = append(m.Dumps, d)
			sampled = append(sampled, pid)
			if r.opt.Done != nil {
				r.opt.Done(number, d)
			}
		}
	}
	m.Waits = r.s.End()
	if len(m.Dumps) == 0 && ctx.Err() == nil && !anyLives(pids) {
		return false
	}
	awaitSleep(ctx, m.Dumps)
	for _, pid := range others(m.Waits, pids) {
		for tid, c := range read(pid) {
			m.Counters[tid] = hang.Span{Before: c, After: c}
		}
	}
	for pid, threads := range before {
		after := threads
		if slices.Contains(sampled, pid) {
			after = read(pid)
		}
		for tid, c := range threads {
			c.Slept = slept[tid]
			span := hang.Span{Before: c}
			if again, ok := after[tid]; ok {
				span.After = again
			}
			m.Counters[tid] = span
		}
	}
	r.c.Moments = append(r.c.Moments, m)
	return true
}

func anyLives(pids []int) bool {
	return slices.ContainsFunc(pids, func(pid int) bool {
		st, err := procfs.ReadStat("/proc", pid)
		return err == nil && (st.State != 'Z' || len(procfs.Threads("/proc", pid)) > 1)
	})
}

// sampleSame makes the dump of a process that is the one that the case knows by that id, or becomes it; nil if there is
// none. same is false if it became another one meanwhile.
func (r *run) sampleSame(ctx context.Context, pid int, bound time.Duration) (d *profile.Dump, same bool) {
	start, there := r.opt.Started(pid)
	if known, ok := r.known[pid]; there && ok && known != start {
		r.forget(pid)
	}
	if there {
		r.known[pid] = start
	}
	d = r.sample(ctx, pid, bound)
	if now, ok := r.opt.Started(pid); d != nil && there && ok && now != start {
		r.forget(pid)
		delete(r.known, pid) // it may be anybody: the next moment asks who is in the tree
		return nil, false
	}
	return d, true
}

// forget drops what is known of a process whose id another one has now.
func (r *run) forget(pid int) {
	r.problem(fmt.Sprintf("process %d ended meanwhile, and another has its id now", pid))
	for i := range r.c.Moments {
		m := &r.c.Moments[i]
		delete(m.Counters, pid)
		m.Dumps = slices.DeleteFunc(m.Dumps, func(d *profile.Dump) bool {
			if d.Process.PID != pid {
				return false
			}
			for k := range d.Threads {
				delete(m.Counters, d.Threads[k].TID)
			}
			return true
		})
	}
	for i := range r.c.Processes {
		if r.c.Processes[i].PID == pid {
			if now := Describe([]int{pid}); len(now) == 1 {
				r.c.Processes[i] = now[0]
			}
		}
	}
}

// share is the time of one process where so many are left to be sampled.
func (r *run) share(ctx context.Context, left int) time.Duration {
	until, ok := ctx.Deadline()
	if !ok {
		return r.opt.Process
	}
	return max(r.opt.Process, min(mostPerProcess, time.Until(until)/time.Duration(left+1)))
}

// sample makes the dump of one process within its time, nil if there is none.
func (r *run) sample(ctx context.Context, pid int, bound time.Duration) *profile.Dump {
	within, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	d, err := r.s.Sample(within, pid, nil)
	r.failed(ctx, pid, bound, d, err)
	return d
}

// failed adds to the Case why there is no dump of a process, or why d is but a part. An error of ctx, or of the bound
// within it, names neither the process nor what ended.
func (r *run) failed(ctx context.Context, pid int, bound time.Duration, d *profile.Dump, err error) {
	if err == nil || r.opt.Gone(err) {
		return
	}
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		r.problem(err.Error())
		return
	}
	done, why := "not sampled", "it took longer than "+text.Duration(bound)
	if d != nil {
		done = "sampled in part"
	}
	if ctx.Err() != nil {
		why = early(ctx)
	}
	r.problem(fmt.Sprintf("process %d: %s: %s", pid, done, why))
}

// early says why ctx has ended.
func early(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.Canceled) {
		return "fpstack was ended by a signal"
	}
	return "no time was left"
}

// problem adds one to the Case, once.
func (r *run) problem(text string) {
	if r.problems[text]++; r.problems[text] == 1 {
		r.c.Problems = append(r.c.Problems, text)
	}
}

// readAll reads the counters of all threads of those processes, by process and thread.
func readAll(pids []int) map[int]map[int]hang.Counters {
	all := make(map[int]map[int]hang.Counters, len(pids))
	for _, pid := range pids {
		if c := read(pid); c != nil {
			all[pid] = c
		}
	}
	return all
}

// sleptFor is how long the threads of those processes have not run at least, of the first of very many.
func sleptFor(processes map[int]map[int]hang.Counters) map[int]time.Duration {
	const most = 4096
	all := map[int]time.Duration{}
	clock := procfs.NewSlept("/proc")
	for pid, threads := range processes {
		for tid := range threads {
			if len(all) < most {
				all[tid] = clock.Of(pid, tid)
			}
		}
	}
	return all
}

// read reads the counters of the threads of one process, nil if it is gone.
func read(pid int) map[int]hang.Counters {
	got, err := procfs.ReadCounters("/proc", pid)
	if err != nil {
		return nil
	}
	out := make(map[int]hang.Counters, len(got))
	for tid, c := range got {
		out[tid] = hang.Counters{Start: c.Start, CPU: c.CPU, System: c.System, Delay: c.Delay, NoDelay: !c.HasDelay,
			Voluntary: c.Voluntary, Preemptive: c.Preemptive, Time: time.Now()}
	}
	return out
}

// mostSettling bounds how long threads are waited for that are to go back to sleep.
const mostSettling = 200 * time.Millisecond

// awaitSleep waits until the threads that slept before their stop sleep again: until then each shows a switch that is
// ours.
func awaitSleep(ctx context.Context, dumps []*profile.Dump) {
	type thread struct{ pid, tid int }
	var slept []thread
	for _, d := range dumps {
		for i := range d.Threads {
			if t := &d.Threads[i]; t.State == "S" || t.State == "D" {
				slept = append(slept, thread{d.Process.PID, t.TID})
			}
		}
	}
	for until := time.Now().Add(mostSettling); time.Now().Before(until); {
		slept = slices.DeleteFunc(slept, func(t thread) bool {
			return procfs.ReadState("/proc", t.pid, t.tid) != 'R'
		})
		if len(slept) == 0 || !sleep(ctx, 2*time.Millisecond) {
			return
		}
	}
}

// sleep is false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
