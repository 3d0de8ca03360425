package sampler

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tracer/connector"
)

// fakeEvents reports drawn events at drawn moments.
type fakeEvents struct {
	f                    *fake
	events               []timed                     // in order of time
	strange              func(now time.Duration) int // events of others since the last reading
	err                  error                       // given once
	opened, closed, read int
}

type timed struct {
	at time.Duration
	connector.Event
}

func (h *fakeEvents) Read(into []connector.Event) (n int, err error) {
	err, h.err = h.err, nil
	if h.strange != nil {
		for range min(len(into), h.strange(h.f.Now())) {
			into[n] = connector.Event{PID: 1 << 20, TID: 1 << 20, Parent: 1 << 19}
			n++
		}
	}
	for n < len(into) && len(h.events) > 0 && h.events[0].at <= h.f.Now() {
		into[n], h.events = h.events[0].Event, h.events[1:]
		n++
	}
	h.read += n
	return n, err
}

func (h *fakeEvents) Close() error { h.closed++; return nil }

// eventSource has f report events, and nothing else: what is found is found by them.
func (f *fake) announces(events ...timed) *fakeEvents {
	f.eventSource = &fakeEvents{f: f, events: events}
	return f.eventSource
}

func begins(at time.Duration, pid, parent int) timed {
	return timed{at, connector.Event{PID: pid, TID: pid, Parent: parent}}
}
func ends(at time.Duration, pid int) timed {
	return timed{at, connector.Event{Ended: true, PID: pid, TID: pid}}
}

// lives adds a process of one busy thread that lives from one moment to another. /proc shows it below no other.
func (f *fake) lives(pid int, from, to time.Duration) {
	p := f.process(pid)
	p.life = func(now time.Duration) bool { return now >= from && now < to }
	p.threads[pid] = func(now time.Duration) view {
		v := busy(now)
		v.gone = now >= to
		return v
	}
}

func pids(got []int, tid int) []int {
	if !slices.Contains(got, tid) {
		got = append(got, tid)
	}
	return got
}

func TestWhatTheKernelReportsIsFollowed(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name     string
		children bool
		draw     func(f *fake, p *fakeProcess)
		want     []int // processes seen, beside the first
		unmet    uint64
	}{
		{"a child", true, func(f *fake, _ *fakeProcess) {
			f.lives(200, 105*ms, 900*ms)
			f.announces(begins(105*ms, 200, 1), ends(900*ms, 200))
		}, []int{200}, 0},
		{"a child that nobody wants", false, func(f *fake, _ *fakeProcess) {
			f.lives(200, 105*ms, 900*ms)
			f.announces(begins(105*ms, 200, 1), ends(900*ms, 200))
		}, nil, 0},
		{"a daemon that forked twice, its parent ended before the next round", true, func(f *fake, _ *fakeProcess) {
			f.lives(201, 105*ms, 900*ms)
			f.announces(begins(105*ms, 200, 1), begins(105*ms, 201, 200), ends(105*ms, 200))
		}, []int{201}, 1},
		{"a daemon whose parent was followed to its end before it was reported", true, func(f *fake, _ *fakeProcess) {
			f.lives(200, 105*ms, 205*ms)
			f.lives(201, 205*ms, 900*ms)
			f.announces(begins(105*ms, 200, 1), begins(225*ms, 201, 200), ends(225*ms, 200))
		}, []int{200, 201}, 0},
		{"a child of another", true, func(f *fake, _ *fakeProcess) {
			f.lives(200, 105*ms, 900*ms)
			f.announces(begins(105*ms, 200, 7))
		}, nil, 0},
		{"one that took the id of a child of ours that ended, and is another's", true, func(f *fake, _ *fakeProcess) {
			f.lives(200, 305*ms, 900*ms)
			f.announces(begins(105*ms, 200, 1), ends(105*ms, 200), begins(305*ms, 200, 7))
		}, nil, 1},
		{"commands too short to be seen", true, func(f *fake, _ *fakeProcess) {
			var all []timed
			for i := range 50 {
				all = append(all, begins(105*ms, 300+i, 1), ends(105*ms, 300+i))
			}
			f.announces(all...)
		}, nil, 50},
		{"one whose end was not reported yet", true, func(f *fake, _ *fakeProcess) {
			f.announces(begins(105*ms, 200, 1), ends(300*ms, 200))
		}, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(time.Second)
			p := f.process(1)
			p.threads[1] = busy
			tt.draw(f, p)
			got, s, _ := drawn(t, f, Options{Rate: 99, Children: tt.children})
			var seen []int
			for _, sample := range got.Samples {
				if pid := got.Tasks[sample.Task].PID; pid != 1 {
					seen = pids(seen, pid)
				}
			}
			slices.Sort(seen)
			if !slices.Equal(seen, tt.want) || s.UnmetProcesses != tt.unmet || s.UnmetThreads != 0 {
				t.Errorf("saw %v, %d and %d ended unmet, want %v, %d and 0", seen, s.UnmetProcesses, s.UnmetThreads,
					tt.want, tt.unmet)
			}
			if !s.Heard || !s.AllHeard {
				t.Errorf("heard %v, all %v", s.Heard, s.AllHeard)
			}
		})
	}
}

