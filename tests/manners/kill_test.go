//go:build linux

package manners

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// killsEach is how many tracers one selfcheck meets; it lives for two minutes at most.
const killsEach = 250

// TestKilledTracer kills tracers by SIGKILL at random moments. The process inspected must
// notice none of it: the kernel lets its threads go, with their signals.
func TestKilledTracer(t *testing.T) {
	n := rounds(100, 1500)
	for _, way := range []struct {
		name string
		run  func(t *testing.T, pid int) (held bool)
	}{
		{"command", killCommand()},
		{"command --rolling", killCommand("--rolling")},
		{"stops without a pause, all at one instant", killSampler("all")},
		{"stops without a pause, in batches", killSampler("rolling")},
	} {
		t.Run(way.name, func(t *testing.T) {
			sum, inStop := newTally(), 0
			for left := n; left > 0; {
				c := startChecker(t, "-i", "200")
				for i := 0; i < killsEach && left > 0 && c.young(); i++ {
					left--
					if way.run(t, c.pid) {
						inStop++
					}
					checkFree(t, c.pid)
					if t.Failed() {
						return
					}
				}
				sum.add(c.finish(t))
			}
			sum.report(t, fmt.Sprintf("%d kills, %d while threads were seen held,", n, inStop))
		})
	}
}

// killCommand runs the command and kills it at a random moment of its usual time.
func killCommand(args ...string) func(*testing.T, int) bool {
	var usual time.Duration
	return func(t *testing.T, pid int) bool {
		if usual == 0 {
			usual = medianTime(t, pid, args...)
		}
		cmd := exec.Command(fpstack, append([]string{"-p", itoa(pid)}, args...)...)
		if err := begin(cmd); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200*time.Microsecond + rand.N(usual))
		held := held(pid) > 0
		cmd.Process.Kill()
		cmd.Wait()
		return held
	}
}

func medianTime(t testing.TB, pid int, args ...string) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 5 {
		took = append(took, fpstackOn(t, pid, args...).took)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// killSampler kills a tracer that makes stops all the time, 0.2 to 2.7 ms after it began.
func killSampler(how string) func(*testing.T, int) bool {
	return func(t *testing.T, pid int) bool {
		cmd := helperOn(t, "sampler", pid, how)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := begin(cmd); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			cmd.Wait()
			t.Fatal(err)
		}
		time.Sleep(200*time.Microsecond + rand.N(2500*time.Microsecond))
		held := held(pid) > 0
		cmd.Process.Kill()
		cmd.Wait()
		return held
	}
}

// TestInterruptedCommand ends the command as a terminal or a service manager does: it
// lets everything go, and ends soon, by itself or by the signal.
func TestInterruptedCommand(t *testing.T) {
	n := rounds(40, 500)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			c := startChecker(t, "-i", "500")
			usual := medianTime(t, c.pid)
			statuses := map[int]int{}
			for i := range n {
				args := []string{"-p", itoa(c.pid)}
				if i%2 == 1 {
					args = append(args, "--rolling")
				}
				cmd := exec.Command(fpstack, args...)
				if err := begin(cmd); err != nil {
					t.Fatal(err)
				}
				time.Sleep(rand.N(usual))
				cmd.Process.Signal(sig)
				waitEnd(t, cmd, c.pid)
				// 0 and 1: it came too late; 2: nothing shown; -1: before there was a handler.
				status := cmd.ProcessState.ExitCode()
				if statuses[status]++; status > 2 {
					t.Errorf("exit status %d", status)
				}
			}
			c.finish(t)
			t.Logf("exit statuses of %d runs: %v", n, statuses)
		})
	}
}

// TestInterruptedWait interrupts the command while it waits for a thread that does not
// stop: the longest that it could go on is far away. A file it leaves neither half nor under another name.
func TestInterruptedWait(t *testing.T) {
	for _, tt := range []struct {
		name   string
		toFile bool
	}{
		{"to standard output", false}, {"to a file", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, "vfork", "100000")
			waitState(t, c.pid, "D")
			dir := t.TempDir()
			args := []string{"-p", itoa(c.pid), "--max-pause", "100s"}
			if tt.toFile {
				args = append(args, "-o", filepath.Join(dir, "dump"))
			}
			cmd := exec.Command(fpstack, args...)
			if err := begin(cmd); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() (string, bool) { return "the command seizes nothing", held(c.pid) > 0 })
			time.Sleep(time.Second) // in the first 50 ms it may end by the signal
			cmd.Process.Signal(unix.SIGTERM)
			waitEnd(t, cmd, c.pid)
			if status := cmd.ProcessState.ExitCode(); status != 2 {
				t.Errorf("exit status %d, want 2", status)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left %v behind (%v)", left, err)
			}
			endVfork(t, c)
		})
	}
}

// waitEnd waits for a tracer to which a signal was sent. It must let go at once; its own
// end, which frees all its memory, may take longer where many programs start and end.
func waitEnd(t *testing.T, cmd *exec.Cmd, pid int) {
	t.Helper()
	begun := time.Now()
	eventually(t, func() (string, bool) { return "threads are still held: " + threadStates(pid), held(pid) == 0 })
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("held for %v after the signal", took)
	}
	cmd.Wait()
	if took := time.Since(begun); took > patience {
		t.Errorf("ended %v after the signal", took)
	}
	checkFree(t, pid)
}
