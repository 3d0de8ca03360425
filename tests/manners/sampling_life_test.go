//go:build linux

package manners

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tracer"
	"golang.org/x/sys/unix"
)

// TestSampledExec samples processes that execute themselves, by the main thread or by
// another, while single threads are seized.
func TestSampledExec(t *testing.T) {
	for _, row := range []struct{ name, who, interval, extra string }{
		{"leader", "leader", "1000", "3"},
		{"leader, many threads", "leader", "300", "100"},
		{"thread", "thread", "1000", "3"},
		{"thread, many threads", "thread", "300", "100"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := start(t, "execer", row.who, itoa(rounds(100, 1000)), row.interval, row.extra)
			k := sample(t, c.pid, tracer.SamplerOptions{})
			limit := time.After(4 * patience)
			longest := time.Duration(0)
			for done := false; !done; {
				begun := time.Now()
				if err := k.round(); err != nil && !errors.Is(err, tracer.ErrExec) {
					t.Fatal(err)
				}
				if longest = max(longest, time.Since(begun)); longest > execBound {
					t.Fatalf("a round took %v: %v", longest, k)
				}
				select {
				case line := <-c.lines:
					if done = line == "D"; !done {
						t.Fatalf("target said %q", line)
					}
				case <-limit:
					t.Fatalf("target does not come to its end: %s", threadStates(c.pid))
				default:
				}
			}
			t.Logf("%v; the longest round took %v", k, longest.Round(time.Millisecond))
			checkFree(t, c.pid)
			endsBy(t, c, unix.SIGTERM)
		})
	}
}

// TestSampledExecSetuid has an unprivileged sampler sample a process of the same user until
// that executes a setuid program, between two samples.
func TestSampledExecSetuid(t *testing.T) {
	rootOnly(t, "a setuid program of root is needed")
	dir := openRoom(t)
	plain, set := filepath.Join(dir, "euid"), filepath.Join(dir, "euid-root")
	for path, mode := range map[string]os.FileMode{plain: 0o755, set: 0o755 | os.ModeSetuid} {
		copyFile(t, program(t, "euid"), path, mode)
	}
	self := filepath.Join(dir, "looker")
	copyFile(t, "/proc/self/exe", self, 0o755)
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	for range 10 {
		cmd := exec.Command(plain, set)
		cmd.SysProcAttr = nobody
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		c := launch(t, cmd)
		c.pid = cmd.Process.Pid
		c.awaitReady(t)
		k := exec.Command(self, itoa(c.pid), "50")
		k.Env = append(os.Environ(), "MANNERS_HELPER=looker")
		k.SysProcAttr = &syscall.SysProcAttr{Credential: nobody.Credential}
		out, err := k.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "D 50") {
			t.Fatalf("looker as nobody: %v\n%s", err, out)
		}
		io.WriteString(in, "x")
		if got := c.next(t, patience); got != "euid 0" {
			t.Fatalf("setuid program of root says %q, want euid 0", got)
		}
	}
}

// TestSampledChurn samples threads that come and go: none stays a zombie, and this program
// holds on to nothing.
func TestSampledChurn(t *testing.T) {
	c := start(t, "churn", "4")
	k := sample(t, c.pid, tracer.SamplerOptions{})
	for range 50 {
		k.sampleEach(t)
	}
	before := ownUsage()
	n := rounds(1000, 20000)
	for range n {
		if err := k.round(); err != nil {
			t.Fatal(err)
		}
	}
	k.sampleEach(t)
	var after usage
	eventually(t, func() (string, bool) {
		after = ownUsage()
		// Two descriptors are kept for each thread that is listed.
		grown := after.descriptors > before.descriptors+2*16 || after.goroutines > before.goroutines ||
			after.threads > before.threads+4
		return fmt.Sprintf("%+v before, %+v after", before, after), !grown
	})
	eventually(t, func() (string, bool) {
		zombies := 0
		for _, dir := range taskDirs(c.pid) {
			if stateIn(dir) == 'Z' {
				zombies++
			}
		}
		return fmt.Sprintf("%d zombies: %s", zombies, threadStates(c.pid)), zombies == 0
	})
	t.Logf("%v; %+v before, %+v after", k, before, after)
	endChurn(t, c)
}

// TestSampledOwnChild samples children of this program until they end: their end belongs
// to who started them, and comes once.
func TestSampledOwnChild(t *testing.T) {
	for i := range rounds(60, 600) {
		sig, want := unix.SIGUSR2, "exit status 7"
		if i%2 == 1 { // while its main thread is seized it can end only by another
			sig, want = unix.SIGKILL, "signal: killed"
		}
		c := start(t, "witness", "2")
		k := sample(t, c.pid, tracer.SamplerOptions{})
		k.only = c.pid
		go func() {
			atRandom(4 * time.Millisecond)
			unix.Kill(c.pid, sig)
		}()
		var err error
		for err == nil {
			err = k.round()
		}
		if got := c.cmd.Wait(); got == nil || got.Error() != want {
			t.Fatalf("ended by %v after %v, want %s", got, err, want)
		}
	}
}

// TestSampledEnd samples a process that is killed: its parent is told once.
func TestSampledEnd(t *testing.T) {
	for range rounds(30, 300) {
		s := newScene(t, "2")
		k := sample(t, s.pid, tracer.SamplerOptions{})
		go func() {
			atRandom(3 * time.Millisecond)
			s.send(unix.SIGKILL)
		}()
		var err error
		for err == nil {
			err = k.round()
		}
		s.finish(t, []string{"killed 9"})
	}
}

// TestSampledLeaderless samples a process whose main thread has ended.
func TestSampledLeaderless(t *testing.T) {
	c := start(t, "witness", "2", "leaderless")
	waitState(t, c.pid, "Z")
	k := sample(t, c.pid, tracer.SamplerOptions{})
	k.sampleAll(t, 20, 2)
	if k.ended != 20+k.stuck {
		t.Errorf("%v; want 20 at the thread that ended, and one for each round that was not whole", k)
	}
	goesOn(t, c)
	endsBy(t, c, unix.SIGKILL)
}
