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
	"testing"
	"time"
)

// TestSmallLimits: a limit that is too small is reported in two lines, with the remedy, and before anything is touched.
// Address spaces of all sizes are tried by TestSmallAddressSpace, with the program that scripts/build makes.
func TestSmallLimits(t *testing.T) {
	pid := sleeper(t)
	for _, tt := range []struct{ limit, want, remedy string }{
		{"-n 8", "may open", "ulimit -n"}, {"-n 12", "may open", "ulimit -n"}, {"-n 20", "may open", "ulimit -n"},
		{"-v 1000000", "address space", "ulimit -v unlimited"},
	} {
		for _, args := range [][]string{{"-p", pid}, {"record", "-p", pid, "-d", "300ms"},
			{"record", "-q", "--", "true"}, {"top", "-p", pid, "--once", "1"}, {"doctor", "-p", pid}} {
			line := append([]string{"-c", "ulimit " + tt.limit + ` && exec "$0" "$@"`, fpstack}, args...)
			o := execute(t, bound, "sh", line...)
			checkEnd(t, o, line)
			want := 2
			if args[len(args)-1] == "true" {
				want = 125
			}
			if o.status != want || strings.Count(o.stderr, "\n") != 2 || !strings.Contains(o.stderr, tt.want) ||
				!strings.Contains(o.stderr, tt.remedy) {
				t.Errorf("ulimit %s, %q: status %d, want %d; %q", tt.limit, args, o.status, want, o.stderr)
			}
		}
		if o := execute(t, bound, "sh", "-c", "ulimit "+tt.limit+` && exec "$0" version`, fpstack); o.status != 0 {
			t.Errorf("ulimit %s: version has status %d, %s", tt.limit, o.status, o.stderr)
		}
	}
	o := execute(t, bound, "sh", "-c", `ulimit -n 40; exec "$0" -p "$1"`, fpstack, pid)
	if o.status != 0 {
		t.Errorf("ulimit -n 40: status %d, %s", o.status, o.stderr)
	}
}

