//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestNoStopAttachesNothing: strace sees every system call of fpstack, and none of them traces, signals or stops a
// process; the counters of each thread of the target say that none of them ran.
func TestNoStopAttachesNothing(t *testing.T) {
	p := runTarget(t, "threads", "20", "10")
	pid := strconv.Itoa(p.pid)
	before := schedstats(t, p.pid)
	log := filepath.Join(room(t), "calls")
	o := execute(t, bound, installed(t, "strace"), "-f", "-qq", "-e", "signal=none", "-o", log, fpstack, "--no-stop",
		"-p", pid)
	if o.status != 0 || !strings.Contains(o.stdout, "21 threads, nothing stopped\n") {
		t.Fatalf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	calls, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(calls), `"task/`+pid+`/syscall"`) {
		t.Error("strace did not see how the target was read: this test would see nothing else either")
	}
	forbidden := regexp.MustCompile(`(?m)^\d+ +(ptrace|kill|tkill|rt_sigqueueinfo|rt_tgsigqueueinfo|` +
		`pidfd_send_signal|tgkill)\((\d+)?.*$`)
	own := map[string]bool{} // threads of fpstack: Go's runtime sends signals to itself
	for _, line := range strings.Split(string(calls), "\n") {
		id, _, _ := strings.Cut(line, " ")
		own[id] = true
	}
	for _, m := range forbidden.FindAllStringSubmatch(string(calls), -1) {
		if m[1] != "tgkill" || !own[m[2]] {
			t.Errorf("fpstack called %s", m[0])
		}
	}
	if after := schedstats(t, p.pid); !slices.Equal(before, after) {
		t.Errorf("counters were %q, are %q: threads of the target ran", before, after)
	}
}

// schedstats reads the counters of all threads of a process.
func schedstats(t *testing.T, pid int) []string {
	t.Helper()
	var all []string
	for _, tid := range numbers("/proc/" + strconv.Itoa(pid) + "/task") {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/schedstat")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strconv.Itoa(tid)+" "+strings.TrimSpace(string(b)))
	}
	return all
}

// TestNoStopShowsTheSame: what sleeps has the stack that a stop shows, in C, Go and on 32 bits.
func TestNoStopShowsTheSame(t *testing.T) {
	for _, name := range []string{"threads", "threads-go", "threads-m32", "threads-musl"} {
		t.Run(name, func(t *testing.T) {
			p := runTarget(t, name, "3", "10")
			without, with := dumpJSON(t, p.pid, "--no-stop"), dumpJSON(t, p.pid)
			again := dumpJSON(t, p.pid, "--no-stop")
			moved := 0
			for i := range with.Threads {
				want := &with.Threads[i]
				got := without.thread(t, want.TID)
				if !slices.Equal(got.functions(), again.thread(t, want.TID).functions()) {
					moved++ // it woke meanwhile, as Go's sysmon does
					continue
				}
				if !slices.Equal(got.functions(), want.functions()) || got.Stack.Complete != want.Stack.Complete {
					t.Errorf("thread %d: %q, complete %v (%s); stopped it is %q", want.TID, got.functions(),
						got.Stack.Complete, got.Stack.Detail, want.functions())
				}
			}
			if moved > 1 {
				t.Errorf("%d of %d threads moved by themselves: too few are left to compare", moved, len(with.Threads))
			}
		})
	}
}

// spinning starts a program whose main thread computes and two others sleep.
func spinning(t *testing.T) *target {
	t.Helper()
	cmd := exec.Command(program(t, "spin"), "5", "2")
	if _, err := cmd.StdinPipe(); err != nil { // it ends with its standard input
		t.Fatal(err)
	}
	return launch(t, cmd).ready(t)
}