func TestThreadsThatTheKernelReports(t *testing.T) {
	const ms = time.Millisecond
	f := newFake(time.Second)
	p := f.process(1)
	p.threads[1] = busy
	from := func(at time.Duration) func(time.Duration) view {
		return func(now time.Duration) view {
			v := busy(now)
			v.gone = now < at
			return v
		}
	}
	p.threads[10] = from(105 * ms)
	f.announces(timed{105 * ms, connector.Event{PID: 1, TID: 10}},
		timed{305 * ms, connector.Event{PID: 1, TID: 11}},
		timed{305 * ms, connector.Event{PID: 1, TID: 11, Ended: true}})
	got, s, _ := drawn(t, f, Options{Rate: 99})
	if n, wall, _ := amounts(got, 10, 0); n < 85 || wall < 880*ms || wall > 910*ms {
		t.Errorf("thread 10: %d samples, %v", n, wall)
	}
	if s.UnmetThreads != 1 || s.UnmetProcesses != 0 {
		t.Errorf("%d threads and %d processes ended unmet, want one and none", s.UnmetThreads, s.UnmetProcesses)
	}
}

// What is lost is found in the old way, and the stats say that the count may be short.
func TestEventsThatWereLost(t *testing.T) {
	for name, err := range map[string]error{"an overrun": connector.ErrMissed, "an end": errors.New("gone")} {
		t.Run(name, func(t *testing.T) {
			f := newFake(time.Second)
			p := f.process(1)
			p.threads[1] = busy
			f.announces()
			f.births = func(now time.Duration) {
				if now > 100*time.Millisecond && f.last == 100 {
					f.last = 200
					f.lives(200, 0, time.Hour)
					p.children = []int{200}
				}
			}
			r := newRecorder(Options{Rate: 99, Children: true}, f)
			t.Cleanup(func() { r.Close() })
			rounds := 0
			r.draw = func() float64 {
				if rounds++; f.Now() > 100*time.Millisecond && f.last == 100 {
					f.eventSource.err = err
				}
				return 0.5
			}
			got, s := finish(t, r, f)
			n := 0
			for _, sample := range got.Samples {
				if got.Tasks[sample.Task].PID == 200 {
					n++
				}
			}
			if n == 0 || !s.Heard || s.AllHeard {
				t.Errorf("%d stacks of the child, heard %v, all %v, want some, true, false", n, s.Heard, s.AllHeard)
			}
		})
	}
}

