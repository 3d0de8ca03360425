package sampler

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestCallShare records a program that makes a short system call each ten microseconds or so. Stopped from another CPU
// it is met at the end of such a call as soon as the stop is wanted, whatever part of its time they take: 20 to 40 %
// of its samples were in a call that takes 1 to 2 % of its time. Where other programs have its CPU it is met at
// the end of a call by the scheduler, which is why CPU time is compared.
func TestCallShare(t *testing.T) {
	c := start(t, "calls")
	out, err := exec.Command(built, "callshare").Output()
	if err != nil {
		t.Fatal(err)
	}
	truth, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		t.Fatal(err)
	}
	p, s := record(t, c.Process.Pid, Options{Rate: 499}, 4*time.Second)
	call, between := total(p, "cpu", "work_call"), total(p, "cpu", "work_between")
	if call+between == 0 {
		t.Fatalf("nothing of it was seen\n%s", folded(p))
	}
	got := float64(call) / float64(call+between)
	t.Logf("%.1f %% of %d stops in the call, the truth is %.1f %%; %d at the end of a call that count there", 100*got,
		s.Stops, 100*truth, s.CallEnds)
	if got > truth+0.08 {
		t.Errorf("got %.1f %% of CPU time in a call that takes %.1f %%", 100*got, 100*truth)
	}
}

// TestCallsOfSeveral has three threads on as many CPUs, each in a call for a tenth of its time. From another CPU each
// is met at the end of a call. The OS thread can be beside one of them at a time. At less than 40 samples a second it
// does not sleep by itself all the time between two rounds.
func TestCallsOfSeveral(t *testing.T) {
	for _, rate := range []float64{19, 99} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) { callsOfSeveral(t, rate) })
	}
}

func callsOfSeveral(t *testing.T, rate float64) {
	const work, call = 0x2000, 0x3000
	f := newFake(time.Duration(2000 / rate * float64(time.Second)))
	p := f.process(1)
	for tid := 1; tid <= 3; tid++ {
		p.threads[tid] = func(now time.Duration) view {
			v := view{stack: []uint64{work}, cpu: now, far: []uint64{call}}
			if (now+time.Duration(tid)*time.Millisecond)%(7*time.Millisecond) < 700*time.Microsecond {
				v.stack[0] = call
			}
			return v
		}
	}
	got, s, _ := drawn(t, f, Options{Rate: rate})
	for tid := 1; tid <= 3; tid++ {
		samples, wall, cpu := amounts(got, tid, call)
		allSamples, allWall, allCPU := amounts(got, tid, 0)
		t.Logf("thread %d: %d of %d samples, %v of %v, %v of %v", tid, samples, allSamples, wall, allWall, cpu, allCPU)
		if allWall != s.Elapsed {
			t.Errorf("thread %d has %v of %v", tid, allWall, s.Elapsed)
		}
		for _, part := range [][2]time.Duration{{wall, allWall}, {cpu, allCPU}} {
			if share := float64(part[0]) / float64(part[1]); share < 0.05 || share > 0.15 {
				t.Errorf("thread %d: got %.3f of its time in calls, want 0.1 ± 0.05", tid, share)
			}
		}
	}
	if f.nears < int(s.Ticks)*8/10 {
		t.Errorf("the OS thread was moved for %d of %d rounds", f.nears, s.Ticks)
	}
	if s.CallEnds > s.Stops/50 {
		t.Errorf("%d of %d stops count at the end of a call", s.CallEnds, s.Stops)
	}
}

// TestCallsOfFew has a thread that is hardly ever met at the end of a call: nobody goes beside it.
func TestCallsOfFew(t *testing.T) {
	f := newFake(20 * time.Second)
	f.process(1).threads[1] = func(now time.Duration) view {
		v := view{stack: []uint64{0x2000}, cpu: now, far: []uint64{0x2000}}
		if now%time.Second < 10*time.Millisecond {
			v.far[0] = 0x3000
		}
		return v
	}
	drawn(t, f, Options{Rate: 99})
	if f.nears > 0 {
		t.Errorf("the OS thread was moved %d times", f.nears)
	}
}
