//go:build linux

package live

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRecordCommandStatus: fpstack ends as the command does.
func TestRecordCommandStatus(t *testing.T) {
	dir := room(t)
	locked := filepath.Join(dir, "locked")
	if err := os.WriteFile(locked, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		command []string
		want    int
		message string // on standard error
	}{
		{"ends well", []string{"true"}, 0, ""},
		{"exit 3", []string{"sh", "-c", "exit 3"}, 3, ""},
		{"exit 64, as a mistake of ours", []string{"sh", "-c", "exit 64"}, 64, ""},
		{"killed by SIGKILL", []string{"sh", "-c", "kill -KILL $$"}, 137, ""},
		{"killed by SIGSEGV", []string{"sh", "-c", "kill -SEGV $$"}, 139, ""},
		{"ended by SIGINT", []string{"sh", "-c", "kill -INT $$"}, 130, ""},
		{"not found", []string{"no-such-command-here"}, 127, `start "no-such-command-here": command not found`},
		{"no such file", []string{filepath.Join(dir, "none")}, 127, "no such file or directory"},
		{"not executable", []string{locked}, 126, "permission denied"},
		{"a folder", []string{dir}, 126, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(room(t), "out.folded")
			o := show(t, append([]string{"record", "-q", "-o", out, "--"}, tt.command...)...)
			if o.status != tt.want || !strings.Contains(o.stderr, tt.message) || o.stdout != "" {
				t.Errorf("status %d, output %q, standard error %q; want %d and %q", o.status, o.stdout, o.stderr,
					tt.want, tt.message)
			}
			_, err := os.Stat(out)
			if started := tt.want != 127 && tt.want != 126; started != (err == nil) {
				t.Errorf("started %v, result: %v", started, err)
			}
		})
	}
}

// TestRecordOwnFailure: what fpstack itself could not do is 125, before the command runs where
// that can be known.
func TestRecordOwnFailure(t *testing.T) {
	mark := filepath.Join(room(t), "mark")
	o := show(t, "record", "-o", "/no/such/folder/out.svg", "--", "touch", mark)
	if _, err := os.Stat(mark); o.status != 125 || err == nil ||
		!strings.Contains(o.stderr, "/no/such/folder/out.svg") {
		t.Errorf("status %d, mark %v, %q; want 125, no mark and the reason", o.status, err, o.stderr)
	}
}

// surroundings prints what a program sees of where it runs. Its own id is left out. The shell reads its status by
// itself: while it starts a program it is in vfork, with all signals blocked, and that program might find it so.
const surroundings = `cat; pwd; umask; ulimit -a; id; ps -o pgid=,sid=,tty= -p $$; ls /proc/$$/fd; ` +
	`while read -r line; do case $line in ` +
	`SigBlk*|SigIgn*|ShdPnd*|Groups*|Cap*|NoNewPrivs*|Seccomp*|Cpus_allowed*|TracerPid*) ` +
	`echo "$line";; esac; done </proc/$$/status; cat /proc/$$/oom_score_adj; ` +
	`printf "%s|" "$@"; echo on stderr >&2; printf 'no newline'`

