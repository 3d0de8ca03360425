//go:build linux && (amd64 || arm64)

package java

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
)

// TestCrowd: of 500 threads that are parked, or wait for monitors, each has its stack. It tells how long the stop is
// without what names them, with it, and with what they wait for, beside that of as many threads of C: medians of stops
// in turn.
func TestCrowd(t *testing.T) {
	native := sleepers(t)
	for _, version := range versions(t) {
		for name, arguments := range map[string][]string{"parked": nil, "monitors": {"monitors"}} {
			t.Run(version+"/"+name, func(t *testing.T) {
				crowd(t, native, start(t, version, append([]string{"Crowd", fmt.Sprint(crowded)}, arguments...)...))
			})
		}
	}
}

// crowded is how many threads a crowd has.
const crowded = 500

func crowd(t *testing.T, native *program, p *program) {
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
	if found != crowded {
		t.Errorf("%d threads are in it, want %d", found, crowded)
	}
	const rounds = 15
	var without, bare, copied, dumped []time.Duration
	for i := range rounds {
		without = append(without, native.stopped(t, nil).Stopped)
		bare = append(bare, p.stopped(t, nil).Stopped)
		copied = append(copied, p.stopped(t, p.Runtimes.Copiers()).Stopped)
		dumped = append(dumped, p.stopped(t, p.Runtimes.DumpCopiers()).Stopped)
		walked.Pause(i)
	}
	t.Logf("a stop of %d threads: %.2f ms, with what names them %.2f ms, and what they wait for %.2f ms; of C %.2f ms",
		len(shot.Threads), median(bare)/1000, median(copied)/1000, median(dumped)/1000, median(without)/1000)
}

// sleepers are as many threads of C as a crowd has, as deep.
func sleepers(t *testing.T) *program {
	t.Helper()
	const path = "../../testdata/bin/live/threads"
	if !exists(path) {
		t.Skip(path + " is not built: scripts/build-targets does it")
	}
	c := exec.Command(path, fmt.Sprint(crowded), "21")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return &program{pid: c.Process.Pid, Process: walked.Open(t, c.Process.Pid, walked.Options{})}
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
