package sampler

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// fake is a machine that is drawn: its time passes only where the sampler sleeps, or where
// a stop is said to last.
type fake struct {
	now         atomic.Int64
	end         time.Duration
	cancel      func()
	seed        uint64 // of the moments of samples
	settle      func() // waits until all samples are counted
	processes   map[int]*fakeProcess
	kin         map[int][2]int
	cpu         func(now time.Duration) time.Duration // own
	last        int
	blocked     chan struct{}           // walks wait for it
	births      func(now time.Duration) // makes what was born until then
	eventSource *fakeEvents             // nil: the kernel reports nothing

	pending      []*fakeInterrupted
	peekTime     time.Duration // how long a copy without a stop takes
	readTime     time.Duration // how long it takes to read counters
	stopped      time.Duration // the longest that a thread was stopped before it was collected
	dirty        bool          // until the end of Do
	mu           sync.Mutex
	peeks, stops map[int]int // by thread
	reads        int         // readings of counters
	noKernel     bool        // KernelStack is refused
	beside       *fakeWatch  // whose CPU the OS thread is on
	nears        int         // how often it was moved there
}

func newFake(end time.Duration) *fake {
	return &fake{end: end, processes: map[int]*fakeProcess{}, kin: map[int][2]int{}, peeks: map[int]int{},
		stops: map[int]int{}, last: 100}
}

func (f *fake) pass(d time.Duration) {
	if time.Duration(f.now.Add(int64(d))) >= f.end && f.cancel != nil {
		f.cancel()
	}
}

func (f *fake) Now() time.Duration { return time.Duration(f.now.Load()) }

func (f *fake) After(d time.Duration) <-chan time.Time {
	f.settle()
	f.pass(min(d, max(0, f.end-f.Now())))
	c := make(chan time.Time, 1)
	c <- time.Time{}
	return c
}

// Pause lets time pass as the sampler sees it: what it sampled is counted by then.
func (f *fake) Pause(d time.Duration, _ bool) {
	if f.settle != nil && d > 0 {
		f.settle()
	}
	f.pass(d)
}

// Nap lets real time pass: the counter has no part in that of the sampler.
func (f *fake) Nap(d time.Duration) { time.Sleep(d) }

func (f *fake) OwnCPU() time.Duration {
	if f.cpu == nil {
		return 0
	}
	return f.cpu(f.Now())
}
func (f *fake) Do(do func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
		f.dirty, f.beside = false, nil
		f.GiveUp()
	}()
	do()
	return nil
}
func (f *fake) Dirty() bool  { return f.dirty }
func (f *fake) Close() error { return nil }
func (f *fake) LastID() (int, error) {
	if f.births != nil {
		f.births(f.Now())
	}
	return f.last, nil
}
func (f *fake) Kin(id int) (int, int, error) {
	k, ok := f.kin[id]
	if !ok {
		return 0, 0, fs.ErrNotExist
	}
	return k[0], k[1], nil
}

func (f *fake) Events() (eventSource, error) {
	if f.eventSource == nil {
		return nil, errors.New("no events")
	}
	f.eventSource.opened++
	return f.eventSource, nil
}

func (f *fake) Open(pid int) (target, error) {
	p := f.processes[pid]
	if p == nil || p.life != nil && !p.life(f.Now()) {
		return nil, tracer.ErrNoProcess
	}
	return p, nil
}

// view is what a thread does at a moment.
type view struct {
	stack    []uint64 // innermost first
	kernel   []string // where it waits, innermost first
	asleep   bool
	needs    bool  // the walk needs registers
	call     int64 // that it sleeps in; 0: read
	unmapped bool  // the walk needs mappings that are read late
	switches uint64
	cpu      time.Duration
	waited   time.Duration // for a CPU, up to the last time it got one
	gone     bool
	fault    bool          // to interrupt it is a fault of the tracer
	trap     bool          // and so is to see whether it sleeps
	pause    time.Duration // how long a stop of it takes
	far      []uint64      // its stack if it is stopped from another CPU, 0x3000 is in a system call; nil: stack

	shortfalls []snapshot.Shortfall
}

