package sampler

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/snapshot"
)

// busy runs all the time: the first half of each second at 0x2000, then at 0x3000.
func busy(now time.Duration) view {
	pc := uint64(0x2000)
	if now%time.Second >= time.Second/2 {
		pc = 0x3000
	}
	return view{stack: []uint64{pc, 0x4000}, switches: uint64(now), cpu: now}
}

// parked sleeps all the time.
func parked(time.Duration) view { return view{stack: []uint64{0x5000, 0x4000}, asleep: true} }

func TestWallTimeSumsToTheTimeFollowed(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate float64
		late time.Duration // how long each stop of the busy thread takes
	}{
		{"99 a second", 99, 0},
		{"late samples", 99, 35 * time.Millisecond},
		{"one a second", 1, 0},
		{"as fast as it goes", 0, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(10*time.Second + 3*time.Millisecond)
			p := f.process(1)
			p.threads[1] = func(now time.Duration) view { v := busy(now); v.pause = tt.late; return v }
			p.threads[2] = parked
			got, s, _ := drawn(t, f, Options{Rate: tt.rate, KeepOrder: true})
			for _, tid := range []int{1, 2} {
				if _, wall, _ := amounts(got, tid, 0); wall != s.Elapsed {
					t.Errorf("thread %d: wall %v, want %v", tid, wall, s.Elapsed)
				}
			}
			var ordered time.Duration
			for _, r := range got.Runs {
				ordered += r.For
			}
			if ordered != 2*s.Elapsed {
				t.Errorf("runs: %v in all, want %v", ordered, 2*s.Elapsed)
			}
			if tt.rate > 0 {
				cells := uint64(math.Ceil(s.Elapsed.Seconds() * tt.rate))
				if n := s.Ticks + s.LateTicks; n+4 < cells || n > cells+1 { // a late sample may reach over the end
					t.Errorf("%d rounds made, %d missed: want %d in all", s.Ticks, s.LateTicks, cells)
				}
			}
		})
	}
}

