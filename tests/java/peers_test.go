//go:build linux && (amd64 || arm64)

package java

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// built is the program, built for the test.
func built(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fpstack")
	if err := harness.Build(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// timed is how long a command takes that must succeed.
func timed(t testing.TB, c *exec.Cmd) time.Duration {
	t.Helper()
	began := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", c.Args, err, out)
	}
	return time.Since(began)
}

// shares is the program that counts its own shares.
type shares struct {
	pid int
	in  io.Writer
	out *bufio.Scanner
}

// parts are its functions, as it counts them.
var parts = []string{"Shares.numbers", "Shares.copies", "Shares.objects", "Shares.failures"}

func startShares(t testing.TB, version string) *shares {
	t.Helper()
	classes, err := filepath.Abs(filepath.Join(fetched, "classes"))
	if err != nil {
		t.Fatal(err)
	}
	line := append(slices.Clone(jvms()[version]), "-Xmx200m", "-XX:+UseSerialGC", "-cp", classes, "Shares")
	c := exec.Command(line[0], line[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	s := &shares{pid: c.Process.Pid, in: in, out: bufio.NewScanner(out)}
	if !s.out.Scan() || s.out.Text() != "ready" {
		t.Fatalf("it has not begun: %q", s.out.Text())
	}
	return s
}

// read returns rounds, nanoseconds of its clock, and those of CPU time that each part took so far.
func (s *shares) read(t testing.TB) (all [6]float64) {
	t.Helper()
	fmt.Fprintln(s.in)
	for s.out.Scan() {
		fields := strings.Fields(s.out.Text())
		n := 0
		for i, f := range fields {
			var err error
			if all[min(i, len(all)-1)], err = strconv.ParseFloat(f, 64); err == nil {
				n++
			}
		}
		if n == len(all) && n == len(fields) {
			return all
		} // else async-profiler has written into it
	}
	t.Fatal("it has ended")
	return all
}

// asyncProfiler is its library, taken out of the package by scripts/build-java; skips without.
func asyncProfiler(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(fetched, "async-profiler", "libasyncProfiler.so"))
	if err != nil {
		t.Fatal(err)
	}
	if !exists(path) {
		t.Skipf("%s is not there: scripts/build-java async-profiler makes it", path)
	}
	return path
}

// profilers begin a recording of that many samples a second, and return what ends it and writes stacks to a file.
func profilers(t testing.TB) map[string]func(pid, hz int, file string) (end func()) {
	t.Helper()
	fpstack, library := built(t), asyncProfiler(t)
	jcmd := strings.TrimSuffix(jvms()["17"][0], "java") + "jcmd"
	load := func(pid int, what string) {
		timed(t, exec.Command(jcmd, fmt.Sprint(pid), "JVMTI.agent_load", library, strconv.Quote(what)))
	}
	return map[string]func(int, int, string) func(){
		"nobody": func(int, int, string) func() { return func() {} },
		"fpstack": func(pid, hz int, file string) func() {
			c := exec.Command(fpstack, "record", fmt.Sprint(pid), "--rate", fmt.Sprint(hz), "--mode", "cpu",
				"-o", file, "--max-overhead", "0")
			var said strings.Builder
			c.Stderr = &said
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(500 * time.Millisecond)
			return func() {
				c.Process.Signal(syscall.SIGINT)
				if err := c.Wait(); err != nil {
					t.Logf("fpstack: %v: %s", err, said.String())
				}
			}
		},
		"async-profiler": func(pid, hz int, file string) func() {
			load(pid, fmt.Sprintf("start,event=ctimer,interval=%dus", 1_000_000/hz))
			return func() { load(pid, "stop,collapsed,file="+file) }
		},
	}
}

// recorded are the shares of parts in folded text, in percent of what has any, and the part of all that has none.
func recorded(t testing.TB, file string) (percent [4]float64, none float64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, other := 0.0, 0.0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			continue
		}
		found := -1
		for k, p := range parts {
			if strings.Contains(line, p) || strings.Contains(line, strings.ReplaceAll(p, ".", "/")) {
				found = k
			}
		}
		if found >= 0 {
			percent[found] += n
			all += n
		} else {
			other += n
		}
	}
	for k := range percent {
		percent[k] *= 100 / max(all, 1)
	}
	return percent, 100 * other / max(all+other, 1)
}

// BenchmarkShares records a program that knows its shares, with fpstack and with async-profiler in turn. It reports,
// medians of all turns, the largest error of its four shares, what has none of them, and by how much less it does than
// while nobody looks, just before.
//
//	go test -run '^$' -bench BenchmarkShares -benchtime 9x ./tests/java
func BenchmarkShares(b *testing.B) {
	versions(b)
	all := profilers(b)
	for _, hz := range []int{100, 1000} {
		b.Run(fmt.Sprint(hz), func(b *testing.B) {
			s := startShares(b, "17")
			time.Sleep(3 * time.Second) // it compiles what is hot
			slower, errors, missing := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
			for b.Loop() {
				usual := 0.0
				for _, who := range []string{"nobody", "fpstack", "async-profiler"} {
					file := filepath.Join(b.TempDir(), who+".folded")
					end := all[who](s.pid, hz, file)
					before := s.read(b)
					time.Sleep(2 * time.Second)
					after := s.read(b)
					end()
					cpu := 0.0
					for k := range parts {
						cpu += after[2+k] - before[2+k]
					}
					// A round by the clock: being stopped takes none of its CPU time.
					round := (after[1] - before[1]) / (after[0] - before[0])
					if who == "nobody" {
						usual = round
						continue
					}
					got, none := recorded(b, file)
					worst := 0.0
					for k := range parts {
						worst = max(worst, math.Abs(got[k]-100*(after[2+k]-before[2+k])/cpu))
					}
					errors[who], missing[who] = append(errors[who], worst), append(missing[who], none)
					slower[who] = append(slower[who], 100*(round/usual-1))
				}
			}
			for _, who := range []string{"fpstack", "async-profiler"} {
				b.ReportMetric(middle(errors[who]), who+"-error-points")
				b.ReportMetric(middle(missing[who]), who+"-without-%")
				b.ReportMetric(middle(slower[who]), who+"-slower-%")
			}
		})
	}
}
