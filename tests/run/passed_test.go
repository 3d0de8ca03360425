//go:build linux

package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// What a program does at a signal to fpstack is what it does at a signal to itself: the table of docs/run.md, with the
// status and the output of each as they are without fpstack.
func TestPassedOn(t *testing.T) {
	harness.Need(t, "make", "node", "python3")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	makefile := write("Makefile", "all:\n\t@echo ready; touch half; sleep 5; echo never\n.DELETE_ON_ERROR:\n")
	script := write("heeds.js", `for (const s of ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR2", "SIGWINCH"])
  process.on(s, () => { console.log("got", s); process.exit(7); });
console.log("ready"); setInterval(() => {}, 1000);`)
	test := write("test_waits.py",
		"import time\ndef test_waits():\n    print('ready', flush=True)\n    time.sleep(5)\n")
	const child = `trap 'echo got; exit 5' %[1]s; echo ready; for i in {1..60}; do sleep 0.1; done`
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		argv   []string
		ready  string
	}{
		{"bash heeds TERM", syscall.SIGTERM, []string{"bash", "-c", fmt.Sprintf(child, "TERM")}, "ready"},
		{"bash heeds HUP", syscall.SIGHUP, []string{"bash", "-c", fmt.Sprintf(child, "HUP")}, "ready"},
		{"bash heeds USR2", syscall.SIGUSR2, []string{"bash", "-c", fmt.Sprintf(child, "USR2")}, "ready"},
		{"bash heeds ALRM", syscall.SIGALRM, []string{"bash", "-c", fmt.Sprintf(child, "ALRM")}, "ready"},
		{"bash heeds a signal for real time", syscall.Signal(40), []string{"bash", "-c", fmt.Sprintf(child, "40")},
			"ready"},
		{"bash does not heed TERM", syscall.SIGTERM, []string{"bash", "-c", "echo ready; sleep 5; echo never"},
			"ready"},
		{"its child does not get it", syscall.SIGTERM, []string{"bash", "-c", `trap 'echo got; wait; exit 5' TERM
(trap 'echo child' TERM; for i in {1..30}; do sleep 0.1; done; echo whole) & echo ready; wait`}, "ready"},
		{"make", syscall.SIGTERM, []string{"make", "-C", dir, "-f", makefile}, "ready"},
		{"make, INT", syscall.SIGINT, []string{"make", "-C", dir, "-f", makefile}, "ready"},
		{"node", syscall.SIGTERM, []string{"node", script}, "ready"},
		{"node, WINCH", syscall.SIGWINCH, []string{"node", script}, "ready"},
		{"node, INT", syscall.SIGINT, []string{"node", script}, "ready"},
		{"pytest, INT", syscall.SIGINT, []string{"pytest", "-sq", "--no-header", "-p", "no:cacheprovider", test},
			"ready"},
		{"pytest, TERM", syscall.SIGTERM, []string{"pytest", "-sq", "--no-header", "-p", "no:cacheprovider", test},
			"ready"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			harness.Need(t, tt.argv[0])
			var seen [2]string
			for i, before := range [][]string{nil, {fpstack, "run", "--grace", "1", "--"}} {
				argv := append(before, tt.argv...)
				path, err := exec.LookPath(argv[0])
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(path, argv[1:]...)
				out, err := os.Create(filepath.Join(t.TempDir(), "out"))
				if err != nil {
					t.Fatal(err)
				}
				cmd.Stdout = out
				cmd.Env = without(os.Environ(), "CI")
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
				if err := begin(cmd); err != nil {
					t.Fatal(err)
				}
				text := func() string { b, _ := os.ReadFile(out.Name()); return string(b) }
				await(t, "ready", func() bool { return strings.Contains(text(), tt.ready) })
				time.Sleep(300 * time.Millisecond)
				cmd.Process.Signal(tt.signal)
				cmd.Wait()
				await(t, "nobody of it writes any more", func() bool {
					before := text()
					time.Sleep(500 * time.Millisecond)
					return text() == before
				})
				seen[i] = cmd.ProcessState.String() + "\n" + withoutTimes(text())
				out.Close()
			}
			if seen[0] != seen[1] {
				t.Errorf("without fpstack\n%s\nand with it\n%s", seen[0], seen[1])
			}
		})
	}
}

