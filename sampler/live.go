package sampler

import (
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/tracer/connector"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// live is the machine we run on.
type live struct {
	*tracer.Sampler
	start time.Time
	ids   *tracer.IDs // nil until it is first wanted
}

func newLive(opt Options) *live {
	return &live{tracer.NewSampler(tracer.SamplerOptions{MaxPause: opt.MaxPause, RepairEINTR: opt.RepairEINTR,
		Calm: opt.Rate > 0 && opt.Rate <= closeRate}), time.Now(), nil}
}

// Open implements opener.
func (s *live) Open(pid int) (target, error) {
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		return nil, err
	}
	return &liveTarget{Process: p, s: s}, nil
}

// LastID implements opener.
func (s *live) LastID() (int, error) {
	if s.ids == nil {
		var err error
		if s.ids, err = tracer.OpenIDs(); err != nil {
			return 0, err
		}
	}
	return s.ids.Last()
}

// Close implements stopper.
func (s *live) Close() error {
	if s.ids != nil {
		s.ids.Close()
	}
	return s.Sampler.Close()
}

// Kin implements opener.
func (s *live) Kin(id int) (pid, parent int, err error) { return tracer.Kin(id) }

// Events implements opener.
func (s *live) Events() (eventSource, error) { return connector.Open() }

// Now implements ticking.
func (s *live) Now() time.Duration { return time.Since(s.start) }

// After implements clock.
func (s *live) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Pause implements clock.
func (s *live) Pause(d time.Duration, prompt bool) { s.Sleep(d, prompt) }

// Nap implements clock.
func (s *live) Nap(d time.Duration) { tracer.Nap(d) }

// liveTarget is a process of this machine. The counter reads from it while the ticker may
// turn it to another program.
type liveTarget struct {
	*tracer.Process
	s       *live
	turning sync.RWMutex
	closed  bool // guarded by turning
}

// Reopen implements image.
func (p *liveTarget) Reopen() error {
	p.turning.Lock()
	defer p.turning.Unlock()
	return p.Process.Reopen()
}

// ReadMem implements mem.Reader.
func (p *liveTarget) ReadMem(b []byte, addr mem.Addr) (int, error) {
	p.turning.RLock()
	defer p.turning.RUnlock()
	return p.Process.ReadMem(b, addr)
}

// Maps implements image.
func (p *liveTarget) Maps() (*maps.Table, error) {
	p.turning.RLock()
	defer p.turning.RUnlock()
	return p.Process.Maps()
}

// Watch implements target.
func (p *liveTarget) Watch(tid int) (watch, error) {
	w, err := p.Process.Watch(tid)
	if err != nil {
		return nil, err
	}
	return liveWatch{w, p.s}, nil
}

// Walker implements image.
func (p *liveTarget) Walker(set *module.Set, names unwind.Functions, runtimes unwind.Runtimes) walker {
	w := unwind.NewWalker(set, names)
	if runtimes != nil {
		w.Use(runtimes)
	}
	return w
}

// Image implements image. Names are asked for by another goroutine, when the process may be gone.
func (p *liveTarget) Image() module.Image {
	seen := p.Process.Image()
	i := module.Image{Memory: p, Live: seen.Live}
	i.Path = func(path string) (*module.File, error) {
		p.turning.RLock()
		defer p.turning.RUnlock()
		if p.closed {
			return nil, fs.ErrNotExist
		}
		f, err := seen.Path(path)
		if err == nil {
			f.Beside = i.Path
		}
		return f, err
	}
	i.Mapping = func(m *maps.Mapping) (*module.File, error) {
		p.turning.RLock()
		defer p.turning.RUnlock()
		return seen.Mapping(m)
	}
	return i
}

// Close implements target.
func (p *liveTarget) Close() error {
	p.turning.Lock()
	defer p.turning.Unlock()
	p.closed = true
	return p.Process.Close()
}

// liveWatch is a thread of this machine.
type liveWatch struct {
	*tracer.Watch
	s *live
}

// Stop implements watch.
func (w liveWatch) Stop(c *tracer.Copy, table *maps.Table) error {
	return w.s.Sampler.Stop(w.Watch, c, table)
}

// Seize implements watch.
func (w liveWatch) Seize(c *tracer.Copy, table *maps.Table) error {
	return w.s.Sampler.Seize(w.Watch, c, table)
}

// Interrupt implements watch.
func (w liveWatch) Interrupt(c *tracer.Copy) error { return w.s.Sampler.Interrupt(c) }

// Near implements watch.
func (w liveWatch) Near() { w.s.Sampler.Near(w.Watch) }

// First implements counters.
func (w liveWatch) First() (state byte, comm string) { return w.Watch.First() }

// State implements counters.
func (w liveWatch) State() (state byte, comm string, err error) {
	state, comm, _, err = w.Watch.State()
	return state, comm, err
}

// Asleep implements counters.
func (w liveWatch) Asleep() (snapshot.Syscall, bool, error) { return w.Watch.Asleep() }

// OwnCPU implements ticking.
func (s *live) OwnCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