func TestParkedThreadsAreReadSeldomAndCopiedOnce(t *testing.T) {
	f := newFake(20 * time.Second)
	p := f.process(1)
	p.threads[1] = busy
	for tid := 2; tid <= 1001; tid++ {
		p.threads[tid] = parked
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	for tid := 2; tid <= 1001; tid++ {
		if f.peeks[tid] != 1 || f.stops[tid] != 0 {
			t.Fatalf("thread %d: %d copies, %d stops, want one and none", tid, f.peeks[tid], f.stops[tid])
		}
		if _, wall, cpu := amounts(got, tid, 0x5000); tid%100 == 2 && (wall != s.Elapsed || cpu != 0) {
			t.Errorf("thread %d: wall %v, cpu %v, want %v and none", tid, wall, cpu, s.Elapsed)
		}
	}
	if most := int(s.Ticks) * 1000 / 3; f.reads > most+200*1000 {
		t.Errorf("counters were read %d times in %d rounds, want at most %d", f.reads, s.Ticks, most)
	}
}

func TestSleeperIsStoppedOnceForItsRegisters(t *testing.T) {
	f := newFake(3 * time.Second)
	p := f.process(1)
	p.threads[1] = func(time.Duration) view { return view{stack: []uint64{0x5000, 0x4000}, asleep: true, needs: true} }
	got, s, _ := drawn(t, f, Options{Rate: 99})
	if f.peeks[1] != 1 || f.stops[1] != 1 || s.Stops != 1 {
		t.Errorf("%d copies, %d stops, %d reported, want 1 of each", f.peeks[1], f.stops[1], s.Stops)
	}
	if _, wall, _ := amounts(got, 1, 0x5000); wall != s.Elapsed {
		t.Errorf("wall %v, want %v", wall, s.Elapsed)
	}
}

// TestShortSleepsAreStoppedToo: a thread that is never found twice in the same sleep is stopped in one of them, once a
// second; not in a call that a stop would end.
func TestShortSleepsAreStoppedToo(t *testing.T) {
	const epollWait = 232
	for _, c := range []struct {
		call        int64
		least, most int
	}{{0, 1, 4}, {epollWait, 0, 0}} {
		f := newFake(3 * time.Second)
		p := f.process(1)
		p.threads[1] = func(now time.Duration) view {
			return view{stack: []uint64{0x5000, 0x4000}, asleep: true, needs: true, call: c.call,
				switches: uint64(now / time.Millisecond)}
		}
		got, s, _ := drawn(t, f, Options{Rate: 99})
		if n := f.stops[1]; n < c.least || n > c.most {
			t.Errorf("call %d: %d stops in 3 s, want %d to %d", c.call, n, c.least, c.most)
		}
		if _, wall, _ := amounts(got, 1, 0x5000); wall != s.Elapsed {
			t.Errorf("call %d: wall %v, want %v", c.call, wall, s.Elapsed)
		}
	}
}

// TestBurstsGetTheirShares draws a program that computes 3 ms (half of it in 0x2000, 30 % in
// 0x2100, 20 % in 0x2200) and sleeps a little more than 7 ms.
func TestBurstsGetTheirShares(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cycle time.Duration
	}{
		{"cycle near the period", 10090 * time.Microsecond},
		{"cycle is the period", 10101010 * time.Nanosecond},
		{"cycle of three periods", 30303030 * time.Nanosecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(200 * time.Second)
			f.process(1).threads[1] = func(now time.Duration) view {
				cycles, at := now/tt.cycle, now%tt.cycle
				v := view{switches: uint64(cycles), cpu: cycles * 3 * time.Millisecond}
				switch {
				case at < 1500*time.Microsecond:
					v.stack = []uint64{0x2000, 0x4000}
				case at < 2400*time.Microsecond:
					v.stack = []uint64{0x2100, 0x4000}
				case at < 3*time.Millisecond:
					v.stack = []uint64{0x2200, 0x4000}
				default:
					v.stack, v.asleep, at = []uint64{0x5000, 0x4000}, true, 3*time.Millisecond
				}
				v.cpu += at
				return v
			}
			got, s, _ := drawn(t, f, Options{Rate: 99})
			_, _, all := amounts(got, 1, 0)
			want := s.Elapsed * 3 * time.Millisecond / tt.cycle / time.Nanosecond
			if d := all - want; d < -20*time.Millisecond || d > 20*time.Millisecond {
				t.Errorf("cpu %v in all, want %v", all, want)
			}
			for pc, share := range map[uint64]float64{0x2000: 50, 0x2100: 30, 0x2200: 20} {
				_, wall, cpu := amounts(got, 1, pc)
				wantWall := share / 100 * float64(3*time.Millisecond) / float64(tt.cycle) * 100
				gotCPU, gotWall := 100*float64(cpu)/float64(all), 100*float64(wall)/float64(s.Elapsed)
				if math.Abs(gotCPU-share) > 2 || math.Abs(gotWall-wantWall) > 1 {
					t.Errorf("at %#x: cpu %.1f%%, wall %.1f%%, want %.1f%% and %.1f%%", pc, gotCPU, gotWall, share,
						wantWall)
				}
			}
		})
	}
}

func TestThreadThatNeverIsCaughtRunning(t *testing.T) {
	f := newFake(5 * time.Second)
	f.process(1).threads[1] = func(now time.Duration) view {
		return view{stack: []uint64{0x5000}, asleep: true, switches: uint64(now / time.Second),
			cpu: now / time.Second * time.Millisecond}
	}
	got, _, _ := drawn(t, f, Options{Rate: 99})
	for i, s := range got.Samples {
		if fr := got.Frames[got.Tree.Frame(s.Stack)]; fr.Func == wordBetween {
			if v := got.Value(i); v[2] != int64(4*time.Millisecond) && v[2] != int64(5*time.Millisecond) || v[1] != 0 {
				t.Errorf("%s: got %v, want 4 ms of cpu", wordBetween, v)
			}
			return
		}
	}
	t.Errorf("no stack %q", wordBetween)
}