// TestNoStopOfRunning: a thread that runs has its state and its counters, and no stack that was made up.
func TestNoStopOfRunning(t *testing.T) {
	p := spinning(t)
	o := show(t, "--no-stop", "-p", strconv.Itoa(p.pid))
	running := regexp.MustCompile(`(?m)^\d+ "spin"  computes\n  ! not stopped: runs, and nothing is stopped; ` +
		`CPU time [^,]+, ready without a CPU [^,]+, put on a CPU [\d,]+ times?\n\d`)
	if o.status != 1 || !running.MatchString(o.stdout) ||
		!strings.Contains(o.stderr, "1 thread ran, shown without a stack: that takes a stop") {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	d, j := tryJSON(t, p.pid, "--no-stop")
	if d == nil || j.status != 1 || !strings.Contains(j.stdout, `"cpu_ns": `) {
		t.Fatalf("status %d\n%s", j.status, j.stdout)
	}
	for i := range d.Threads {
		if th := &d.Threads[i]; th.NotStopped != "" && len(th.Stack.Frames) > 0 {
			t.Errorf("thread %d runs and has frames %q", th.TID, th.functions())
		}
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/fpstack.dump.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, schema, j.stdout)
}

// TestNoStopOfTraced: a process that another tracer has is shown by itself without a stop, and that is reported once.
func TestNoStopOfTraced(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(t *testing.T) string
	}{{"strace", startStrace}, {"gdb", startGDB}} {
		t.Run(tt.name, func(t *testing.T) {
			pid := tt.start(t)
			o := show(t, "-p", pid)
			note := `  ! process ` + pid + ` is traced by process ` + tracerOf(pid) + ` "` + tt.name +
				`": shown without a stop, as with --no-stop` + "\n"
			if o.status != 0 || o.stderr != "" || strings.Count(o.stdout, note) != 1 ||
				!strings.Contains(o.stdout, "nothing stopped\n") || strings.Count(o.stdout, " descend ") != 10 {
				t.Errorf("status %d, want 0 and %q\n%s%s", o.status, note, o.stdout, o.stderr)
			}
			if now := tracerOf(pid); now == "0" {
				t.Error("the tracer has lost the process")
			}
			if f := show(t, "-p", pid, "-f", "folded"); f.status != 0 ||
				!strings.Contains(f.stderr, "shown without a stop") {
				t.Errorf("folded: status %d, %q", f.status, f.stderr)
			}
		})
	}
}

// TestNoStopWherePtraceIsRefused: under a filter that refuses ptrace the memory may still be read.
func TestNoStopWherePtraceIsRefused(t *testing.T) {
	asRoot(t)
	pid := sleeper(t)
	for _, how := range []string{"eperm", "enosys"} {
		o := execute(t, bound, enterable(t, "noptrace"), how, fpstack, "-p", pid)
		if o.status != 0 || strings.Count(o.stdout, ": shown without a stop, as with --no-stop\n") != 1 ||
			strings.Count(o.stdout, " descend ") != 10 {
			t.Errorf("%s: status %d\n%s%s", how, o.status, o.stdout, o.stderr)
		}
	}
}

// TestNoStopSaved: what was copied without a stop says so when it is shown again.
func TestNoStopSaved(t *testing.T) {
	p := spinning(t)
	file := filepath.Join(room(t), "saved")
	live := show(t, "--no-stop", "-p", strconv.Itoa(p.pid), "--save", file)
	saved := show(t, file)
	if live.stdout != saved.stdout || !strings.Contains(saved.stdout, "nothing stopped, 1 not copied") {
		t.Errorf("saved:\n%s\nlive:\n%s%s", saved.stdout, live.stdout, live.stderr)
	}
}

// TestNoStopUsage: what takes a stop is refused together with it.
func TestNoStopUsage(t *testing.T) {
	checkUsage(t, show(t, "--no-stop", "--rolling", "-p", "1"), "--rolling with --no-stop")
	checkUsage(t, show(t, "--no-stop", "--fibers=all", "-p", "1"), "--fibers all with --no-stop")
}
