//go:build linux && amd64

package java

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/walked"
)

// TestCrowd: of 500 threads each has its stack. It tells how long the stop is without what names them, with it, and
// with what they wait for: medians of stops in turn.
func TestCrowd(t *testing.T) {
	const threads, rounds = 500, 15
	for _, version := range versions(t) {
		t.Run(version, func(t *testing.T) {
			p := start(t, version, "Crowd", fmt.Sprint(threads))
			shot := p.dumped(t)
			found := 0
			for i := range shot.Threads {
				s := p.Stack(shot, i)
				downs := 0
				for _, f := range functions(javaFrames(&s)) {
					if f == "Crowd.down" {
						downs++
					}
				}
				if downs > 0 {
					found++
				}
				if downs > 0 && (downs != 21 || !s.Complete) {
					t.Errorf("%d frames of down, want 21\n%s", downs, show(&s))
				}
			}
			if found != threads {
				t.Errorf("%d threads are parked in it, want %d", found, threads)
			}
			var bare, copied, dumped []time.Duration
			for i := range rounds {
				bare = append(bare, p.stopped(t, nil).Stopped)
				copied = append(copied, p.stopped(t, p.Runtimes.Copiers()).Stopped)
				dumped = append(dumped, p.stopped(t, p.Runtimes.DumpCopiers()).Stopped)
				walked.Pause(i)
			}
			t.Logf("a stop of %d threads: %.2f ms, with what names them %.2f ms, and what they wait for %.2f ms",
				len(shot.Threads), median(bare)/1000, median(copied)/1000, median(dumped)/1000)
		})
	}
}

// BenchmarkDump compares what jstack and fpstack take for all threads of a process, in turn, as whole commands, and how
// long the process stands still for fpstack.
func BenchmarkDump(b *testing.B) {
	versions(b)
	fpstack := built(b)
	jstack := strings.TrimSuffix(jvms()["17"][0], "java") + "jstack"
	for _, threads := range []int{10, 500} {
		b.Run(fmt.Sprint(threads), func(b *testing.B) {
			p := start(b, "17", "Crowd", fmt.Sprint(threads))
			var ours, theirs []time.Duration
			for b.Loop() {
				ours = append(ours, timed(b, exec.Command(fpstack, "-p", fmt.Sprint(p.pid))))
				theirs = append(theirs, timed(b, exec.Command(jstack, fmt.Sprint(p.pid))))
			}
			b.ReportMetric(median(ours)/1000, "fpstack-ms")
			b.ReportMetric(median(theirs)/1000, "jstack-ms")
		})
	}
}
