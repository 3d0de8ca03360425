//go:build linux

package tracer

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"golang.org/x/sys/unix"
)

// BenchmarkStop takes samples as fast as it goes of one thread that runs on the same CPU, by
// turns with a bare loop in C that copies the same number of bytes, and reports the ratio.
//
//	go test -run '^$' -bench BenchmarkStop -benchtime 60x ./tracer
func BenchmarkStop(b *testing.B) {
	c := start(b, "threads", 0, 1, 1)
	tid := spinner(b, c.pid())
	p := openTarget(b, c.pid())
	w := openWatch(b, p, tid)
	table := mapsOf(b, p)
	l := openSampler(b, SamplerOptions{})
	for _, same := range []bool{true, false} {
		b.Run(map[bool]string{true: "same-cpu", false: "other-cpu"}[same], func(b *testing.B) {
			cpus := allowed(b)
			if !same && len(cpus) < 2 {
				b.Skip("there is one CPU")
			}
			pinTo(b, tid, cpus[0])
			at := cpus[0]
			if !same {
				at = cpus[1]
			}
			var ours, theirs []float64
			for b.Loop() {
				rate, bytes := stopRate(b, l, w, table, at)
				ours = append(ours, rate)
				theirs = append(theirs, cRate(b, tid, at, bytes))
			}
			mine, c := undisturbed(ours), undisturbed(theirs)
			b.ReportMetric(mine, "samples/s")
			b.ReportMetric(c, "C-samples/s")
			b.ReportMetric(mine/c, "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// turn is short, so that some turns are free of what else the machine does.
const turn = 30 * time.Millisecond

// undisturbed is a rate that one turn in ten surpasses.
func undisturbed(rates []float64) float64 {
	slices.Sort(rates)
	return rates[len(rates)*9/10]
}

func stopRate(b testing.TB, l *Sampler, w *Watch, table *maps.Table, cpu int) (rate float64, bytes int) {
	b.Helper()
	var c Copy
	var err error
	n := 0
	var took time.Duration
	l.Do(func() {
		pinTo(b, 0, cpu)
		begun := time.Now()
		for took < turn && err == nil {
			err = l.Stop(w, &c, table)
			n++
			took = time.Since(begun)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	return float64(n) / took.Seconds(), len(c.Thread.Stack.Data)
}

func cRate(b testing.TB, tid, cpu, bytes int) float64 {
	b.Helper()
	out, err := exec.Command(filepath.Join(built, "clook"), itoa(tid), itoa(int(turn/time.Millisecond)), itoa(cpu),
		itoa(bytes)).Output()
	if err != nil {
		b.Fatal(err)
	}
	var n, ns float64
	if _, err := fmt.Sscan(string(out), &n, &ns); err != nil {
		b.Fatalf("clook said %q: %v", out, err)
	}
	return n / ns * 1e9
}

// spinner is the one thread that runs, of a target whose others sleep.
func spinner(b testing.TB, pid int) (tid int) {
	b.Helper()
	p := openTarget(b, pid)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		ids, err := p.ThreadIDs()
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, id := range ids {
			if stateOf(b, id) == 'R' {
				n, tid = n+1, id
			}
		}
		if n == 1 {
			return tid
		}
	}
	b.Fatal("it does not come that one thread runs")
	return 0
}

// allowed lists the CPUs that we may use.
func allowed(b testing.TB) (cpus []int) {
	b.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		b.Fatal(err)
	}
	for i := range 1024 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

func pinTo(b testing.TB, tid, cpu int) {
	b.Helper()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		b.Fatal(err)
	}
}