func TestThreadsAndChildrenAppearAndEnd(t *testing.T) {
	f := newFake(4 * time.Second)
	p := f.process(1)
	p.threads[1] = func(now time.Duration) view {
		if now >= time.Second && f.last == 100 { // it starts a thread and a process
			p.threads[101] = func(now time.Duration) view { v := busy(now); v.gone = now >= 2*time.Second; return v }
			q := f.process(102)
			q.threads[102] = func(now time.Duration) view { v := busy(now); v.gone = now >= 2*time.Second; return v }
			f.kin[101], f.kin[102] = [2]int{1, 0}, [2]int{102, 1}
			f.last = 102
		}
		return parked(now)
	}
	got, s, _ := drawn(t, f, Options{Rate: 99, Children: true})
	for _, tid := range []int{101, 102} {
		if _, wall, _ := amounts(got, tid, 0); wall < 980*time.Millisecond || wall > 1020*time.Millisecond {
			t.Errorf("thread %d: wall %v, want 1 s and no more than two periods less or more", tid, wall)
		}
	}
	if s.Ended != 1 || s.Processes != 1 {
		t.Errorf("%d processes ended, %d left, want 1 and 1", s.Ended, s.Processes)
	}
}

func TestExecMakesAnotherTask(t *testing.T) {
	f := newFake(2 * time.Second)
	p := f.process(1)
	done := false
	p.threads[1] = func(now time.Duration) view {
		if now >= time.Second && !done {
			done, p.comm = true, "q"
			p.replaced.Store(true)
		}
		return busy(now)
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	wall := map[string]time.Duration{}
	for i, sample := range got.Samples {
		wall[got.Tasks[sample.Task].Process] += time.Duration(got.Value(i)[1])
	}
	if len(wall) != 2 || wall["p"]+wall["q"] < s.Elapsed-11*time.Millisecond || wall["q"] < 980*time.Millisecond {
		t.Errorf("got %v, want p and q with a second each", wall)
	}
}

// TestShortfalls: what Copiers did not get is counted, once a sample, and is none of the notes, which the profile has.
func TestShortfalls(t *testing.T) {
	f := newFake(4 * time.Second)
	p := f.process(1)
	p.threads[1], p.threads[2] = busy, parked
	_, s, _ := drawn(t, f, Options{Rate: 99})
	if s.Short != 0 || s.Shortfall != "" {
		t.Errorf("nothing asked for: %d samples, %q", s.Short, s.Shortfall)
	}
	f = newFake(4 * time.Second)
	p = f.process(1)
	p.threads[2] = parked
	p.threads[1] = func(now time.Duration) view {
		v := busy(now)
		if now > 2*time.Second {
			v.shortfalls = []snapshot.Shortfall{{Copier: "first", Why: snapshot.ErrSpent},
				{Copier: "toy", Why: snapshot.ErrSpent}}
		}
		return v
	}
	_, s, _ = drawn(t, f, Options{Rate: 99})
	want := snapshot.Shortfall{Copier: "toy", Why: snapshot.ErrSpent}.String()
	if all := uint64(s.Stops); s.Short < all/3 || s.Short > 2*all/3 || s.Shortfall != want || len(s.Notes) != 0 {
		t.Errorf("%d of %d samples, %q, notes %q, want half of them and %q", s.Short, all, s.Shortfall, s.Notes, want)
	}
}

func TestBackOffIsReported(t *testing.T) {
	f := newFake(8 * time.Second)
	f.process(1).threads[1] = busy
	f.cpu = func(now time.Duration) time.Duration { return now / 10 } // ten times what is allowed
	_, s, _ := drawn(t, f, Options{Rate: 99, MaxOverhead: 0.01})
	if s.BackedOff < 3 || s.Rate > 60 || len(s.Notes) != 1 {
		t.Errorf("lowered %d times, %.1f rounds a second, notes %q", s.BackedOff, s.Rate, s.Notes)
	}
}

// TestTakesAddUp takes twice while the recording goes on, and once after it.
func TestTakesAddUp(t *testing.T) {
	f := newFake(6 * time.Second)
	p := f.process(1)
	p.threads[2] = parked
	var r *Recorder
	taken := make(chan time.Duration, 2)
	next := 2 * time.Second
	p.threads[1] = func(now time.Duration) view {
		if now >= next && next < 6*time.Second {
			next += 2 * time.Second
			requested := make(chan struct{})
			go func() {
				close(requested)
				got, err := r.Take()
				if err != nil {
					t.Error(err)
				}
				_, wall, _ := amounts(got, 0, 0)
				taken <- wall
			}()
			<-requested
		}
		return busy(now)
	}
	r = newRecorder(Options{Rate: 99}, f)
	defer r.Close()
	got, s := finish(t, r, f)
	_, wall, _ := amounts(got, 0, 0)
	wall += <-taken + <-taken
	if wall != 2*s.Elapsed {
		t.Errorf("three takes: wall %v in all, want %v", wall, 2*s.Elapsed)
	}
}

// A fault of ours on one stack must end neither the recording nor who draws it on a terminal.
func TestFaultCostsOneSample(t *testing.T) {
	f := newFake(5 * time.Second)
	p := f.process(1)
	p.threads[1] = busy
	p.threads[2] = func(now time.Duration) view {
		v := busy(now)
		if now > time.Second && now < 2*time.Second {
			v.stack = append([]uint64{faulty}, v.stack...)
		}
		return v
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	if _, wall, _ := amounts(got, 1, 0); wall != s.Elapsed {
		t.Errorf("the other thread: wall %v, want %v", wall, s.Elapsed)
	}
	if _, wall, _ := amounts(got, 2, 0); wall < 3*time.Second {
		t.Errorf("the thread itself: wall %v, want most of %v", wall, s.Elapsed)
	}
	if !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "fault") }) {
		t.Errorf("notes %q do not say so", s.Notes)
	}
}

