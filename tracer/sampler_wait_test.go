//go:build linux

package tracer

import (
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"golang.org/x/sys/unix"
)

// TestSleep: time passes inside of Do, none outside, and the alarm of an earlier wait cuts none off.
func TestSleep(t *testing.T) {
	l := openSampler(t, SamplerOptions{})
	const d = 20 * time.Millisecond
	shortest := d
	for range 20 { // somebody else may have the CPU in some of them
		begun := time.Now()
		l.Sleep(d, false)
		shortest = min(shortest, time.Since(begun))
	}
	if shortest > d/2 {
		t.Errorf("outside of Do: took at least %v", shortest)
	}
	l.Do(func() {
		l.arm() // goes off every 2 ms
		longest := time.Duration(0)
		for range 5 { // the runtime may end one with a signal of its own
			begun := time.Now()
			l.Sleep(d, false)
			longest = max(longest, time.Since(begun))
		}
		if longest < d {
			t.Errorf("inside of Do: at most %v of %v passed", longest, d)
		}
	})
}

// TestShortSlice: the OS thread of a Sampler asks for a short slice and exact timers, no other does.
func TestShortSlice(t *testing.T) {
	l := openSampler(t, SamplerOptions{})
	var slack int
	var attr *unix.SchedAttr
	var err error
	l.Do(func() {
		slack, _ = unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
		attr, err = unix.SchedGetAttr(0, 0)
	})
	if slack != 1 {
		t.Errorf("timer slack of the Sampler: %d ns, want 1", slack)
	}
	if others, _ := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); others == 1 {
		t.Errorf("timer slack of another thread: %d ns", others)
	}
	switch {
	case err != nil:
		t.Skipf("no scheduling attributes here: %v", err)
	case attr.Policy != unix.SCHED_NORMAL:
		t.Skipf("these tests run with scheduling policy %d", attr.Policy)
	case attr.Runtime == 0:
		t.Skip("this kernel has no slices of a thread's own: they came with 6.12")
	case attr.Runtime != uint64(shortSlice):
		t.Errorf("slice of the Sampler: %v, want %v", time.Duration(attr.Runtime), shortSlice)
	}
}

// TestElsewhere pins a spinning thread to one CPU, and the Sampler to that one and to another.
func TestElsewhere(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	var cpus []int
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	if len(cpus) < 2 {
		t.Skip("one CPU alone")
	}
	only := func(cpu int) *unix.CPUSet {
		var set unix.CPUSet
		set.Set(cpu)
		return &set
	}
	c := start(t, "threads", 2, 1, 1) // the last one spins
	ids, err := openTarget(t, c.pid()).ThreadIDs()
	if err != nil {
		t.Fatal(err)
	}
	p := openTarget(t, c.pid())
	for _, tid := range ids {
		if err := unix.SchedSetaffinity(tid, only(cpus[0])); err != nil {
			t.Fatal(err)
		}
		w := openWatch(t, p, tid)
		// Its CPU is the new one once it was put there.
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			b, err := w.stat.read(w)
			if err != nil {
				t.Fatal(err)
			}
			if cpu, ok := processor(b); ok && cpu == cpus[0] {
				break
			} else if st, _ := w.state(); st == 'S' { // it sleeps where it was
				break
			} else if time.Now().After(end) {
				t.Fatalf("thread %d is still on CPU %d", tid, cpu)
			}
		}
		b, err := w.stat.read(w)
		if err != nil {
			t.Fatal(err)
		}
		on, _ := processor(b)
		l := openSampler(t, SamplerOptions{})
		for _, cpu := range cpus[:2] {
			var got bool
			l.Do(func() {
				if err = unix.SchedSetaffinity(0, only(cpu)); err == nil {
					got = l.elsewhere(w)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if got != (cpu != on) {
				t.Errorf("thread %d on CPU %d, Sampler on %d: elsewhere %v", tid, on, cpu, got)
			}
		}
		var copied Copy
		for range 100 { // also where it is wrong by then
			stopOne(t, l, w, &copied, mapsOf(t, p))
		}
	}
}

// TestWarm: the stack of the last sample is read beforehand, but nothing that may have to be brought by
// somebody, nor what an older list of mappings said.
func TestWarm(t *testing.T) {
	c := start(t, "threads", 1, 1)
	p := openTarget(t, c.pid())
	w, l := openWatch(t, p, c.pid()), openSampler(t, SamplerOptions{})
	table := mapsOf(t, p)
	var copied Copy
	stopOne(t, l, w, &copied, table)
	stack := copied.Thread.Stack.Data
	if len(stack) == 0 || !w.window.quick {
		t.Fatalf("%d bytes of stack, quick %v", len(stack), w.window.quick)
	}
	for _, tt := range []struct {
		name  string
		table *maps.Table
		quick bool
		rest  time.Duration
		read  bool
	}{
		{"after a rest", table, true, time.Second, true},
		{"without one", table, true, -time.Hour, false}, // however long it takes until then
		{"mappings read again", maps.NewTable(slices.Clone(table.All())), true, time.Second, false},
		{"of a mapped file", table, false, time.Second, false},
	} {
		clear(stack)
		w.window.quick = tt.quick
		l.ended = time.Since(l.clock) - tt.rest
		l.Do(func() { l.warm(w, &copied, tt.table) })
		read := slices.ContainsFunc(stack, func(b byte) bool { return b != 0 })
		if read != tt.read {
			t.Errorf("%s: read %v, want %v", tt.name, read, tt.read)
		}
	}
}

// TestCalm: with Calm the other threads of this program get coarse timers, and the OS thread of the Sampler does not.
func TestCalm(t *testing.T) {
	if err := unix.Access("/proc/self/timerslack_ns", unix.W_OK); err != nil || unix.Geteuid() != 0 {
		t.Skipf("timers of other threads are not ours to change: %v", err)
	}
	l := openSampler(t, SamplerOptions{Calm: true})
	var own, others int
	l.Do(func() { own, _ = unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0) })
	if others, _ = unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); own != 1 || itoa(others) != calmSlack {
		t.Errorf("timer slack of the Sampler: %d ns, of another: %d, want 1 and %s", own, others, calmSlack)
	}
}
