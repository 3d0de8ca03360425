//go:build linux

package v8

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// sharers are the functions of shares.js.
var sharers = []string{"sums", "roots", "shifts", "primes", "swaps", "chains"}

// shares are parts of the time that a function was innermost in, of the time of all sharers.
type shares map[string]float64

// normal makes parts of amounts.
func (s shares) normal() shares {
	sum := 0.0
	for _, v := range s {
		sum += v
	}
	for name := range s {
		s[name] /= sum
	}
	return s
}

// most is the largest difference from other.
func (s shares) most(other shares) (most float64) {
	for _, name := range sharers {
		most = max(most, s[name]-other[name], other[name]-s[name])
	}
	return most
}

// sharesTime is how long the scripts run, and how long of that is recorded.
const sharesTime, recordedTime = 8, 7 * time.Second

// TestSharesBesideCPUProf: functions have the shares that node's own profiler finds in the same run. Only with -full:
// two samplings of one run differ by chance.
func TestSharesBesideCPUProf(t *testing.T) {
	eachShare(t, func(t *testing.T, version string) (ours, theirs shares) {
		dir := t.TempDir()
		x := start(t, version, []string{"--cpu-prof", "--cpu-prof-dir=" + dir}, "shares.js", strconv.Itoa(sharesTime))
		end := x.end
		x.end = func() {} // node writes when it ends by itself
		ours = recordedShares(record(t, x, recordedTime))
		x.end = end
		var files []string
		for range 100 {
			if files, _ = filepath.Glob(filepath.Join(dir, "*.cpuprofile")); len(files) > 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if len(files) != 1 {
			t.Fatalf("node wrote %q", files)
		}
		time.Sleep(500 * time.Millisecond) // it is written at the end of the process
		return ours, cpuProfShares(t, files[0])
	})
}

// cpuProfShares reads a profile of node. Source: Profiler.Profile of the DevTools protocol.
func cpuProfShares(t *testing.T, file string) shares {
	t.Helper()
	var p struct {
		Nodes []struct {
			CallFrame struct {
				FunctionName string `json:"functionName"`
			} `json:"callFrame"`
			HitCount float64 `json:"hitCount"`
		} `json:"nodes"`
	}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := shares{}
	for _, n := range p.Nodes {
		if slices.Contains(sharers, n.CallFrame.FunctionName) {
			s[n.CallFrame.FunctionName] += n.HitCount
		}
	}
	return s.normal()
}

// perfName is a line of perf with what node's perf map calls a function of JavaScript.
var perfName = regexp.MustCompile(`^[0-9a-f]+ (?:JS|LazyCompile|Function|Script):[~^+*']*(\w+) `)

// TestSharesBesidePerf: the same beside perf, which knows the functions by the perf map that node is asked for.
func TestSharesBesidePerf(t *testing.T) {
	eachShare(t, func(t *testing.T, version string) (ours, theirs shares) {
		perf, err := exec.LookPath("perf")
		if err != nil {
			t.Skip("perf is not installed")
		}
		x := start(t, version, []string{"--perf-basic-prof", "--interpreted-frames-native-stack"}, "shares.js",
			strconv.Itoa(sharesTime))
		data := filepath.Join(t.TempDir(), "perf.data")
		beside := exec.Command(perf, "record", "-q", "-e", "cpu-clock", "-F", "499", "-p", strconv.Itoa(x.PID()),
			"-o", data, "sleep", "6")
		if err := beside.Start(); err != nil {
			t.Fatal(err)
		}
		ours = recordedShares(record(t, x, recordedTime))
		if err := beside.Wait(); err != nil {
			t.Skipf("perf cannot record here: %v", err)
		}
		out, err := exec.Command(perf, "script", "-i", data, "-F", "ip,sym").Output()
		if err != nil {
			t.Fatal(err)
		}
		theirs = shares{}
		for line := range strings.Lines(string(out)) {
			if m := perfName.FindStringSubmatch(strings.TrimSpace(line)); m != nil && slices.Contains(sharers, m[1]) {
				theirs[m[1]]++
			}
		}
		if len(theirs) == 0 {
			t.Skip("perf took no sample here")
		}
		return ours, theirs.normal()
	})
}

// eachShare compares shares in a version of each major.
func eachShare(t *testing.T, both func(t *testing.T, version string) (ours, theirs shares)) {
	if !*full {
		t.Skip("takes long: runs with -full")
	}
	for _, version := range versions(t) {
		if !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			ours, theirs := both(t, version)
			const wanted = 0.04 // the standard error of a share of 700 samples is 0.014
			d := ours.most(theirs)
			t.Logf("largest difference %.1f points; ours %v, theirs %v", 100*d, ours, theirs)
			if d > wanted {
				t.Errorf("%.1f points apart", 100*d)
			}
		})
	}
}

// recordedShares are those of a recording, by CPU time.
func recordedShares(p *profile.Profile) shares {
	s := shares{}
	for i := range p.Samples {
		stack := p.Samples[i].Stack
		if stack == 0 {
			continue
		}
		if name := p.Frames[p.Tree.Frame(stack)].Func; slices.Contains(sharers, name) {
			s[name] += float64(p.Value(i)[0])
		}
	}
	return s.normal()
}

// TestShares: functions have the shares of CPU time that the script counts itself. All of node's work is in one thread
// then, so that the time of the process is that of the functions.
func TestShares(t *testing.T) {
	for _, version := range harness.Sharers(versions(t)) {
		t.Run(version, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join(scripts, "shares.js"))
			if err != nil {
				t.Fatal(err)
			}
			node := filepath.Join(nodes, version, "bin", "node")
			cmd := exec.Command(node, "--single-threaded", path, "600", "shares")
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			pid, said := harness.StartShares(t, cmd)
			harness.CompareShares(t, pid, said)
		})
	}
}
