package live

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestRecordedCommandIsAsUsual asks a command under fpstack record for its timers, its parent and its
// environment: the exact timers of the thread that samples are that thread's alone.
func TestRecordedCommandIsAsUsual(t *testing.T) {
	script := `cat /proc/self/timerslack_ns; cat /proc/$PPID/comm; env | grep FPSTACK; tr '\0' ' ' </proc/$PPID/cmdline`
	cmd := exec.Command(fpstack, "record", "-q", "-o", t.TempDir()+"/x.folded", "--", "/bin/sh", "-c", script)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "FPSTACK_") })
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(out), "\n", 3)
	if len(lines) != 3 || lines[0] != "50000" || lines[1] != "fpstack" {
		t.Errorf("the command's slack and our name: got %q, want 50000, fpstack", lines)
	}
	if want := strings.Join(cmd.Args, " "); !strings.HasPrefix(lines[len(lines)-1], want) {
		t.Errorf("command line %q, want %q", lines[len(lines)-1], want)
	}
}

// TestRecordingOfRealTime has fpstack record run in a real-time class, where timers have no slack: it
// records as well.
func TestRecordingOfRealTime(t *testing.T) {
	chrt := installed(t, "chrt")
	if out, err := exec.Command(chrt, "-f", "1", "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("a real-time class is not to be had: %v: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, chrt, "-f", "1", fpstack, "record", "-q", "-f", "folded", "-o", "-", "--",
		"/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done").Output()
	if err != nil || len(out) == 0 {
		t.Errorf("got %v, %q", err, out)
	}
}

// TestRecordedCommandOutlivesThreads records a command that wants to die with the thread that made it.
func TestRecordedCommandOutlivesThreads(t *testing.T) {
	t.Parallel()
	python := installed(t, "/usr/bin/python3")
	// PR_SET_PDEATHSIG
	const script = "import ctypes, time\nctypes.CDLL(None).prctl(1, 9)\ntime.sleep(0.3)\nprint('lives')"
	for range 3 {
		out, err := exec.Command(fpstack, "record", "-q", "-o", t.TempDir()+"/x.folded", "--", python, "-c",
			script).Output()
		if err != nil || string(out) != "lives\n" {
			t.Errorf("got %q, %v", out, err)
		}
	}
}
