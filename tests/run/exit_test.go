//go:build linux

package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Each status of a command is that of fpstack.
func TestStatus(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	limit := make(chan bool, 4)
	for status := range 256 {
		wg.Add(1)
		limit <- true
		go func() {
			defer func() { <-limit; wg.Done() }()
			err := exec.Command(fpstack, "run", "--", "/bin/sh", "-c", "exit "+strconv.Itoa(status)).Run()
			got := 0
			if err != nil {
				got = err.(*exec.ExitError).ExitCode()
			}
			if got != status {
				t.Errorf("the command's status is %d, fpstack's %d", status, got)
			}
		}()
	}
	wg.Wait()
}

// Each signal that ends a command ends fpstack too, so that who waits for it sees a signal; the core is the command's
// alone.
func TestDeath(t *testing.T) {
	t.Parallel()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	cores := err == nil && !strings.HasPrefix(string(pattern), "|") && !strings.Contains(string(pattern), "/")
	for s := syscall.Signal(1); s < 32; s++ {
		switch s {
		case syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGURG, syscall.SIGWINCH, // which end nobody
			syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
			continue
		}
		dir := t.TempDir()
		cmd := exec.Command(fpstack, "run", "--", "/bin/sh", "-c", fmt.Sprintf("ulimit -c unlimited; kill -%d $$", s))
		cmd.Dir = dir
		if err := cmd.Run(); err == nil {
			t.Errorf("%v: it ended well", s)
			continue
		}
		w := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !w.Signaled() || w.Signal() != s {
			t.Errorf("the command ended by %v, fpstack by %v", unix.SignalName(s), cmd.ProcessState)
		}
		if w.CoreDump() {
			t.Errorf("%v: fpstack wrote a core of its own", s)
		}
		found, _ := filepath.Glob(dir + "/*core*")
		if cores && len(found) > 1 {
			t.Errorf("%v: cores %q", s, found)
		}
	}
}

func TestNotStarted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		args   []string
	}{
		{127, []string{"run", "--", "no-such-command-here"}},
		{126, []string{"run", "--", "/etc/passwd"}},
		{64, []string{"run"}},
		{64, []string{"run", "--deadline", "-1", "--", "true"}},
		{64, []string{"run", "--dump-signal", "KILL", "--", "true"}},
		{0, []string{"run", "true"}},                         // without --
		{3, []string{"run", "sh", "-c", "exit 3", "--warn"}}, // what follows a command is the command's
		{124, []string{"run", "--deadline", "0.1", "sleep", "9"}},
	} {
		out, err := exec.Command(fpstack, tt.args...).CombinedOutput()
		got := 0
		if err != nil {
			got = err.(*exec.ExitError).ExitCode()
		}
		if got != tt.status {
			t.Errorf("%q: status %d, want %d: %s", tt.args, got, tt.status, out)
		}
	}
}

// As the first process of a pid namespace it reaps what comes to it, and has the command's status; no signal of its
// own ends it there.
func TestFirstProcess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		script string
		status int
	}{
		{"(sleep 0.1; exit 9) & exit 5", 5},
		{"kill -TERM $$", 128 + 15},
		{"kill -SEGV $$", 128 + 11},
		{"kill -KILL $$", 128 + 9},
	} {
		cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", fpstack, "run",
			"--", "/bin/sh", "-c", tt.script)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "unshare failed") {
			t.Skipf("no user namespaces here: %s", out)
		}
		got := 0
		if err != nil {
			got = err.(*exec.ExitError).ExitCode()
		}
		if got != tt.status {
			t.Errorf("%s: status %d, want %d: %s", tt.script, got, tt.status, out)
		}
	}
}

// What a command was given, and what it sees of it, is the same with and without fpstack.
func TestSameSurroundings(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{
		"true", "trap '' HUP", "trap '' INT HUP", "umask 027", "ulimit -n 100", "ulimit -c 0", "cd /",
		"exec 7</etc/passwd 9>/dev/null",
		"exec 0</dev/null", "set -m", "export TWICE=1 EMPTY=",
	} {
		var seen [2]string
		for i, wrapped := range []string{"", fpstack + " run -- "} {
			script := before + "\nexec " + wrapped + self + "\n"
			cmd := exec.Command("nice", "-n", "3", "bash", "-c", script)
			cmd.Env = append(os.Environ(), "RUN_HELPER=probe")
			cmd.Stdin = os.Stdin
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", script, err)
			}
			seen[i] = pipes(string(out))
		}
		if seen[0] != seen[1] {
			t.Errorf("after %q it sees\n%s\nand with fpstack\n%s", before, seen[0], seen[1])
		}
	}
}

// pipes takes the numbers out of the names of pipes: each program has its own.
func pipes(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if at := strings.Index(l, "pipe:["); at >= 0 && !strings.Contains(l, "=") {
			lines[i] = l[:at] + "pipe"
		}
	}
	return strings.Join(lines, "\n")
}