// TestFaultCostsOneRound: a fault on the OS thread that stops threads costs what was under way, and is reported. One
// that comes at each round ends the recording, which keeps what it has.
func TestFaultCostsOneRound(t *testing.T) {
	for _, row := range []struct {
		until time.Duration
		least time.Duration // of the time of the other thread
	}{
		{1500 * time.Millisecond, 4800 * time.Millisecond},
		{time.Hour, 900 * time.Millisecond},
	} {
		f := newFake(5 * time.Second)
		p := f.process(1)
		p.threads[1] = busy
		p.threads[2] = func(now time.Duration) view {
			v := busy(now)
			v.fault = now > time.Second && now < row.until
			return v
		}
		got, s, r := drawn(t, f, Options{Rate: 99})
		if _, wall, _ := amounts(got, 1, 0); wall < row.least {
			t.Errorf("until %v: the other thread has %v of %v", row.until, wall, s.Elapsed)
		}
		if len(r.ticker.queue.interrupted) > 0 || len(r.ticker.queue.toStop) > 0 || !slices.ContainsFunc(s.Notes,
			func(n string) bool { return strings.Contains(n, "fault") }) {
			t.Errorf("until %v: %d interrupted, notes %q", row.until, len(r.ticker.queue.interrupted), s.Notes)
		}
	}
}

