//go:build linux

package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tracer"
)

func TestIDs(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want string
		ok   bool
	}{
		{"1", "1", true}, {"12,13", "12,13", true}, {" 7 , 8", "7,8", true},
		{"0", "", false}, {"-4", "", false}, {"x", "", false}, {"1,,2", "", false}, {"4194305", "", false},
		{"", "", false},
	} {
		var v ids
		err := v.Set(tc.in)
		if (err == nil) != tc.ok || tc.ok && v.String() != tc.want {
			t.Errorf("Set(%q): got %q, %v, want %q, ok %v", tc.in, v.String(), err, tc.want, tc.ok)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{}, {"-p", "x"}, {"--nonsense"}, {"-p", "1", "--max-frames", "-1"},
		{"-p", "1", "-f", "xml"}, {"-p", "1", "--unwind", "magic"}, {"-p", "1", "--color", "sometimes"},
		{"-p", "1", "--max-pause", "0s"}, {"dump"}, {"version", "extra"},
	} {
		var out, complaint bytes.Buffer
		if got := Execute(args, &out, &complaint); got != statusUsage {
			t.Errorf("fpstack %q: got status %d, want %d", args, got, statusUsage)
		}
		if !strings.HasPrefix(complaint.String(), "fpstack: ") || out.Len() > 0 {
			t.Errorf("fpstack %q: got %q on standard error and %q on standard output", args, complaint.String(),
				out.String())
		}
	}
}

func TestNoSuchProcess(t *testing.T) {
	var out, complaint bytes.Buffer
	if got := Execute([]string{"-p", "4194304"}, &out, &complaint); got != statusNothing {
		t.Errorf("got status %d, want %d", got, statusNothing)
	}
	if !strings.Contains(complaint.String(), "no such process") || strings.Count(complaint.String(), "\n") != 1 {
		t.Errorf("got %q, want one line that says no such process", complaint.String())
	}
}

func TestOutputIsWholeOrNotThere(t *testing.T) {
	a := &app{}
	path := filepath.Join(t.TempDir(), "dump")
	broken := errors.New("broken")
	err := a.writeOutput(path, func(w io.Writer) error { io.WriteString(w, "half"); return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("files were left behind: %v", left)
	}
	err = a.writeOutput(path, func(w io.Writer) error { io.WriteString(w, "whole"); return errPart })
	if got, _ := os.ReadFile(path); string(got) != "whole" || !errors.Is(err, errPart) {
		t.Errorf("got %q and %v, want \"whole\" and %v", got, err, errPart)
	}
	if err := a.writeOutput("/nonexistent/dir/file", func(io.Writer) error { return nil }); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

func TestTellMissing(t *testing.T) {
	for _, tc := range []struct {
		name   string
		thread profile.Thread
		want   bool
	}{
		{"shown", profile.Thread{TID: 1}, false},
		{"in state D", profile.Thread{TID: 1, NotStopped: "did not stop within 1s"}, true},
		{"worker of the kernel, ended leader", profile.Thread{TID: 1, NotStopped: "worker of the kernel",
			NoUserCode: true}, false},
	} {
		var complaint bytes.Buffer
		got := reportMissing(&app{stderr: &complaint}, &profile.Dump{Threads: []profile.Thread{tc.thread}})
		if got != tc.want || (complaint.Len() > 0) != tc.want {
			t.Errorf("%s: got %v and %q, want %v", tc.name, got, complaint.String(), tc.want)
		}
	}
}

func TestRemedies(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "true") // so that it does not matter where this runs
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&unnamedError{name: "no-such-name"}, "ps -e"},
		{&tracer.TracedError{PID: 5, Tracer: 99, Name: "gdb"}, "process 99"},
		{&tracer.TracedError{PID: 5, Mutual: true}, "holds this program"},
		{&tracer.ZombieError{Parent: 33}, "process 33"},
		{&tracer.KernelThreadError{PID: 2}, "/proc/2/stack"},
		{tracer.ErrSelf, "second fpstack"},
		{tracer.ErrCoreDump, "core file"},
		{&procfs.ForeignError{Self: "7"}, "--mount-proc"},
		{&tracer.PermissionError{PID: -7}, "no process -7 here"},
		{&tracer.PermissionError{PID: -7, Hidden: true}, "/proc does not show the process"},
		{tracer.ErrNoProcess, ""},
	} {
		got := remedy(fmt.Errorf("wrapped: %w", tc.err))
		if !strings.Contains(got, tc.want) || (tc.want == "") != (got == "") || strings.Contains(got, "\n") {
			t.Errorf("remedy of %v: got %q, want one line with %q", tc.err, got, tc.want)
		}
	}
}

