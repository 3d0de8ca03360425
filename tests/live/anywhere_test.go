//go:build linux

package live

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// busyPrograms never sleep. What they do is stopped at any instruction.
var busyPrograms = []struct {
	name string
	args []string
}{
	{"/usr/bin/python3",
		[]string{"-c", "import json,re\nwhile 1: json.loads(json.dumps({str(i): [i, re.sub('1', 'x', " +
			"str(i))] for i in range(999)}))"}},
	{"perl", []string{"-e",
		`while (1) { my %h = map { $_ => "x" x $_ } 1..500; ` +
			`join ",", sort { $h{$a} cmp $h{$b} } keys %h; "aaab" =~ /(a+)+c/ }`}},
	{"bash", []string{"-c", `while :; do a=(${a[@]:0:50} x); s=${a[*]//x/y}; printf -v q %q "$s"; done`}},
	{"openssl", []string{"speed", "-seconds", "6000", "rsa2048"}},
	{"xz", []string{"-9", "-k", "-c", "/dev/urandom"}},
	{"sort", []string{"--parallel=2", "-R", "/dev/zero"}},
	{"awk", []string{`BEGIN { while (1) { s = sprintf("%f", rand()); gsub(/[0-9]/, "x", s); t[s]++ } }`}},
}

// TestPeersAnywhere stops busy programs at random moments, so that threads are in the
// middle of prologues, epilogues and calls through the linkage table. The peers err at some
// of these places, each at its own; one of them must have our stack.
func TestPeersAnywhere(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for _, p := range busyPrograms {
		t.Run(filepath.Base(p.name), func(t *testing.T) {
			cmd := exec.Command(installed(t, p.name), p.args...)
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			pid := launchTo(t, cmd, null)
			await(t, "it is at its work", func() bool { return ticksOf(pid) >= 10 })
			for range 25 {
				time.Sleep(time.Duration(rand.Int64N(int64(20 * time.Millisecond))))
				compareStopped(t, pid)
			}
		})
	}
}

func launchTo(t *testing.T, cmd *exec.Cmd, out *os.File) int {
	t.Helper()
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
	return cmd.Process.Pid
}

func compareStopped(t *testing.T, pid int) {
	t.Helper()
	syscall.Kill(pid, syscall.SIGSTOP)
	await(t, "the program is stopped", func() bool {
		for _, tid := range threadsOf(pid) {
			if stateOf(tid) != 'T' {
				return false
			}
		}
		return true
	})
	d := dumpJSON(t, pid, "--max-frames", "0")
	eu := euStack(t, pid)
	for i := range d.Threads {
		th := &d.Threads[i]
		ours := physical(th.Stack.Frames)
		if p := part(d, ours, eu[th.TID]); p.how != equal {
			if q := part(d, ours, gdb(t, pid)[th.TID]); q.how != equal {
				t.Errorf("thread %d: eu-stack: %v; gdb: %v\n%s\n%s", th.TID, p, q, sideBySide(d, ours, eu[th.TID]),
					sideBySide(d, ours, gdb(t, pid)[th.TID]))
			} else {
				t.Logf("thread %d: as gdb; eu-stack: %v", th.TID, p)
			}
		}
	}
	syscall.Kill(pid, syscall.SIGCONT)
}