// TestFaultBeforeStops: a fault while threads are looked at costs none of them its place among those that are sampled.
func TestFaultBeforeStops(t *testing.T) {
	f := newFake(5 * time.Second)
	p := f.process(1)
	for tid := 1; tid <= 5; tid++ {
		p.threads[tid] = busy
	}
	p.threads[3] = func(now time.Duration) view {
		v := busy(now)
		v.trap = now > time.Second && now < 1500*time.Millisecond
		return v
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	for tid := 1; tid <= 5; tid++ {
		if n, wall, _ := amounts(got, tid, 0); wall != s.Elapsed || n < 390 {
			t.Errorf("thread %d: %d samples, %v of %v", tid, n, wall, s.Elapsed)
		}
	}
}

// TestFaultKeepsNoCopy: what a sleeper's stack was to be copied into when a fault came is there for the next.
func TestFaultKeepsNoCopy(t *testing.T) {
	f := newFake(5 * time.Second)
	p := f.process(1)
	p.threads[1] = busy
	p.threads[2] = func(now time.Duration) view {
		v := parked(now)
		v.cpu, v.switches = now, uint64(now) // it ran in between: each round copies it
		v.fault = now > time.Second && now < 1800*time.Millisecond
		return v
	}
	_, s, r := drawn(t, f, Options{Rate: 99})
	if !slices.ContainsFunc(s.Notes, func(n string) bool { return strings.Contains(n, "fault") }) {
		t.Fatalf("notes %q: no fault came", s.Notes)
	}
	if n := len(r.ticker.out.spare) + len(r.ticker.out.free); n != copies {
		t.Errorf("%d of %d copies are left", n, copies)
	}
}

// TestFaultOfCaller: what is done between two rounds for somebody else ends him, not the recording.
func TestFaultOfCaller(t *testing.T) {
	f := newFake(1 << 62) // it ends when the test says so
	f.process(1).threads[1] = busy
	r := newRecorder(Options{Rate: 99}, f)
	defer r.Close()
	f.settle = func() { time.Sleep(10 * time.Microsecond) }
	if err := r.Add(1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ran := make(chan error)
	go func() { ran <- r.Run(ctx) }()
	for r.Stats().Ticks == 0 {
		time.Sleep(time.Millisecond)
	}
	fault := func() (v any) {
		defer func() { v = recover() }()
		r.Hold(func() { panic("of the caller") })
		return nil
	}()
	if fault != "of the caller" {
		t.Errorf("the caller got %v", fault)
	}
	before := r.Stats().Ticks
	for end := time.Now().Add(10 * time.Second); r.Stats().Ticks == before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if r.Stats().Ticks == before {
		t.Error("the recording does not go on")
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

// TestWantOfDescriptors has nothing that can be opened of a process for a while, in which it does what it did, begins
// another program, or has new threads. It is kept, sampled again, and the want is reported.
func TestWantOfDescriptors(t *testing.T) {
	const from, until = 1500 * time.Millisecond, 3500 * time.Millisecond
	for _, row := range []struct {
		name string
		then func(p *fakeProcess, now time.Duration)
	}{
		{"goes on", func(*fakeProcess, time.Duration) {}},
		{"begins another program before", func(p *fakeProcess, now time.Duration) {
			if now > from-5*time.Millisecond && now < from && p.reopened == 0 {
				p.replaced.Store(true)
			}
		}},
		{"begins another program meanwhile", func(p *fakeProcess, now time.Duration) {
			if now > from && now < until && p.reopened == 0 {
				p.replaced.Store(true)
			}
		}},
	} {
		f := newFake(6 * time.Second)
		p := f.process(1)
		p.wants = func(now time.Duration) bool { return now > from && now < until }
		p.threads[1] = func(now time.Duration) view { row.then(p, now); return busy(now) }
		p.threads[2] = func(now time.Duration) view { v := busy(now); v.asleep = true; return v }
		p.threads[3] = func(now time.Duration) view { v := busy(now); v.gone = now < 2*time.Second; return v }
		got, s, _ := drawn(t, f, Options{Rate: 99})
		if s.Elapsed < 6*time.Second {
			t.Errorf("%s: the recording ended after %v: %q", row.name, s.Elapsed, s.Notes)
		}
		for tid, least := range map[int]time.Duration{1: 3500 * time.Millisecond, 2: 3500 * time.Millisecond,
			3: 1400 * time.Millisecond} {
			if _, wall, _ := amounts(got, tid, 0); wall < least {
				t.Errorf("%s: thread %d: wall %v, want at least %v", row.name, tid, wall, least)
			}
		}
		if s.Ended != 0 || !slices.ContainsFunc(s.Notes,
			func(n string) bool { return strings.Contains(n, "no descriptors or memory left") }) {
			t.Errorf("%s: %d ended, notes %q", row.name, s.Ended, s.Notes)
		}
	}
}

// TestEndedBeforeTheFirstRoundIsSeenOnce has recordings end before a sample is due: each thread has one, and its time.
func TestEndedBeforeTheFirstRoundIsSeenOnce(t *testing.T) {
	for _, end := range []time.Duration{0, 1, 50 * time.Millisecond} {
		f := newFake(end)
		p := f.process(1)
		p.threads[1], p.threads[2] = busy, parked
		f.readTime = time.Microsecond
		r := newRecorder(Options{Rate: 0.1}, f)
		t.Cleanup(func() { r.Close() })
		if err := r.Add(1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if f.cancel = cancel; end == 0 {
			cancel() // before it begins
		}
		f.settle = r.settled
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		got, err := r.Take()
		if err != nil {
			t.Fatal(err)
		}
		for tid, top := range map[int]uint64{1: 0x2000, 2: 0x5000} {
			elapsed := r.Stats().Elapsed
			samples, wall, _ := amounts(got, tid, top)
			if samples != 1 || wall > elapsed || wall+4*f.readTime < elapsed || wall == 0 {
				t.Errorf("end after %v: thread %d has %d samples and %v, want 1 and %v", end, tid, samples, wall,
					elapsed)
			}
		}
		cancel()
	}
}