func TestRefusalFitsThePlace(t *testing.T) {
	yes, no := true, false
	root := uint64(1) << 19 // CAP_SYS_PTRACE
	for _, tc := range []struct {
		name  string
		facts doctor.Facts
		place doctor.Place
		want  string
	}{
		{"filter in a container", doctor.Facts{Exists: true, Seccomp: 2, PtraceRefused: &yes}, doctor.Container,
			"The system call ptrace is refused to us, whatever its target. Start the container with --cap-add " +
				"SYS_PTRACE"},
		{"another user in a pod", doctor.Facts{Exists: true, TargetUID: 33, OwnUID: 1000, IDsDiffer: true},
			doctor.Kubernetes, "kubectl debug"},
		{"another user under systemd", doctor.Facts{Exists: true, TargetUID: 33, OwnUID: 1000, IDsDiffer: true},
			doctor.Service, "AmbientCapabilities"},
		{"hidden", doctor.Facts{Hidden: true, HidePID: true}, doctor.GitHubActions, "hidepid and does not show"},
		{"another user namespace", doctor.Facts{Exists: true, Caps: root, UserNS: &no}, doctor.GitHubActions,
			"user namespace"},
		{"Yama 3", doctor.Facts{Exists: true, Caps: root, UserNS: &yes, Yama: 3}, doctor.GitHubActions,
			"until the next boot"},
		{"another user", doctor.Facts{Exists: true, IDsDiffer: true, TargetUID: 7, OwnUID: 1000},
			doctor.GitHubActions, "uid 7 and we have uid 1000. Run with sudo"},
		{"not dumpable", doctor.Facts{Exists: true, Dumpable: &no}, doctor.GitHubActions, "not dumpable"},
		{"more capabilities", doctor.Facts{Exists: true, MoreCaps: true}, doctor.GitHubActions, "capabilities"},
		{"Yama 1", doctor.Facts{Exists: true, Yama: 1}, doctor.GitHubActions, "sysctl kernel.yama.ptrace_scope=0"},
		{"Yama 2", doctor.Facts{Exists: true, Yama: 2}, doctor.GitHubActions, "ptrace_scope is 2"},
		{"a label", doctor.Facts{Exists: true, Caps: root, Yama: -1, OwnLSM: "docker-default (enforce)"},
			doctor.GitHubActions, "AppArmor may have refused"},
		{"no gate", doctor.Facts{Exists: true, Caps: root, UserNS: &yes, Yama: -1}, doctor.GitHubActions,
			"cannot be seen from here. CAP_SYS_PTRACE is effective already"},
		{"no gate, and no capability", doctor.Facts{Exists: true, UserNS: &yes, Yama: -1}, doctor.GitHubActions,
			"cannot be seen from here. sudo"},
		{"escape in a label", doctor.Facts{Exists: true, OwnLSM: "\x1b[31m", Yama: -1}, doctor.Shell, `\x1b[31m`},
	} {
		tc.facts.Refused = true
		if got := refusal(&tc.facts, tc.place); !strings.Contains(got, tc.want) || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("%s: got %q, want one line with %q", tc.name, got, tc.want)
		}
	}
}
