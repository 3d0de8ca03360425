//go:build linux && (amd64 || arm64)

package rust

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/tests/harness"
)

// built is where scripts/build-rust puts what it makes.
const built = "../../testdata/bin/rust"

var fpstack string

func TestMain(m *testing.M) {
	r, err := harness.Prepare("rust")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fpstack = r.Fpstack
	status := m.Run()
	os.RemoveAll(r.Scratch)
	os.Exit(status)
}

// start starts a program with n tasks of each kind, and returns its process id.
func start(t *testing.T, program, scheduler string, n int) int {
	t.Helper()
	p := harness.Program{Argv: []string{binary(t, program), scheduler, strconv.Itoa(n)}, Ready: "ready"}
	return p.Begin(t)
}

// binary is the path of a program. The test skips where it is not built.
func binary(t *testing.T, program string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(built, program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("testdata/bin/rust/%s is not built: scripts/build-rust", program)
	}
	return path
}

// dump is a dump of process pid with all fibers.
func dump(t *testing.T, pid int) *profile.Dump {
	t.Helper()
	return read(t, "--fibers=all", "-p", strconv.Itoa(pid))
}

// read is the dump that fpstack writes with those arguments.
func read(t *testing.T, arguments ...string) *profile.Dump {
	t.Helper()
	out, err := exec.Command(fpstack, append([]string{"--format=json"}, arguments...)...).Output()
	if len(out) == 0 {
		t.Fatal(err)
	}
	d, err := report.NewReader(bytes.NewReader(out)).Read()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// marks are those of the source of tasks.
func marks(t *testing.T) map[string]int {
	t.Helper()
	return marksOf(t, "tasks/main.rs")
}

// marksOf are the lines of a source in testdata/rust that end in "// KIND N", by that.
func marksOf(t *testing.T, source string) map[string]int {
	t.Helper()
	f, err := os.Open(filepath.Join("../../testdata/rust", source))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := map[string]int{}
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		if _, mark, ok := strings.Cut(s.Text(), "; // "); ok {
			lines[mark] = n
		} else if _, mark, ok := strings.Cut(s.Text(), " // "); ok && !strings.HasPrefix(s.Text(), "//") {
			lines[mark] = n
		}
	}
	return lines
}

// chain is what is listed of a fiber: what it awaits, and the lines of its functions, innermost first. The type that a
// lock guards is left out: functions that are not inlined do not have it in their names.
func chain(d *profile.Dump, f *profile.Fiber) string {
	s := strings.TrimSuffix(f.State, "<u64>") + ":"
	for _, x := range d.FiberStacks[f.Stack].Stack.Frames {
		s += fmt.Sprintf(" %d", x.Line)
	}
	return s
}

// wanted are the chains that the source makes, by what they await and their marks.
var wanted = []string{
	"awaits a timer: sleep 1, sleep 2",
	"awaits a Mutex: mutex 1, mutex 2",
	"awaits a Semaphore: semaphore 1, semaphore 2",
	"awaits a RwLock: rwlock 1, rwlock 2",
	"awaits a sender of a oneshot channel: oneshot 1, oneshot 2, oneshot 3",
	"awaits a sender of a channel: recv 1, recv 2",
	"awaits room in a channel: send 1, send 2",
	"awaits a Notify: notify 1, notify 2",
	"awaits a task: join_handle 1, join_handle 2",
	"what it awaits is not known: pending 1",
	"awaits a socket: read 1, read 2",
	"awaits a connection: accept 1, accept 2",
	"awaits other async calls: select 2, select 3",
	"awaits a sender of a oneshot channel: select 1a",
	"awaits a timer: select 1b",
	"awaits other async calls: join 2, join 3",
	"awaits a sender of a oneshot channel: join 1a",
	"awaits a timer: join 1b",
	"awaits a timer: boxed 1, boxed 2, boxed 2, boxed 2",
	"awaits a sender of a oneshot channel: timeout 1, timeout 2",
}

// chains are those of wanted with their lines.
func chains(t *testing.T) map[string]string {
	t.Helper()
	lines := marks(t)
	out := map[string]string{}
	for _, w := range wanted {
		state, of, _ := strings.Cut(w, ": ")
		s := state + ":"
		for _, mark := range strings.Split(of, ", ") {
			if lines[mark] == 0 {
				t.Fatalf("the source has no line %q", mark)
			}
			s += fmt.Sprintf(" %d", lines[mark])
		}
		out[s] = w
	}
	return out
}

// TestTasks: tasks of each chain are listed as often as they are there, with their lines and what they await, beside
// others that come and go; in all of several looks, with both schedulers, of the oldest and the newest tokio,
// optimized and not.
func TestTasks(t *testing.T) {
	t.Parallel()
	eachScheduler(t, harness.With([]string{"tasks"}, "tasks-full", "tasks-debug", "tasks-1.28"), listsTasks)
}

