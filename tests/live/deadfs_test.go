//go:build linux

package live

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// deadSize is how long the program is on the file system: its own pages are read as it starts, the last ones are not.
const deadSize = 8 << 20

// deadFileSystem starts a process whose program lies on a file system that does not answer any more. Its second thread
// waits for SIGUSR1, and then for a page of that file.
func deadFileSystem(t *testing.T) (pid int, path string) {
	t.Helper()
	asRoot(t)
	dir := t.TempDir()
	source, folder := filepath.Join(dir, "flicker"), filepath.Join(dir, "served")
	b, err := os.ReadFile(program(t, "flicker"))
	if err == nil {
		err = os.WriteFile(source, append(b, make([]byte, deadSize-len(b))...), 0o755)
	}
	if err == nil {
		err = os.Mkdir(folder, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skipf("no file system of ours can be mounted here: %v", err)
	}
	server := launch(t, exec.Command(program(t, "stuckfs"), folder, source)).ready(t)
	t.Cleanup(func() { syscall.Unmount(folder, syscall.MNT_DETACH) })
	path = filepath.Join(folder, "flicker")
	p := launch(t, exec.Command(path, strconv.Itoa(deadSize-4096))).ready(t)
	t.Cleanup(func() { server.cmd.Process.Kill() }) // what waits for it fails, and can be killed
	if err := server.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return p.pid, path
}

// deadBound is far more than a dump takes of what does not answer: each file system is waited for once.
const deadBound = 5 * time.Second

// noAnswer is the line about a file that could not be read.
func noAnswer(path string) string { return `open "` + path + `": its file system does not answer` }

// TestDeadFileSystemDump has a dump of such a process show its stacks, and name the file.
func TestDeadFileSystemDump(t *testing.T) {
	pid, path := deadFileSystem(t)
	for _, faulting := range []bool{false, true} {
		if faulting {
			syscall.Kill(pid, syscall.SIGUSR1)
			await(t, "the second thread has left sigtimedwait", func() bool {
				tids := threadsOf(pid)
				call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tids[len(tids)-1]))
				return err == nil && !strings.HasPrefix(string(call), fmt.Sprint(syscall.SYS_RT_SIGTIMEDWAIT)+" ")
			})
		}
		o := execute(t, deadBound, fpstack, "--all", "-p", strconv.Itoa(pid))
		if o.status != 1 || !strings.Contains(o.stderr, noAnswer(path)) {
			t.Errorf("status %d, want 1 and the file named\n%s", o.status, o.stderr)
		}
		if !strings.Contains(o.stdout, "__libc_start_main") || !strings.Contains(o.stdout, "  flicker+0x") {
			t.Errorf("no stack with names of libc and addresses of the program:\n%s", o.stdout)
		}
		if got := strings.Contains(o.stdout, "! not stopped: "); got != faulting {
			t.Errorf("a thread was not stopped: %v, want %v\n%s", got, faulting, o.stdout)
		}
	}
}

// TestDeadFileSystemRecord has a recording of such a process and a healthy one show both, and end soon by a signal.
func TestDeadFileSystemRecord(t *testing.T) {
	pid, path := deadFileSystem(t)
	healthy := launch(t, exec.Command(program(t, "duty"), "60", "1", "cpu", "50", "30", "20"))
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, after := range []time.Duration{100 * time.Millisecond, 2 * time.Second} {
			out := filepath.Join(t.TempDir(), "out.folded")
			cmd := exec.Command(fpstack, "record", "-p", strconv.Itoa(pid), "-p", strconv.Itoa(healthy.pid), "-o", out)
			took, stderr := endBy(t, cmd, s, after)
			if took > time.Second {
				t.Errorf("%v after %v: it ended after %v\n%s", s, after, took, stderr)
			}
			if after < time.Second { // it may not have begun
				continue
			}
			b, err := os.ReadFile(out)
			text := string(b)
			both := strings.Contains(text, ";work_a;") && strings.Contains(text, "flicker+0x")
			if err != nil || !both || !strings.Contains(stderr, noAnswer(path)) {
				t.Errorf("%v after %v: not both are recorded, or the file is not named: %v\n%s%s", s, after, err, b,
					stderr)
			}
		}
	}
}

// TestDeadFileSystemEnds has commands end soon by a signal. Where other programs have the CPUs, what is left to be done
// may take longer: the best of three counts.
func TestDeadFileSystemEnds(t *testing.T) {
	pid, _ := deadFileSystem(t)
	p := strconv.Itoa(pid)
	saved, longest := filepath.Join(t.TempDir(), "saved"), time.Duration(0)
	defer func() { t.Logf("the longest took %v", longest) }()
	for _, args := range [][]string{{"-p", p}, {"--waits", "-p", p}, {"hang", "-p", p}, {"doctor", "-p", p},
		{"record", "-p", p, "-o", os.DevNull}, {"-p", p, "--save", saved}, {"-p", p, "-v", "--no-stop"}} {
		for _, s := range harness.With([]syscall.Signal{syscall.SIGINT}, syscall.SIGTERM) {
			for _, after := range []time.Duration{50, 300} {
				after *= time.Millisecond
				took, said := endBy(t, exec.Command(fpstack, args...), s, after)
				for range 2 {
					if took <= time.Second {
						break
					}
					took, said = endBy(t, exec.Command(fpstack, args...), s, after)
				}
				longest = max(longest, took)
				if took > time.Second {
					t.Errorf("%v: %v after %v: it ended after %v\n%s", args, s, after, took, said)
				}
			}
		}
	}
}

// endBy starts cmd, sends it a signal, and returns how long it took to end from then on, and what it said.
func endBy(t *testing.T, cmd *exec.Cmd, s syscall.Signal, after time.Duration) (took time.Duration, stderr string) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(after+10*time.Second, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	time.Sleep(after)
	cmd.Process.Signal(s)
	begun := time.Now()
	cmd.Wait()
	return time.Since(begun), said.String()
}
