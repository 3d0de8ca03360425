//go:build linux

package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// How CI systems end a step. Each must leave a verdict in the log and nothing that runs.
func TestEndOfStep(t *testing.T) {
	for _, tt := range []struct {
		name string
		exec bool // fpstack takes the place of the shell
		end  func(t *testing.T, shell, command int)
	}{
		{"GitHub: the shell alone is signalled", false, func(t *testing.T, shell, _ int) {
			syscall.Kill(shell, syscall.SIGINT)
			syscall.Kill(shell, syscall.SIGTERM)
		}},
		{"GitHub, with exec", true, func(t *testing.T, shell, _ int) {
			syscall.Kill(shell, syscall.SIGINT)
		}},
		{"with exec, SIGTERM", true, func(t *testing.T, shell, _ int) { syscall.Kill(shell, syscall.SIGTERM) }},
		{"Tekton: SIGKILL to the shell", false, func(t *testing.T, shell, _ int) {
			syscall.Kill(shell, syscall.SIGKILL)
		}},
		{"GitLab's shell, Buildkite: the group is signalled", false, func(t *testing.T, shell, _ int) {
			syscall.Kill(-shell, syscall.SIGTERM)
		}},
		{"GitLab's docker, Jenkins: the leaves first", false, func(t *testing.T, shell, command int) {
			syscall.Kill(parentOf(t, command), syscall.SIGTERM)
			syscall.Kill(shell, syscall.SIGTERM)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			word, keep := mark(), ""
			if tt.exec {
				keep = "exec "
			}
			// The session of its own is that of a daemon which signals to the group do not reach.
			script := file(t, keep+fpstack+" run -- sh -c 'setsid sleep "+word+" & sleep "+word+"; true'\n")
			j := start(t, []string{"CI=true"}, "bash", "-e", script)
			await(t, "both sleep", func() bool { return len(marked(word)) == 2 })
			command := marked(word)[1]
			tt.end(t, j.Process.Pid, command)
			j.end(t)
			await(t, "nothing is left", func() bool {
				return len(marked(word)) == 0
			})
			await(t, "the report is there: "+j.text(t), func() bool {
				return strings.Contains(j.text(t), "clock_nanosleep")
			})
			for _, pid := range marked(word) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	parent, _ := strconv.Atoi(f[1])
	return parent
}

// Outside of a CI job the end of the parent changes nothing: nohup and a terminal that is closed.
func TestParentGoes(t *testing.T) {
	t.Parallel()
	word := mark()
	script := file(t, fpstack+" run -- sleep "+word+" &\nexit 0\n")
	j := start(t, []string{"GITHUB_ACTIONS=", "CI="}, "bash", script)
	j.end(t)
	await(t, "it sleeps", func() bool { return len(marked(word)) == 2 }) // fpstack has it among its arguments too
	for _, pid := range marked(word) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// In a CI job a process that ignores SIGTERM gets SIGKILL, and one that is stopped is let go on to end.
func TestKillAfter(t *testing.T) {
	t.Parallel()
	word := mark()
	script := `trap '' TERM; (setsid sh -c 'trap "" TERM; while :; do sleep ` + word + `; done' &) ; sleep ` + word +
		` & sleep 0.3; kill -STOP $!; while :; do sleep ` + word + `; done`
	j := start(t, []string{"CI=true"}, fpstack, "run", "--kill-after", "0.5", "--grace", "0.5", "--", "sh", "-c",
		script)
	await(t, "three sleep", func() bool { return len(marked(word)) >= 3 })
	j.Process.Signal(syscall.SIGTERM)
	_, state := j.end(t)
	if w := state.Sys().(syscall.WaitStatus); w.Signal() != syscall.SIGTERM {
		t.Errorf("it ended as %v, want the signal that it got", state)
	}
	if left := marked(word); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// In a CI job the second signal ends the capture, the third one kills.
func TestImpatience(t *testing.T) {
	t.Parallel()
	word := mark()
	j := start(t, []string{"CI=true"}, fpstack, "run", "--grace", "50", "--kill-after", "50", "--", "sh", "-c",
		"trap '' TERM INT; while :; do sleep "+word+"; done")
	await(t, "it sleeps", func() bool { return len(marked(word)) == 1 })
	for range 3 { // those that come within a second are of one event
		j.Process.Signal(syscall.SIGTERM)
		time.Sleep(1100 * time.Millisecond)
	}
	j.end(t)
	if left := marked(word); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// What becomes of processes that a command leaves behind.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what   string
		status int
		left   int
	}{{"leave", 6, 1}, {"kill", 6, 0}} {
		word := mark()
		j := start(t, nil, fpstack, "run", "--leftovers", tt.what, "--", "sh", "-c", "setsid sleep "+word+" & exit 6")
		_, state := j.end(t)
		if state.ExitCode() != tt.status || len(marked(word)) != tt.left {
			t.Errorf("--leftovers %s: status %d, %d left; want %d and %d", tt.what, state.ExitCode(), len(marked(word)),
				tt.status, tt.left)
		}
		for _, pid := range marked(word) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	j := start(t, nil, fpstack, "run", "--leftovers", "wait", "--", "sh", "-c", "(sleep 0.5; echo late) & exit 6")
	if out, state := j.end(t); state.ExitCode() != 6 || out != "late\n" {
		t.Errorf("--leftovers wait: status %d, %q", state.ExitCode(), out)
	}
}

// Who keeps the pipe of a step open is named, as the step does not end before it does.
func TestHolders(t *testing.T) {
	t.Parallel()
	word := mark()
	dir := t.TempDir()
	j := start(t, nil, "bash", "-c", "cd "+dir+"; "+fpstack+" run -- sh -c 'setsid sleep "+word+
		" & exit 0' 2>err | cat >/dev/null & while ! grep -q open err; do sleep 0.05; done; cat err")
	out, _ := j.end(t)
	// It may not have become sleep yet.
	if !regexp.MustCompile(`^fpstack: (sleep|setsid|sh) \(\d+\) keeps this step's output open\n$`).MatchString(out) {
		t.Errorf("got %q", out)
	}
	for _, pid := range marked(word) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A signal that asks for a dump changes nothing else, and the other signals reach the command.
func TestDumpSignal(t *testing.T) {
	t.Parallel()
	word := mark()
	j := start(t, nil, fpstack, "run", "--", "bash", "-c", "trap 'echo usr2; exit 4' USR2; echo ready; "+
		"while :; do sleep "+word+" & wait; done")
	await(t, "ready", func() bool { return strings.Contains(j.text(t), "ready") && len(marked(word)) == 1 })
	j.Process.Signal(syscall.SIGUSR1)
	await(t, "the dump", func() bool {
		return strings.Contains(j.text(t), "clock_nanosleep")
	})
	j.Process.Signal(syscall.SIGUSR2)
	out, state := j.end(t)
	if !strings.Contains(out, "usr2\n") || state.ExitCode() != 4 {
		t.Errorf("status %d: %s", state.ExitCode(), out)
	}
	for _, pid := range marked(word) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// fpstack that is killed leaves the command as it was.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := start(t, nil, fpstack, "run", "--", "sh", "-c", "echo $$ >"+dir+"/pid; while [ ! -e "+dir+
		"/go ]; do sleep 0.05; done; echo done >"+dir+"/result")
	await(t, "it runs", func() bool { b, _ := os.ReadFile(dir + "/pid"); return len(b) > 0 })
	j.Process.Kill()
	j.end(t)
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, "the command ends by itself", func() bool { b, _ := os.ReadFile(dir + "/result"); return len(b) > 0 })
}

// fpstack that is killed in the middle of a capture leaves what it had by then, and the command as it was.
func TestKilledDuringCapture(t *testing.T) {
	t.Parallel()
	dir, word := t.TempDir(), mark()
	j := start(t, nil, fpstack, "run", "--deadline", "1", "--report", dir+"/report", "--", "sh", "-c",
		"sleep "+word+" & while [ ! -e "+dir+"/go ]; do sleep 0.05; done; echo done >"+dir+"/result")
	await(t, "the command's own shell was sampled", func() bool {
		found, _ := filepath.Glob(dir + "/report/processes/*-sh.txt")
		return len(found) > 0
	})
	j.Process.Kill()
	j.end(t)
	facts, err := os.ReadFile(dir + "/report/hang.txt")
	if err != nil || !strings.Contains(string(facts), "no verdict") || !strings.Contains(string(facts), "sleep "+word) {
		t.Errorf("the facts are %s, %v", facts, err)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, "the command ends by itself", func() bool { b, _ := os.ReadFile(dir + "/result"); return len(b) > 0 })
	for _, pid := range marked(word) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A system that ends the leaves first: which process was ended is in the report, and is said where the command fails by
// it before anything was captured.
func TestLeafIsEndedFirst(t *testing.T) {
	t.Parallel()
	if !laterThan(t, 6, 15) {
		t.Skip("kernels before 6.15 do not say how a process ended that others reap")
	}
	leaf, sibling := mark(), mark()
	dir := t.TempDir()
	for _, tt := range []struct{ script, want string }{
		{"sleep " + leaf + "; exit 3", "was ended by SIGTERM just before"},
		{"sleep " + leaf + "; sleep " + sibling, "reading report"},
	} {
		j := start(t, []string{"CI=true"}, fpstack, "run", "--report", dir+"/report", "--", "sh", "-c", tt.script)
		await(t, "the leaf sleeps", func() bool { return len(marked(leaf)) == 1 })
		time.Sleep(2500 * time.Millisecond) // it looks around once a second
		pid := marked(leaf)[0]
		syscall.Kill(pid, syscall.SIGTERM)
		if tt.want == "reading report" {
			await(t, "the sibling sleeps", func() bool { return len(marked(sibling)) == 1 })
			j.Process.Signal(syscall.SIGTERM)
			j.end(t)
			text, err := os.ReadFile(dir + "/report/hang.txt")
			if want := "process " + strconv.Itoa(pid) + " sleep was ended by SIGTERM before"; err != nil ||
				!strings.Contains(string(text), want) {
				t.Errorf("want %q in\n%s (%v)", want, text, err)
			}
			continue
		}
		out, state := j.end(t)
		if want := "sleep (" + strconv.Itoa(pid) + "), below the command, " + tt.want; state.ExitCode() != 3 ||
			!strings.Contains(out, want) {
			t.Errorf("status %d, want 3 and %q in\n%s", state.ExitCode(), want, out)
		}
	}
}

// laterThan reports whether the kernel is of that version or later.
func laterThan(t *testing.T, major, minor int) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.FieldsFunc(string(b), func(r rune) bool { return r < '0' || r > '9' })
	a, _ := strconv.Atoi(f[0])
	i, _ := strconv.Atoi(f[1])
	return a > major || a == major && i >= minor
}

// TestReportOfAShortGrace: however short the time after a signal, what is known without a stop is in the report, and
// what could not be had with its reason.
func TestReportOfAShortGrace(t *testing.T) {
	t.Parallel()
	for _, grace := range []string{"0.01", "0.3"} {
		word, dir := mark(), filepath.Join(t.TempDir(), "report")
		j := start(t, []string{"CI=true"}, fpstack, "run", "--grace", grace, "--report", dir, "--", "sleep", word)
		await(t, "it runs", func() bool { return len(marked(word)) > 1 })
		j.Process.Signal(syscall.SIGTERM)
		out, _ := j.end(t)
		var doc struct {
			Processes []struct{ PID int }
			Verdict   *struct{ Lacks []string }
			Dumps     []struct{}
		}
		text, err := os.ReadFile(filepath.Join(dir, "hang.json"))
		if err == nil {
			err = json.Unmarshal(text, &doc)
		}
		if err != nil || len(doc.Processes) != 1 || doc.Verdict == nil ||
			len(doc.Dumps) == 0 && len(doc.Verdict.Lacks) == 0 {
			t.Errorf("grace %s: %v, %+v\n%s", grace, err, doc, out)
		}
	}
}