func listsTasks(t *testing.T, program, scheduler string) {
	const n = 50
	want, pid := chains(t), start(t, program, scheduler, n)
	for range 3 {
		compare(t, dump(t, pid), want, n)
	}
}

// settled is a dump in which each task but those that come and go was polled: on a busy machine some are ready to run
// for a while after the program has said that all are made.
func settled(t *testing.T, pid int) *profile.Dump {
	t.Helper()
	const tries = 10
	var d *profile.Dump
	for range tries {
		d = dump(t, pid)
		unpolled := 0
		for i := range d.Fibers {
			f := &d.Fibers[i]
			frames := d.FiberStacks[f.Stack].Stack.Frames
			if f.Wait == profile.FiberRuns && len(frames) > 0 && !isPassing(frames[len(frames)-1].Func) {
				unpolled++
			}
		}
		if unpolled == 0 {
			break
		}
	}
	return d
}

// isPassing reports whether a function is that of a task that comes and goes.
func isPassing(name string) bool {
	return strings.HasSuffix(name, "::passing") || strings.HasSuffix(name, "::churn")
}

const (
	selects  = "::selects"
	maxSpent = 4
)

func compare(t *testing.T, d *profile.Dump, want map[string]string, n int) {
	t.Helper()
	got, spent := map[string]int{}, 0
	for i := range d.Fibers {
		f := &d.Fibers[i]
		frames := d.FiberStacks[f.Stack].Stack.Frames
		// The thread in whose place a task is run may have spent its share of polls: docs/runtimes.md.
		if f.State == "what it awaits is not known" && strings.HasSuffix(frames[0].Func, selects) {
			spent++
			continue
		}
		unknown := f.Wait == profile.FiberRuns || strings.HasPrefix(f.State, "where it waits is not known")
		if f.Missing != "" || unknown || isPassing(frames[len(frames)-1].Func) { // their numbers tell if it is another
			continue
		}
		if frames[0].Line == 0 { // less is known of it
			spent++
			continue
		}
		got[chain(d, f)]++
	}
	for c, number := range got {
		if want[c] == "" {
			t.Errorf("%d of a chain that the source cannot make: %s", number, c)
		}
	}
	for c, w := range want {
		if got[c] > n || got[c] < n-spent {
			t.Errorf("%d of %q (%s), want %d", got[c], w, c, n)
		}
	}
	if spent > maxSpent {
		t.Errorf("of %d tasks in a select! it is not known what they await", spent)
	}
}

// TestWithoutLines: tasks are listed without debug information, too: with the names of their futures where there are
// symbols, else without; it is said that more is not known.
func TestWithoutLines(t *testing.T) {
	t.Parallel()
	const n = 10
	futures := []string{"sleeper", "locker", "permitted", "reading", "handle_request", "consumer", "producer",
		"notified", "joiner", "forever", "peer", "server", "selecting", "joining", "timed", "recursive"}
	for program, named := range map[string]bool{"tasks-nodebug": true, "tasks-stripped": false} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			d := dump(t, start(t, program, "multi", n))
			got, waiting := map[string]int{}, 0
			for i := range d.Fibers {
				f := &d.Fibers[i]
				frames := d.FiberStacks[f.Stack].Stack.Frames
				if f.Wait == profile.FiberRuns || len(frames) == 0 {
					continue
				}
				waiting++
				if !strings.HasPrefix(f.State, "where it waits is not known") {
					t.Errorf("task %d: %s", f.ID, f.State)
				}
				name := frames[len(frames)-1].Func
				got[name[strings.LastIndexByte(name, ':')+1:]]++
			}
			for _, future := range futures {
				if named && got[future] != n || !named && got[future] != 0 {
					t.Errorf("%d of %s", got[future], future)
				}
			}
			if least := n * len(futures); waiting < least || waiting > least+churning {
				t.Errorf("%d tasks wait, want %d or %d more", waiting, least, churning)
			}
		})
	}
}

// churning is how many tasks that come and go are listed at the most: 21 are there at a time, and some end while others
// are found.
const churning = 2 * 21

// TestKept: a saved dump and a core have the same chains as the process.
func TestKept(t *testing.T) {
	t.Parallel()
	const n = 3
	want := chains(t)
	harness.Need(t, "gcore")
	pid := start(t, "tasks", "multi", n)
	settled(t, pid)
	dir := t.TempDir()
	saved, core := filepath.Join(dir, "saved"), filepath.Join(dir, "core")
	harness.Output(t, fpstack, "-p", strconv.Itoa(pid), "--save="+saved)
	harness.Output(t, "gcore", "-o", core, strconv.Itoa(pid))
	compare(t, read(t, saved), want, n)
	compare(t, read(t, fmt.Sprintf("%s.%d", core, pid)), want, n)
}