// TestSpaceUsedUp: where what is read takes more addresses than there may be, fpstack says so and how to go on. Go's
// runtime would end it with a trace.
func TestSpaceUsedUp(t *testing.T) {
	dir := t.TempDir()
	big, out := filepath.Join(dir, "big.folded"), filepath.Join(dir, "out")
	var b bytes.Buffer
	for i := range 600_000 {
		fmt.Fprintf(&b, "main;work_%d;leaf_%d 1\n", i, i)
	}
	if err := os.WriteFile(big, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	o := execute(t, bound, "sh", "-c", `ulimit -v 1550000; exec "$0" flame -f json -o "$1" "$2"`, fpstack, out, big)
	if o.status != 2 || strings.Count(o.stderr, "\n") != 2 || !strings.Contains(o.stderr, "used up") ||
		!strings.Contains(o.stderr, "ulimit -v unlimited") {
		t.Errorf("status %d, want 2 and two lines\n%.500s", o.status, o.stderr)
	}
	if left, _ := filepath.Glob(out + "*"); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

// memoryGroup makes a memory cgroup of either version, in the one that we are in. set limits it, join is a shell's word
// that joins.
func memoryGroup(t *testing.T) (set func(bytes int64), used func() int64, join string) {
	t.Helper()
	asRoot(t)
	dir, limit, usage := "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
	if b, err := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control"); err == nil &&
		strings.Contains(string(b), "memory") {
		dir, limit, usage = "/sys/fs/cgroup", "memory.max", "memory.current"
	}
	group := filepath.Join(dir, "fpstack-test-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("no memory cgroup can be made: %v", err)
	}
	t.Cleanup(func() { // it is empty when what was started has ended
		for range 100 {
			if os.Remove(group) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s stays", group)
	})
	if _, err := os.Stat(filepath.Join(group, limit)); err != nil {
		t.Skipf("no memory cgroup here: %v", err)
	}
	set = func(bytes int64) {
		if err := os.WriteFile(filepath.Join(group, limit), []byte(strconv.FormatInt(bytes, 10)), 0); err != nil {
			t.Fatal(err)
		}
	}
	used = func() int64 {
		n, err := strconv.ParseInt(strings.TrimSpace(readFile(t, filepath.Join(group, usage))), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return set, used, "echo $$ >" + filepath.Join(group, "cgroup.procs")
}

// TestMemoryRunsOut: in the memory cgroup of its target, fpstack is what the kernel ends when memory runs out, though
// the target has many times as much of it; and a command that it starts has the place that it had.
func TestMemoryRunsOut(t *testing.T) {
	set, used, join := memoryGroup(t)
	const hog = `x=bytearray(b"x")*(96<<20); print("R", flush=True); import time; time.sleep(600)`
	p := launch(t, exec.Command("sh", "-c", join+` && exec python3 -c "$0"`, hog)).ready(t)
	// Millions of stacks take more than there is, whatever a dump takes.
	big := filepath.Join(room(t), "big.folded")
	if out, err := exec.Command("python3", "-c", `
with open(__import__("sys").argv[1], "w") as f:
    for i in range(600000): f.write("main;work_%d;leaf_%d 1\n" % (i, i))`, big).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid := strconv.Itoa(p.pid)
	for _, args := range [][]string{{"flame", big, "-o", "/dev/null", "-f", "json"}, {"-p", pid},
		{"record", "-q", "-d", "1s", "-p", pid}} {
		set(used() + 8<<20)
		line := append([]string{"-c", join + ` && exec "$0" "$@"`, fpstack}, args...)
		o := execute(t, bound, "sh", line...)
		if state := stateOf(p.pid); state != 'S' {
			t.Fatalf("%q: the target is in state %q; fpstack ended with %d", args, state, o.status)
		}
		if args[0] == "flame" && o.status != -1 {
			t.Errorf("%q: status %d, want that memory ran out and fpstack was killed: %s", args, o.status, o.stderr)
		}
		checkFree(t, p.pid)
	}
	for _, before := range []int{0, 300, 1000} {
		o := execute(t, bound, "sh", "-c",
			fmt.Sprintf(
				`echo %d >/proc/self/oom_score_adj; "$0" record -q -o /dev/null -f folded -- `+
					`cat /proc/self/oom_score_adj`, before), fpstack)
		if o.status != 0 || o.stdout != fmt.Sprint(before, "\n") {
			t.Errorf("with %d: the command has %q, status %d, %s", before, o.stdout, o.status, o.stderr)
		}
	}
}

// TestForeignProc has fpstack in a pid namespace whose /proc is that of another: ids that it reads there mean other
// processes to the kernel.
func TestForeignProc(t *testing.T) {
	unshare := installed(t, "unshare")
	for _, tt := range []struct {
		args   []string
		status int
	}{
		{[]string{"record", "-q", "-o", filepath.Join(room(t), "x.folded"), "--", "sh", "-c", "exit 0"}, 125},
		{[]string{"-p", "1"}, 2}, {[]string{"1", "--waits"}, 2}, {[]string{"hang", "1"}, 2},
		{[]string{"doctor", "1"}, 2},
		{[]string{"check", "1"}, 2}, {[]string{"perf-map", "1"}, 2}, {[]string{"top", "1", "--once", "1"}, 2},
	} {
		o := execute(t, bound, unshare, append([]string{"-pf", fpstack}, tt.args...)...)
		if o.status != tt.status || !strings.Contains(o.stderr, "/proc is of another pid namespace") {
			t.Errorf("fpstack %q: status %d, want %d; %q", tt.args, o.status, tt.status, o.stderr)
		}
	}
	if o := execute(t, bound, unshare, "-pf", fpstack, "check", fpstack); o.status > 1 ||
		strings.Contains(o.stderr, "pid namespace") {
		t.Errorf("check of a file: status %d, %q", o.status, o.stderr)
	}
	if o := execute(t, bound, unshare, "-pf", fpstack, "--version"); o.status != 0 {
		t.Errorf("--version: status %d, %q", o.status, o.stderr)
	}
}