type fakeProcess struct {
	f        *fake
	pid      int
	threads  map[int]func(now time.Duration) view
	replaced atomic.Bool
	reopened int
	maps     int // times that the mappings were read
	listed   int // and its threads listed
	slowMaps time.Duration
	comm     string
	children []int
	began    uint64
	clock    func(now time.Duration) time.Duration // of all its threads; nil: not to be had
	reaped   func(now time.Duration) time.Duration
	parent   int
	life     func(now time.Duration) bool // nil: it does not end
	wants    func(now time.Duration) bool // nothing can be opened of it
}

func (p *fakeProcess) Clock() (time.Duration, error) {
	if p.clock == nil {
		return 0, tracer.ErrNoProcess
	}
	return p.clock(p.f.Now()), nil
}

func (p *fakeProcess) Reaped() (time.Duration, int, error) {
	if p.reaped == nil {
		return 0, p.parent, nil
	}
	return p.reaped(p.f.Now()), p.parent, nil
}

// want is what opening something of the process fails with, if it does.
func (p *fakeProcess) want() error {
	if p.wants != nil && p.wants(p.f.Now()) {
		return &fs.PathError{Op: "open", Path: "stat", Err: syscall.EMFILE}
	}
	return nil
}

func (f *fake) process(pid int) *fakeProcess {
	p := &fakeProcess{f: f, pid: pid, threads: map[int]func(time.Duration) view{}, comm: "p"}
	f.processes[pid] = p
	return p
}

func (p *fakeProcess) PID() int                              { return p.pid }
func (p *fakeProcess) Children() ([]int, error)              { return p.children, nil }
func (p *fakeProcess) Began() (uint64, error)                { return p.began, nil }
func (p *fakeProcess) Replaced() bool                        { return p.replaced.Load() }
func (p *fakeProcess) Close() error                          { return nil }
func (p *fakeProcess) ReadMem([]byte, mem.Addr) (int, error) { return 0, errors.New("nothing") }
func (p *fakeProcess) Walker(*module.Set, unwind.Functions, unwind.Runtimes) walker {
	return fakeWalker{p}
}
func (p *fakeProcess) Image() module.Image {
	return module.Image{Memory: p, Mapping: func(*maps.Mapping) (*module.File, error) {
		return nil, errors.New("no file")
	}}
}

func (p *fakeProcess) Reopen() error {
	if err := p.want(); err != nil {
		return err
	}
	if p.f.dirty {
		return &tracer.TracedError{PID: p.pid, Tracer: 1}
	}
	p.replaced.Store(false)
	p.reopened++
	return nil
}

func (p *fakeProcess) Maps() (*maps.Table, error) {
	p.maps++
	p.f.pass(p.slowMaps)
	return fakeTable, nil
}

var fakeTable = maps.NewTable([]maps.Mapping{{Start: 0x1000, End: 0x100000, Perm: maps.Read | maps.Exec}})