// withoutTimes drops the lines in which a test runner says how long it took.
func withoutTimes(s string) string {
	var kept []string
	for line := range strings.Lines(s) {
		if !strings.Contains(line, " in ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// Signals that come days apart are nobody's impatience: a server that reads its configuration again at SIGHUP is not
// ended by the third one. (Before, it was.)
func TestThirdHangUp(t *testing.T) {
	t.Parallel()
	j := start(t, []string{"CI=true"}, fpstack, "run", "--", "bash", "-c",
		"trap 'echo reloaded' HUP; trap 'exit 9' USR2; echo ready; while :; do sleep 0.1; done")
	await(t, "ready", func() bool { return strings.Contains(j.text(t), "ready") })
	for n := 1; n <= 4; n++ {
		j.Process.Signal(syscall.SIGHUP)
		await(t, "it reloads", func() bool { return strings.Count(j.text(t), "reloaded") == n })
		time.Sleep(1100 * time.Millisecond) // further apart than those of one event
	}
	j.Process.Signal(syscall.SIGUSR2)
	if out, state := j.end(t); state.ExitCode() != 9 || strings.Contains(out, "fpstack") {
		t.Errorf("%v: %s", state, out)
	}
}

// A command that stops itself stops nobody else where no shell with a terminal lets it go on, and its limit is kept.
// The whole process group is the parent's, which is none of a shell with job control.
func TestStopsItself(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"kill -STOP $$", "kill -TSTP $$; sleep 100", "kill -STOP 0"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			script := file(t, "timeout 55 "+fpstack+" run --deadline 1 -- sh -c '"+how+"'\necho status $?\n")
			cmd := exec.Command("setsid", "-w", "bash", "-c", `bash "$0"; true`, script) // no terminal
			cmd.Env = without(os.Environ(), "CI")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "status 124") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// Descendants are ended and named in whatever group or session they are, that of fpstack too: a process in fpstack's
// own group was taken for a helper.
func TestAnyGroup(t *testing.T) {
	t.Parallel()
	harness.Need(t, "python3")
	word := mark()
	join := fmt.Sprintf("import os, sys; os.setpgid(0, os.getpgid(int(sys.argv[1]))); "+
		"os.execvp('sleep', ['sleep', '%s'])",
		word)
	j := start(t, nil, fpstack, "run", "--deadline", "1", "--", "bash", "-c",
		`python3 -c "$0" $PPID & setsid sleep `+word+
			" & sleep "+word, join)
	out, state := j.end(t)
	if left := marked(word); len(left) > 0 || state.ExitCode() != 124 {
		t.Errorf("status %d, processes %v are left", state.ExitCode(), left)
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if !strings.Contains(out, "sending SIGTERM to bash (") ||
		!strings.Contains(out, "in a process group of their own: sleep (") {
		t.Errorf("got %s", out)
	}
}

// A standard file that was closed is closed for the command, and a signal that was ignored is ignored.
func TestClosedFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []string{"cat <&-", "echo x >&-", "ls /none 2>&-",
		"sh -c 'exec 3</dev/null; ls /proc/self/fd' <&-",
		"sh -c 'kill -PIPE $$; echo lives'"} {
		var seen [2]string
		for i, before := range []string{"", fpstack + " run -- "} {
			out, err := exec.Command("bash", "-c", "trap '' PIPE; "+before+tt).Output()
			seen[i] = fmt.Sprintf("%s%v", out, err)
		}
		if seen[0] != seen[1] {
			t.Errorf("%s: without fpstack %q, with it %q", tt, seen[0], seen[1])
		}
	}
}

// The signal and the status after a limit are those that timeout(1) has.
func TestSignalOfLimit(t *testing.T) {
	t.Parallel()
	const heeds = "trap 'echo int; exit 6' INT; trap 'echo term; exit 5' TERM; " +
		"for i in 1 2 3 4 5 6 7 8 9; do sleep 9 & wait; done"
	for _, tt := range []struct {
		flags, says string
		status      int
	}{
		{"--deadline 0.5", "term", 124},
		{"--deadline 0.5 -s INT", "int", 124},
		{"--deadline 0.5 -s SIGINT --preserve-status", "int", 6},
		{"--deadline 0.5 -s 9", "sending SIGKILL", 124},
		{"--deadline 0.5 -s KILL --preserve-status", "sending SIGKILL", 137},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			t.Parallel()
			out, state := run(t, tt.flags, heeds)
			if state.ExitCode() != tt.status || !strings.Contains(out, tt.says) || strings.Contains(out, "to kill") {
				t.Errorf("status %d: %s", state.ExitCode(), out)
			}
		})
	}
}

// A command that ends with status 0 has succeeded, whatever was captured before: no error in the log, none in JUnit.
func TestSuccess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		script string
		status int
	}{{"trap 'exit 0' TERM", 0}, {"trap 'exit 4' TERM", 4}} {
		junit := filepath.Join(dir, fmt.Sprint(tt.status))
		j := start(t, []string{"GITHUB_ACTIONS=true"}, fpstack, "run", "--grace", "2", "--junit", junit, "--",
			"bash", "-c",
			tt.script+"; echo ready; while :; do sleep 0.5; done")
		await(t, "ready", func() bool { return strings.Contains(j.text(t), "ready") })
		j.Process.Signal(syscall.SIGTERM)
		out, state := j.end(t)
		text, err := os.ReadFile(junit)
		wrong := tt.status != 0
		if state.ExitCode() != tt.status || err != nil || strings.Contains(out, "::error ") != wrong ||
			strings.Contains(string(text), `errors="1"`) != wrong {
			t.Errorf("status %d: %s\n%s (%v)", state.ExitCode(), out, text, err)
		}
	}
}