// TestRecordLeavesCommandAlone: a command's input, output, environment, arguments, files, limits and signals are
// those that it has without us, byte for byte.
func TestRecordLeavesCommandAlone(t *testing.T) {
	out := filepath.Join(room(t), "out.folded")
	environment := []string{"PATH=" + os.Getenv("PATH"), "TWICE=1", "TWICE=2", "EMPTY=", "NEWLINE=a\nb",
		"BYTES=\xff\xfe", "no equals sign", "=odd=1"}
	// The shell in front opens files, ignores signals and lowers limits, and becomes the program.
	const front = `exec 5</etc/passwd 9>/dev/null; trap "" HUP INT; umask 027; ulimit -n 200; ulimit -c 0
		cd /usr/bin; exec "$@"`
	command := []string{"/bin/sh", "-c", surroundings, "name", "a b", "", "c\nd", "\xff"}
	run := func(prefix ...string) (stdout, stderr []byte, status int) {
		argv := append(append([]string{"/bin/sh", "-c", front, "sh"}, prefix...), command...)
		return runRaw(t, argv, environment, "input\x00without end")
	}
	wantOut, wantErr, wantStatus := run()
	gotOut, gotErr, gotStatus := run(fpstack, "record", "-q", "-o", out, "--")
	if !bytes.Equal(gotOut, wantOut) || !bytes.Equal(gotErr, wantErr) || gotStatus != wantStatus {
		t.Errorf("got status %d, output\n%s\nstandard error %q; want %d,\n%s\n%q", gotStatus, gotOut, gotErr,
			wantStatus, wantOut, wantErr)
	}
	if !bytes.Contains(wantOut, []byte("SigIgn")) || !bytes.Contains(wantOut, []byte("input\x00without end")) {
		t.Errorf("the program itself does not see what it should: %q", wantOut)
	}

	command = []string{"/usr/bin/env", "-0"}
	argv := append([]string{fpstack, "record", "-q", "-o", out, "--"}, command...)
	wantOut, _, _ = runRaw(t, command, environment, "")
	gotOut, _, _ = runRaw(t, argv, environment, "")
	if !bytes.Equal(gotOut, wantOut) || !bytes.Contains(wantOut, []byte("TWICE=1\x00TWICE=2\x00")) {
		t.Errorf("environment\n%q, want\n%q", gotOut, wantOut)
	}
}

// runRaw runs argv with exactly that environment: package exec would leave out what is
// there twice.
func runRaw(t *testing.T, argv, environment []string, input string) (stdout, stderr []byte, status int) {
	t.Helper()
	dir := room(t)
	var files []uintptr
	for i, name := range []string{"in", "out", "err"} {
		path := filepath.Join(dir, name)
		if i == 0 {
			if err := os.WriteFile(path, []byte(input), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f.Fd())
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: environment, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	var w syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &w, 0, nil); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"out", "err"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			stdout = b
		} else {
			stderr = b
		}
	}
	return stdout, stderr, w.ExitStatus()
}

// TestRecordFromTheFirst: the time that a command says it took is in the profile, from its
// begin to its end.
func TestRecordFromTheFirst(t *testing.T) {
	t.Parallel()
	installed(t, "go")
	out := filepath.Join(room(t), "out.pb.gz")
	o := show(t, "record", "-q", "-o", out, "--", program(t, "duty"), "3", "1", "wall", "100")
	if o.status != 0 {
		t.Fatalf("status %d\n%s", o.status, o.stderr)
	}
	var want float64 // seconds that the program spent in work_a
	for line := range strings.Lines(o.stdout) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "work_a" {
			want = number(t, f[1])
		}
	}
	if got := pprofTop(t, out, "wall")["work_a"].cum; want == 0 || got < 0.9*want || got > 1.1*want {
		t.Errorf("work_a took %.3f s, want %.3f s within a tenth", got, want)
	}
}

// TestRecordChildren: what a shell starts is followed, by name, and not with --children=false.
func TestRecordChildren(t *testing.T) {
	t.Parallel()
	duty := program(t, "duty")
	script := `"$0" 1 1 cpu 100 >/dev/null & "$0" 1 1 cpu 0 100 >/dev/null; wait; sleep 0.1`
	for _, tt := range []struct {
		name string
		args []string
		want bool
	}{
		{"by default", nil, true},
		{"--children", []string{"--children"}, true},
		{"--children=false", []string{"--children=false"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"record", "-q", "--threads"}, tt.args...)
			o := show(t, append(args, "--", "sh", "-c", script, duty)...)
			if o.status != 0 {
				t.Errorf("status %d, %s", o.status, o.stderr)
			}
			for _, work := range []string{"work_a", "work_b_"} {
				found := false
				for line := range strings.Lines(o.stdout) {
					found = found || strings.HasPrefix(line, "duty;duty;") && strings.Contains(line, work)
				}
				if found != tt.want {
					t.Errorf("%s of the process duty is in the profile: %v, want %v\n%s", work, found,
						tt.want, o.stdout)
				}
			}
			if !strings.HasPrefix(o.stdout, "sh;") && !strings.Contains(o.stdout, "\nsh;") {
				t.Errorf("the shell is not in the profile:\n%s", o.stdout)
			}
		})
	}
}