func (p *fakeProcess) ThreadIDs() ([]int, error) {
	if err := p.want(); err != nil {
		return nil, err
	}
	p.listed++
	var ids []int
	for tid, at := range p.threads {
		if !at(p.f.Now()).gone {
			ids = append(ids, tid)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func (p *fakeProcess) Watch(tid int) (watch, error) { return &fakeWatch{p: p, tid: tid}, p.want() }

type fakeWatch struct {
	p     *fakeProcess
	tid   int
	stops uint64 // our own
}

func (w *fakeWatch) view() (view, error) {
	v := w.p.threads[w.tid](w.p.f.Now())
	if err := w.p.want(); err != nil {
		return v, err
	}
	if v.gone {
		return v, tracer.ErrNoThread
	}
	v.switches += 1 + 2*w.stops
	return v, nil
}

func (w *fakeWatch) Counters() (tracer.Counters, error) {
	v, err := w.view()
	w.p.f.mu.Lock()
	w.p.f.reads++
	w.p.f.mu.Unlock()
	w.p.f.pass(w.p.f.readTime)
	return tracer.Counters{CPU: v.cpu, Waited: v.waited, Switches: v.switches}, err
}

// in is where a thread sleeps.
func (v *view) in() snapshot.Syscall { return snapshot.Syscall{Number: v.call, SP: 0x8000, PC: 0x2000} }

func (w *fakeWatch) Asleep() (snapshot.Syscall, bool, error) {
	v, err := w.view()
	if v.trap {
		panic("a tracer's fault")
	}
	return v.in(), v.asleep, err
}

func (w *fakeWatch) State() (byte, string, error) { return 'S', w.p.comm, w.p.want() }
func (w *fakeWatch) First() (byte, string)        { return 'S', w.p.comm }
func (w *fakeWatch) Close() error                 { return nil }

// Near implements watch.
func (w *fakeWatch) Near() {
	w.p.f.beside = w
	w.p.f.nears++
}

func (w *fakeWatch) KernelStack() ([]string, error) {
	v, err := w.view()
	if err == nil && w.p.f.noKernel {
		err = errors.New("for root alone")
	}
	w.p.f.pass(w.p.f.peekTime)
	return v.kernel, err
}

func (w *fakeWatch) fill(c *tracer.Copy, v view) {
	var b []byte
	for _, pc := range v.stack {
		b = binary.LittleEndian.AppendUint64(b, pc)
	}
	call := v.in()
	c.Thread = snapshot.Thread{TID: w.tid, Arch: regs.AMD64, Stack: mem.Range{Start: 0x8000, Data: b}}
	if v.needs {
		c.Thread.Comm = "needs"
	}
	if v.unmapped {
		c.Thread.Comm = "unmapped"
	}
	c.Thread.Shortfalls = v.shortfalls
	c.Blocked, c.Pause = v.asleep, 0
	if v.asleep {
		c.Thread.Syscall = &call
		c.Counters = tracer.Counters{CPU: v.cpu, Switches: v.switches}
	}
}

func (w *fakeWatch) Peek(c *tracer.Copy, _ *maps.Table) error {
	v, err := w.view()
	if err != nil {
		return err
	}
	if v.fault {
		panic("a tracer's fault")
	}
	if !v.asleep {
		return tracer.ErrRan
	}
	w.p.f.mu.Lock()
	w.p.f.peeks[w.tid]++
	w.p.f.mu.Unlock()
	w.p.f.pass(w.p.f.peekTime)
	w.fill(c, v)
	return nil
}

func (w *fakeWatch) Stop(c *tracer.Copy, table *maps.Table) error {
	if err := w.Seize(c, table); err != nil {
		return err
	}
	if err := w.Interrupt(c); err != nil {
		return err
	}
	f := w.p.f
	a := f.pending[len(f.pending)-1]
	f.pending = f.pending[:len(f.pending)-1]
	f.pass(a.v.pause)
	a.stop()
	return nil
}

// fakeInterrupted is a thread that was interrupted.
type fakeInterrupted struct {
	w     *fakeWatch
	c     *tracer.Copy
	v     view
	ready time.Duration
}

// stop fills in what it has counted once it is stopped.
func (a *fakeInterrupted) stop() { a.c.AtStop, _ = a.w.Counters() }

// Seize does what can fail.
func (w *fakeWatch) Seize(*tracer.Copy, *maps.Table) error {
	_, err := w.view()
	return err
}

// Interrupt takes what the thread does now: where it stops later is where it was interrupted.
func (w *fakeWatch) Interrupt(c *tracer.Copy) error {
	v, err := w.view()
	if err != nil {
		return err
	}
	if v.fault {
		panic("a tracer's fault")
	}
	f := w.p.f
	f.mu.Lock()
	f.stops[w.tid]++
	f.mu.Unlock()
	r := regs.New(regs.AMD64)
	if r.Set(regs.AMD64.Syscall, ^uint64(0)); v.far != nil && f.beside != w {
		if v.stack = v.far; v.far[0] == 0x3000 {
			r.Set(regs.AMD64.Syscall, 110)
		}
	} else {
		w.stops++
		v.switches += 2
	}
	w.fill(c, v)
	r.Set(regs.AMD64.PC, v.stack[0])
	c.Thread.Registers = &r
	c.Pause = v.pause
	f.pending = append(f.pending, &fakeInterrupted{w, c, v, f.Now() + v.pause})
	return nil
}

// Collect lets time pass until the thread that stops first does. The counter keeps up meanwhile, as in After: how
// fast it is on the machine of the test must not decide how many copies are free.
func (f *fake) Collect(d time.Duration) (*tracer.Copy, error) {
	if len(f.pending) == 0 {
		return nil, nil
	}
	f.settle()
	now := f.Now()
	first := slices.MinFunc(f.pending, func(a, b *fakeInterrupted) int { return cmp.Compare(a.ready, b.ready) })
	if first.ready > now+max(0, d) {
		f.Pause(max(0, d), false)
		return nil, nil
	}
	f.pending = slices.DeleteFunc(f.pending, func(a *fakeInterrupted) bool { return a == first })
	f.Pause(max(0, first.ready-now), false)
	f.stopped = max(f.stopped, f.Now()-first.ready)
	first.stop()
	return first.c, nil
}

func (f *fake) GiveUp() { f.pending = nil }

// faulty is a frame at which the fake walker panics.
const faulty = 0xbad

// fakeWalker takes the words of the stack for its frames.
type fakeWalker struct{ p *fakeProcess }

func (fakeWalker) Renew() {}

func (fakeWalker) CallNumber(*snapshot.Thread, mem.Reader) (int64, bool) { return 35, true } // nanosleep

func (w fakeWalker) WalkInto(s *unwind.Stack, t *snapshot.Thread, _ mem.Reader, _ unwind.Options) {
	s.Frames, s.Stop = s.Frames[:0], unwind.Root
	if len(t.Stack.Data) >= 8 && binary.LittleEndian.Uint64(t.Stack.Data) == faulty {
		panic("a parser's fault")
	}
	if w.p.f.blocked != nil {
		<-w.p.f.blocked
	}
	for b := t.Stack.Data; len(b) >= 8; b = b[8:] {
		s.Frames = append(s.Frames, unwind.Frame{PC: mem.Addr(binary.LittleEndian.Uint64(b)),
			Interrupted: len(s.Frames) == 0})
	}
	if t.Comm == "unmapped" && w.p.maps < 3 {
		s.Frames, s.Stop, s.Err = s.Frames[:1], unwind.NoRule, errors.New("no table")
	}
	if t.Comm == "needs" && t.Registers == nil {
		s.Frames, s.Stop, s.Err = s.Frames[:1], unwind.BadCFA, errors.New("CFA rests on rbp, which is not known")
	}
}

// drawn records process 1 of f until its end.
func drawn(t *testing.T, f *fake, opt Options) (*profile.Profile, Stats, *Recorder) {
	t.Helper()
	r := newRecorder(opt, f)
	t.Cleanup(func() { r.Close() })
	r.draw = rand.New(rand.NewPCG(1, f.seed)).Float64
	p, s := finish(t, r, f)
	return p, s, r
}

// finish records process 1 of f with r.
func finish(t *testing.T, r *Recorder, f *fake) (*profile.Profile, Stats) {
	t.Helper()
	if err := r.Add(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.cancel = cancel
	f.settle = r.settled
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	p, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	return p, r.Stats()
}

// settled waits until all samples are counted. The ticker calls it.
func (r *Recorder) settled() {
	counted := make(chan struct{})
	r.ticker.send(sample{kind: marked, mark: func() { close(counted) }})
	for {
		select {
		case <-counted:
			return
		case <-time.After(time.Millisecond):
			r.ticker.out.handOver(r.ticker.turn.now)
		}
	}
}

// amounts sums the values of the stacks whose innermost code is at pc, in thread tid; 0 stands
// for any.
func amounts(p *profile.Profile, tid int, pc uint64) (samples int64, wall, cpu time.Duration) {
	for i, s := range p.Samples {
		if tid != 0 && p.Tasks[s.Task].TID != tid {
			continue
		}
		n := s.Stack
		for n != 0 && p.Frames[p.Tree.Frame(n)].Kind == profile.Kernel {
			n = p.Tree.Parent(n)
		}
		if pc != 0 && (n == 0 || p.Frames[p.Tree.Frame(n)].Addr != pc) {
			continue
		}
		v := p.Value(i)
		samples, wall, cpu = samples+v[0], wall+time.Duration(v[1]), cpu+time.Duration(v[2])
	}
	return samples, wall, cpu
}