// A machine on which others make ten thousands of threads a second costs a bounded number of readings.
func TestStormOfOthers(t *testing.T) {
	for _, rate := range []float64{99, 19, 5, 0.5} {
		for _, each := range []time.Duration{10 * time.Microsecond, 50 * time.Microsecond} { // one event in so long
			f := newFake(20*time.Second + time.Duration(20/rate)*time.Second)
			f.process(1).threads[1] = busy
			last := time.Duration(0)
			h := f.announces()
			h.strange = func(now time.Duration) int {
				n := int((now - last) / each)
				if n > 1300 { // what the kernel keeps
					n, last, h.err = 1300, now-1300*each, connector.ErrMissed
				}
				n = min(n, 64)
				last += time.Duration(n) * each
				return n
			}
			_, s, _ := drawn(t, f, Options{Rate: rate, Children: true})
			if s.AllHeard || h.opened < 3 || h.opened != h.closed && h.opened != h.closed+1 {
				t.Errorf("at %v Hz, one in %v: all heard %v, opened %d and closed %d times", rate, each, s.AllHeard,
					h.opened, h.closed)
			}
			// 1 + 2 + 4 + 8 s of the twenty it is not listened.
			if limit := 5 * (maxStrange + 2*maxStrange/int(rate+1)); h.read > limit {
				t.Errorf("at %v Hz, one in %v: %d events were read, want %d at most", rate, each, h.read, limit)
			}
		}
	}
}

// TestGentleWithoutEvents: a recording of days of processes without their children does not listen, and on a machine
// on which others make thousands of threads it lists its own as seldom as elsewhere, and finds what is new.
func TestGentleWithoutEvents(t *testing.T) {
	const end = 60 * time.Second
	f := newFake(end)
	f.announces()
	p := f.process(1)
	p.threads[1] = busy
	p.threads[2] = func(now time.Duration) view { v := busy(now); v.gone = now < end/2; return v }
	f.births = func(time.Duration) { f.last += 1000 }
	got, s, _ := drawn(t, f, Options{Rate: 19, Gentle: true, Stay: true})
	if f.eventSource.opened != 0 || s.Heard {
		t.Errorf("it listened %d times, heard %v", f.eventSource.opened, s.Heard)
	}
	if p.listed > 65 {
		t.Errorf("its threads were listed %d times in %v", p.listed, end)
	}
	if _, wall, _ := amounts(got, 2, 0); wall < end/2-1200*time.Millisecond || wall > end/2 {
		t.Errorf("the new thread has %v of %v", wall, end/2)
	}
}

// Where the kernel reports nothing nothing is said of what it would have reported.
func TestNoEvents(t *testing.T) {
	f := newFake(time.Second)
	f.process(1).threads[1] = busy
	_, s, r := drawn(t, f, Options{Rate: 99, Children: true})
	if s.Heard || s.AllHeard || r.ticker.births.source != nil {
		t.Errorf("heard %v, all %v", s.Heard, s.AllHeard)
	}
}

// The program makes many short commands, and a daemon that forks twice, whose parent ends at once.
func TestCommandsOfAShell(t *testing.T) {
	if e, err := connector.Open(); err != nil {
		t.Skipf("no process events here: %v", err)
	} else {
		e.Close()
	}
	const commands = 200
	cmd := exec.Command("sh", "-c", `read go; i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done
		( ( sleep 60 & echo $! ) & ); read end`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	r := New(Options{Rate: 20, Children: true})
	t.Cleanup(func() { r.Close() })
	if err := r.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	for r.Stats().Ticks == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintln(in, "go")
	var daemon int
	if _, err := fmt.Fscan(out, &daemon); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(daemon, syscall.SIGKILL) })
	met := func() bool {
		found := false
		r.drive(func() { p := r.ticker.follow.byPID[daemon]; found = p != nil && !p.unmet })
		return found
	}
	for end := time.Now().Add(20 * time.Second); !met(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the daemon %d was not met", daemon)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	p, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, task := range p.Tasks {
		seen[task.PID] = true
	}
	s := r.Stats()
	// Beside the commands there are two that the daemon's making takes; a loaded machine may lose events, which is
	// reported.
	all := int(s.UnmetProcesses) + len(seen)
	if !s.AllHeard {
		t.Skipf("events were lost beside the load of others: %d were reported", all)
	}
	if all < commands || all > commands+5 {
		t.Errorf("%d commands ended unmet and %d processes were seen, want %d in all", s.UnmetProcesses, len(seen),
			commands)
	}
}
