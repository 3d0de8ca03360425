package sampler

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tracer"
)

// TestRoundsDoNotWaitForThreads has eight threads that each wait 15 ms for a CPU before they stop. Rounds
// come in their time anyway, each thread has a sample in each, and all its time.
func TestRoundsDoNotWaitForThreads(t *testing.T) {
	f := newFake(10*time.Second + 3*time.Millisecond)
	p := f.process(1)
	for tid := 1; tid <= 8; tid++ {
		p.threads[tid] = func(now time.Duration) view { v := busy(now); v.pause = 15 * time.Millisecond; return v }
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	if rounds := uint64(99 * 10); s.Ticks < rounds-2*10 || s.LateTicks > 2*10 { // once a second all are waited for
		t.Errorf("%d rounds in time, %d late, want about %d and none", s.Ticks, s.LateTicks, rounds)
	}
	if s.Stops >= 8*s.Ticks*3/4 {
		t.Errorf("%d stops of eight threads in %d rounds: threads that were waited for are interrupted again", s.Stops,
			s.Ticks)
	}
	for tid := 1; tid <= 8; tid++ {
		samples, wall, _ := amounts(got, tid, 0)
		if samples < int64(s.Ticks)-10 || samples > int64(s.Ticks) || wall != s.Elapsed {
			t.Errorf("thread %d: %d samples in %d rounds, wall %v of %v", tid, samples, s.Ticks, wall, s.Elapsed)
		}
		if _, first, _ := amounts(got, tid, 0x2000); math.Abs(first.Seconds()/wall.Seconds()-0.5) > 0.02 {
			t.Errorf("thread %d: %v of %v in the first half of each second", tid, first, wall)
		}
	}
}

// TestMoreThreadsThanAreInterrupted has more threads that wait for a CPU than are interrupted at a time: each
// comes to its turn, and none loses time.
func TestMoreThreadsThanAreInterrupted(t *testing.T) {
	f := newFake(10 * time.Second)
	p := f.process(1)
	const threads = 2*maxInterrupted + 10
	for tid := 1; tid <= threads; tid++ {
		p.threads[tid] = func(now time.Duration) view { v := busy(now); v.pause = 5 * time.Millisecond; return v }
	}
	got, s, _ := drawn(t, f, Options{Rate: 50})
	for tid := 1; tid <= threads; tid++ {
		if samples, wall, _ := amounts(got, tid, 0); samples < 100 || wall < s.Elapsed-200*time.Millisecond ||
			wall > s.Elapsed {
			t.Errorf("thread %d: %d samples, wall %v of %v", tid, samples, wall, s.Elapsed)
		}
	}
}

// TestNobodyStaysStoppedForOthers has threads that run among many that wake and sleep again, some of which have to be
// stopped in their sleep: copying those takes its time, and no thread stays stopped meanwhile.
func TestNobodyStaysStoppedForOthers(t *testing.T) {
	for _, row := range []struct {
		name  string
		pause time.Duration // until one that runs stops
	}{
		{"threads that have a CPU", 10 * time.Microsecond},
		{"threads that wait for one for several rounds", 25 * time.Millisecond},
	} {
		f := newFake(3 * time.Second)
		f.peekTime = 5 * time.Microsecond
		p := f.process(1)
		for tid := 1; tid <= 60; tid++ {
			p.threads[tid] = func(now time.Duration) view {
				v := busy(now)
				if tid%20 == 0 {
					v.pause = row.pause
					return v
				}
				v.asleep, v.needs, v.switches = true, tid%20 == 1, uint64(now/(7*time.Millisecond))
				return v
			}
		}
		_, s, _ := drawn(t, f, Options{Rate: 99})
		if s.Peeks < 50*s.Ticks/2 || s.Stops == 0 {
			t.Errorf("%s: %d copies without a stop and %d stops in %d rounds", row.name, s.Peeks, s.Stops, s.Ticks)
		}
		if f.stopped > 2*f.peekTime {
			t.Errorf("%s: one was stopped for %v before it was copied, while a copy of another takes %v", row.name,
				f.stopped, f.peekTime)
		}
	}
}

// TestThreadThatNeverStops is given up, and those beside it go on.
func TestThreadThatNeverStops(t *testing.T) {
	f := newFake(5 * time.Second)
	p := f.process(1)
	p.threads[1] = busy
	p.threads[2] = func(now time.Duration) view { v := busy(now); v.pause = time.Hour; return v }
	got, s, _ := drawn(t, f, Options{Rate: 99})
	if _, wall, _ := amounts(got, 1, 0); wall != s.Elapsed {
		t.Errorf("thread 1: wall %v of %v", wall, s.Elapsed)
	}
	if samples, _, _ := amounts(got, 2, 0); samples != 0 {
		t.Errorf("thread 2: %d samples of a thread that was never seen", samples)
	}
	if s.Lost == 0 {
		t.Error("no sample was lost")
	}
}

// TestThreadEndsWhileInterrupted has a thread end before it stops: its time ends there.
func TestThreadEndsWhileInterrupted(t *testing.T) {
	f := newFake(3 * time.Second)
	p := f.process(1)
	p.threads[1] = busy
	p.threads[2] = func(now time.Duration) view {
		v := busy(now)
		v.pause, v.gone = 30*time.Millisecond, now > time.Second
		return v
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	if _, wall, _ := amounts(got, 2, 0); wall < 900*time.Millisecond || wall > 1050*time.Millisecond {
		t.Errorf("thread 2, which lived for a second: wall %v of %v", wall, s.Elapsed)
	}
}

// TestCPUTimeGoesToWhatRan has a thread run for 10 ms, wait for a CPU for 10, and sleep for 30: with either
// mode no CPU time is given to the place where it waited, but for what it may have lost to us: wakeTime of 10 ms.
func TestCPUTimeGoesToWhatRan(t *testing.T) {
	const part, cycle = 10 * time.Millisecond, 50 * time.Millisecond
	for _, mode := range []Mode{Wall, CPU} {
		f := newFake(20 * time.Second)
		p := f.process(1)
		p.threads[1] = func(now time.Duration) view {
			n, at := now/cycle, now%cycle
			v := view{cpu: n*part + min(at, part), waited: n * part, switches: uint64(2 * n)}
			switch {
			case at < part:
				v.stack = []uint64{0x2000, 0x4000}
			case at < 2*part:
				v.stack, v.pause = []uint64{0x3000, 0x4000}, 2*part-at
			default:
				v.stack, v.asleep, v.waited, v.switches = []uint64{0x5000, 0x4000}, true, v.waited+part, v.switches+1
			}
			return v
		}
		got, s, _ := drawn(t, f, Options{Rate: 99, Mode: mode})
		samples, _, cpu := amounts(got, 1, 0x3000)
		if samples < int64(s.Ticks)/10 || cpu > 80*time.Millisecond {
			t.Errorf("mode %v: %d samples of %d rounds, and %v of CPU time, where it waited for a CPU", mode, samples,
				s.Ticks, cpu)
		}
		if _, _, cpu := amounts(got, 1, 0x2000); cpu < 3850*time.Millisecond || cpu > 4*time.Second {
			t.Errorf("mode %v: %v of CPU time where it ran, want 4 s", mode, cpu)
		}
	}
}

// TestStateOfStopped: who has had no CPU for longer than the round lasts did not lose it to us, and who waited for a
// shorter time slept.
func TestStateOfStopped(t *testing.T) {
	const us = time.Microsecond
	for _, tt := range []struct {
		name                                  string
		waited, since, pause, held, unnoticed time.Duration
		again                                 uint64 // times it was put on a CPU
		want                                  state
		cut                                   bool // its call was cut by the stop
		elsewhere                             bool
	}{
		{"it ran on another CPU", 0, 30 * us, 20 * us, 10 * us, 0, 0, onCPU, false, false},
		{"it ran on another CPU, and we saw its stop late", 0, 30 * us, 4000 * us, 10 * us, 3900 * us, 0, onCPU, false,
			false},
		{"we took its CPU, and another thread came next", 3000 * us, 30 * us, 2980 * us, 5 * us, 0, 1, onCPU, false,
			false},
		{"we took its CPU, and saw its stop late", 3000 * us, 30 * us, 6980 * us, 5 * us, 4000 * us, 1, onCPU, false,
			false},
		{"it had waited for a millisecond", 4000 * us, 30 * us, 2980 * us, 5 * us, 0, 1, waiting, false, false},
		{"it had waited for a millisecond, and we saw its stop late", 4000 * us, 30 * us, 6980 * us, 5 * us, 4000 * us,
			1, waiting, false, false},
		{"it was interrupted last of many", 370 * us, 350 * us, 20 * us, 5 * us, 0, 1, onCPU, false, false},
		{"it had waited, and was interrupted last of many", 800 * us, 350 * us, 20 * us, 5 * us, 0, 1, waiting, false,
			false},
		{"it slept, and our stop woke it", 3 * us, 60 * us, 25 * us, 5 * us, 0, 1, slept, false, false},
		{"it fell asleep just before it was interrupted, and our stop cut its sleep", 3 * us, 40 * us, 25 * us, 5 * us,
			0, 1, slept, true, false},
		{"the same on another CPU", 3 * us, 40 * us, 25 * us, 5 * us, 0, 1, slept, true, true},
		{"the same, and its CPU went to another thread first", 3003 * us, 40 * us, 3025 * us, 5 * us, 0, 1, slept, true,
			false},
		{"it ran, on its way into a sleep", 0, 40 * us, 25 * us, 5 * us, 0, 0, onCPU, true, true},
		{"we took its CPU on its way into a sleep", 60 * us, 40 * us, 25 * us, 5 * us, 0, 1, onCPU, true, false},
		{"it woke just before the round, on a CPU that another has", 85 * us, 40 * us, 25 * us, 5 * us, 0, 1, waiting,
			false, false},
		{"it woke with the round, on another CPU than ours", 60 * us, 40 * us, 25 * us, 5 * us, 0, 1, waiting, false,
			true},
		{"it slept a moment before it was interrupted", 3 * us, 2000 * us, 1025 * us, 5 * us, 1000 * us, 2, slept,
			false, false},
	} {
		s := stop{before: tracer.Counters{Waited: time.Second, Switches: 7}, since: tt.since}
		c := &tracer.Copy{Pause: tt.pause, Stopped: tt.held, Unnoticed: tt.unnoticed,
			AtStop: tracer.Counters{Waited: time.Second + tt.waited, Switches: 7 + tt.again}}
		if c.Elsewhere = tt.elsewhere; tt.cut {
			r := regs.New(regs.AMD64)
			r.Set(regs.AMD64.Syscall, 232)       // epoll_wait
			r.Set(regs.AMD64.Result, ^uint64(3)) // -EINTR
			c.Thread.Registers = &r
		}
		if got := s.state(c); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// TestExecWhileTraced has a process begin another program while something of it may still be traced by us:
// it is opened again once that is over, and not let go.
func TestExecWhileTraced(t *testing.T) {
	f := newFake(3 * time.Second)
	p := f.process(1)
	p.threads[1] = func(now time.Duration) view {
		if now > time.Second && p.reopened == 0 && !p.replaced.Load() {
			p.replaced.Store(true)
			f.dirty = true
		}
		return busy(now)
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	if _, wall, _ := amounts(got, 1, 0); p.reopened != 1 || wall < s.Elapsed-100*time.Millisecond {
		t.Errorf("opened again %d times, wall %v of %v, %q", p.reopened, wall, s.Elapsed, s.Notes)
	}
}

// TestSleeperInNewMappings has a thread fall asleep for good in a library that was mapped while the mappings
// could not be read again, as that takes long: its stack is whole later on, by one stop more.
func TestSleeperInNewMappings(t *testing.T) {
	f := newFake(5 * time.Second)
	p := f.process(1)
	p.slowMaps = 10 * time.Millisecond
	p.threads[1] = func(now time.Duration) view { v := busy(now); v.unmapped = now < 50*time.Millisecond; return v }
	p.threads[2] = func(now time.Duration) view {
		v := busy(now)
		if now > 100*time.Millisecond {
			v.stack, v.asleep, v.unmapped, v.switches = []uint64{0x5000, 0x6000}, true, true, 1<<40
		}
		return v
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	whole := time.Duration(0)
	for i, sample := range got.Samples {
		if names := stackNames(got, sample.Stack); got.Tasks[sample.Task].TID == 2 &&
			strings.Contains(names, "0x6000") {
			whole += time.Duration(got.Value(i)[1])
		}
	}
	if whole < 3*time.Second || f.stops[2] > 20 {
		t.Errorf("its whole stack has %v of %v; %d stops", whole, s.Elapsed, f.stops[2])
	}
}

// stackNames lists the addresses of a stack, innermost first.
func stackNames(p *profile.Profile, n profile.NodeID) string {
	var all []string
	for ; n != 0; n = p.Tree.Parent(n) {
		all = append(all, fmt.Sprintf("%#x", p.Frames[p.Tree.Frame(n)].Addr))
	}
	return strings.Join(all, " ")
}

// TestNobodyStaysStoppedForABuffer: a counter that is behind is waited for, but not while threads may be stopped.
func TestNobodyStaysStoppedForABuffer(t *testing.T) {
	k := newTicker(nil, &Options{}, newBatches(nil), make(chan *tracer.Copy), nil)
	k.queue.interrupted = []interrupted{{}}
	if c := k.buffer(0); c != nil || k.out.waited {
		t.Errorf("got %v, waited %v", c, k.out.waited)
	}
	k.queue.interrupted = nil
	if c := k.buffer(0); c != nil || !k.out.waited {
		t.Errorf("with nobody interrupted: got %v, waited %v", c, k.out.waited)
	}
}
