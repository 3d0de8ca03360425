//go:build linux

package live

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
)

// routines is testdata/live/routines_go while it runs.
type routines struct {
	*target
	in io.Writer
}

// startRoutines starts that program, with n goroutines that wait for a channel.
func startRoutines(t testing.TB, path string, args ...string) *routines {
	t.Helper()
	cmd := exec.Command(path, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return &routines{target: launch(t, cmd).ready(t), in: in}
}

// own is the program's own dump of its goroutines. order 'g' lets it collect garbage before.
func (r *routines) own(t testing.TB, order byte) []ownRoutine {
	t.Helper()
	if _, err := r.in.Write([]byte{order}); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for {
		line := r.line(t)
		if line == "end" {
			return parseOwn(t, lines)
		}
		lines = append(lines, line)
	}
}

// ownRoutine is one goroutine of such a dump.
type ownRoutine struct {
	id        uint64
	state     string
	frames    []string // "function file:line", without those of the runtime
	createdBy string   // "function file:line"
	creator   uint64
}

var (
	ownHead    = regexp.MustCompile(`^goroutine (\d+) \[(.*)\]:$`)
	ownCreated = regexp.MustCompile(`^created by (\S+)(?: in goroutine (\d+))?$`)
	ownPlace   = regexp.MustCompile(`^\t(.*:\d+)(?: \+0x[0-9a-f]+)?$`)
)

// parseOwn reads what runtime/pprof writes with debug=2.
func parseOwn(t testing.TB, lines []string) []ownRoutine {
	t.Helper()
	var all []ownRoutine
	for i := 0; i < len(lines); i++ {
		if m := ownHead.FindStringSubmatch(lines[i]); m != nil {
			id, _ := strconv.ParseUint(m[1], 10, 64)
			all = append(all, ownRoutine{id: id, state: m[2]})
			continue
		}
		if lines[i] == "" || i+1 == len(lines) || len(all) == 0 {
			continue
		}
		place := ownPlace.FindStringSubmatch(lines[i+1])
		if place == nil {
			t.Fatalf("line %q of the program's own dump is not understood", lines[i+1])
		}
		g := &all[len(all)-1]
		if m := ownCreated.FindStringSubmatch(lines[i]); m != nil {
			g.createdBy = m[1] + " " + place[1]
			g.creator, _ = strconv.ParseUint(m[2], 10, 64)
		} else if name, _ := cutLast(lines[i], "("); shownByGo(name) {
			g.frames = append(g.frames, name+" "+place[1])
		}
		i++
	}
	return all
}

func cutLast(s, sep string) (before, after string) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// shownByGo reports whether a traceback of Go shows a function: not those of the runtime, and not the wrappers that
// its compiler makes. C functions are none of its either.
func shownByGo(name string) bool {
	return name != "" && !strings.HasPrefix(name, "runtime.") && !strings.Contains(name, ".gowrap") &&
		!strings.HasPrefix(name, "internal/runtime/") && !strings.HasPrefix(name, "runtime/internal/") &&
		!strings.HasPrefix(name, "_cgo") && strings.Contains(name, ".")
}

// readGoroutines makes a dump of the process and reads it back.
func readGoroutines(t testing.TB, pid int, args ...string) (*profile.Dump, outcome) {
	t.Helper()
	o := show(t, append([]string{"-p", strconv.Itoa(pid), "-f", "json"}, args...)...)
	d, err := report.NewReader(strings.NewReader(o.stdout)).Read()
	if err != nil {
		t.Fatalf("read the dump: %v\n%s", err, o.stderr)
	}
	return d, o
}

// ours puts the goroutines of d into the form of the program's own dump.
func ours(d *profile.Dump) []ownRoutine {
	stacks := map[int][]profile.Frame{}
	for i := range d.Threads {
		stacks[d.Threads[i].TID] = d.Threads[i].Stack.Frames
	}
	var all []ownRoutine
	for _, f := range d.Fibers {
		if f.System {
			continue
		}
		g := ownRoutine{id: f.ID, state: f.State, creator: f.Creator}
		if f.Locked {
			g.state += ", locked to thread"
		}
		s := &d.FiberStacks[f.Stack]
		frames := s.Stack.Frames
		if f.TID != 0 && len(frames) == 0 {
			frames = stacks[f.TID]
		}
		for i := range frames {
			if shownByGo(frames[i].Func) {
				g.frames = append(g.frames, placed(&frames[i]))
			}
		}
		if len(s.CreatedBy) > 0 {
			g.createdBy = placed(&s.CreatedBy[0])
		}
		all = append(all, g)
	}
	return all
}

func placed(f *profile.Frame) string { return fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line) }

// compareRoutines compares what fpstack shows with the program's own dump: the same goroutines in the same order, each
// with the same state, stack and creation. Goroutine 1, which writes that dump, is at different places in the two.
func compareRoutines(t *testing.T, got, want []ownRoutine) {
	t.Helper()
	for _, list := range [][]ownRoutine{got, want} {
		for i := range list {
			_, line, _ := strings.Cut(list[i].createdBy, " ")
			if n := len(list[i].frames); n > 0 && line != "" && strings.HasSuffix(list[i].frames[n-1], " "+line) {
				list[i].frames = list[i].frames[:n-1] // Go 1.21 gave the wrapper of a go statement a usual name
			}
			if strings.HasPrefix(list[i].state, "syscall") { // Go shows where it was entered, we where it is
				list[i].frames = slices.DeleteFunc(list[i].frames, func(f string) bool {
					return strings.HasPrefix(f, "syscall.")
				})
			}
		}
	}
	other := func(g ownRoutine) bool { return g.id == 1 }
	got, want = slices.DeleteFunc(got, other), slices.DeleteFunc(want, other)
	wrong := 0
	for i := range want {
		if i >= len(got) || fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			if wrong++; wrong < 4 && i < len(got) {
				t.Errorf("goroutine %d of the list:\ngot  %v\nwant %v", i, got[i], want[i])
			}
		}
	}
	if len(got) != len(want) || wrong > 0 {
		t.Errorf("%d goroutines, %d of them other than the %d that the program itself shows", len(got), wrong,
			len(want))
	}
}

// TestGoroutines: in each kind of program fpstack shows the goroutines that the program's own dump shows, with the
// same words, in the same order.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"routines-go", "routines-go-pie", "routines-go-trimpath", "routines-go-plain",
		"routines-cgo", "routines-cgo-pie", "routines-go-stripped", "routines-go-nodwarf"} {
		t.Run(name, func(t *testing.T) {
			r := startRoutines(t, program(t, name), "300")
			checkRoutines(t, r, 300)
		})
	}
}

// checkRoutines compares the goroutines of r, n of which wait for a channel.
func checkRoutines(t *testing.T, r *routines, n int) {
	t.Helper()
	want := r.own(t, 'x')
	d, o := readGoroutines(t, r.pid)
	if o.status != 0 {
		t.Errorf("status %d: %s", o.status, o.stderr)
	}
	compareRoutines(t, ours(d), want)
	if len(want) < n+8 {
		t.Errorf("the program shows %d goroutines, want at least %d", len(want), n+8)
	}
	for i := range d.Fibers {
		if f := &d.Fibers[i]; f.Missing != "" || f.TID == 0 && !d.FiberStacks[f.Stack].Stack.Complete {
			t.Errorf("goroutine %d [%s]: %q, stack %+v", f.ID, f.State, f.Missing, d.FiberStacks[f.Stack].Stack)
		}
	}
}

// TestManyGoroutines: ten thousand parked goroutines, and how long they wait once the garbage collector met them.
func TestManyGoroutines(t *testing.T) {
	r := startRoutines(t, program(t, "routines-go"), "10000")
	want := r.own(t, 'g')
	d, _ := readGoroutines(t, r.pid, "--fibers=all")
	compareRoutines(t, ours(d), want)
	if len(d.FiberStacks) > 60 {
		t.Errorf("%d stacks, want those of a chain of calls once", len(d.FiberStacks))
	}
	parked, counted := 0, 0
	for _, f := range d.Fibers {
		if f.State == "chan receive" {
			parked++
			if f.Waits > 0 && f.Waits < patience {
				counted++
			}
		}
	}
	if parked < 10000 || counted < parked {
		t.Errorf("%d goroutines wait for a channel, of %d is known how long; want all", parked, counted)
	}
	o := show(t, "-p", strconv.Itoa(r.pid))
	for _, text := range []string{"10000 goroutines ", " [chan receive]:\n", "created by main.main in goroutine 1",
		"goroutines of the runtime itself (-v shows them)", " idle thread",
		"[syscall, locked to thread]:\n  on thread "} {
		if !strings.Contains(o.stdout, text) {
			t.Errorf("no %q in the text:\n%s", text, o.stdout)
		}
	}
	if n := strings.Count(o.stdout, "\n"); n > 300 {
		t.Errorf("%d lines for ten thousand goroutines: they are not grouped", n)
	}
}

// TestBusyGoroutine: a goroutine that runs has the stack of its thread, and the thread says which it is.
func TestBusyGoroutine(t *testing.T) {
	r := startRoutines(t, program(t, "routines-go"), "10", "spin")
	d, _ := readGoroutines(t, r.pid)
	for i := range d.Threads {
		th := &d.Threads[i]
		at := slices.IndexFunc(th.Stack.Frames, func(f profile.Frame) bool { return f.Func == "main.spin" })
		if at < 0 {
			continue
		}
		if th.Fiber == nil {
			t.Fatalf("thread %d runs main.spin and no goroutine", th.TID)
		}
		k := slices.IndexFunc(d.Fibers, func(f profile.Fiber) bool { return f.ID == th.Fiber.ID })
		if k < 0 || d.Fibers[k].TID != th.TID || d.Fibers[k].State != "running" {
			t.Errorf("goroutine %v of thread %d: %v", th.Fiber, th.TID, d.Fibers)
		}
		return
	}
	t.Error("no thread is in main.spin")
}

// otherRelease is a copy of a Go program that says to be of a release which is not known.
func otherRelease(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("\xff Go buildinf:"))
	if at < 0 {
		t.Fatalf("%s has no build information", path)
	}
	copy(b[at+bytes.Index(b[at:], []byte("go1.")):], "go9.")
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(out, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGoroutinesRefused: what a program lacks is said once, and its threads are shown; to ask for them nevertheless
// is a failure.
func TestGoroutinesRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"routines-go-stripped", "routines-go-nodwarf"} {
		r := startRoutines(t, otherRelease(t, program(t, name)), "10")
		pid := strconv.Itoa(r.pid)
		o := show(t, "-p", pid)
		if o.status != 0 || !strings.Contains(o.stdout, "! goroutines cannot be listed") ||
			!strings.Contains(o.stdout, "main.main") {
			t.Errorf("%s: status %d\n%s%s", name, o.status, o.stdout, o.stderr)
		}
		if o = show(t, "-p", pid, "--fibers=all"); o.status != 1 || !strings.Contains(o.stderr, "-ldflags") {
			t.Errorf("%s with --fibers=all: status %d, %q", name, o.status, o.stderr)
		}
		if o = show(t, "-p", pid, "--fibers=none"); o.status != 0 || strings.Contains(o.stdout, "! goroutines") {
			t.Errorf("%s with --fibers=none: status %d\n%s", name, o.status, o.stdout)
		}
	}
	sleeper := runTarget(t, "parks", "2")
	o := show(t, "-p", strconv.Itoa(sleeper.pid), "--fibers=all")
	if o.status != 1 || !strings.Contains(o.stderr, "no goroutines") {
		t.Errorf("a C program: status %d, %q", o.status, o.stderr)
	}
	if o = show(t, "-p", strconv.Itoa(sleeper.pid), "--fibers=all", "--rolling"); o.status != 64 {
		t.Errorf("with --rolling: status %d, want 64", o.status)
	}
}

// TestGoroutinesFolded: each goroutine counts once, in its state, and no thread beside those that run none.
func TestGoroutinesFolded(t *testing.T) {
	r := startRoutines(t, program(t, "routines-go"), "300")
	o := show(t, "-p", strconv.Itoa(r.pid), "-f", "folded", "--fibers=all")
	const parked = "main.receive;runtime.chanrecv1;runtime.chanrecv;runtime.gopark;(chan receive) 300\n"
	if !strings.Contains(o.stdout, parked) {
		t.Errorf("no 300 goroutines that wait for a channel:\n%s", o.stdout)
	}
	if o = show(t, "-p", strconv.Itoa(r.pid), "-f", "folded"); strings.Contains(o.stdout, "(chan receive)") {
		t.Errorf("goroutines that nobody asked for:\n%s", o.stdout)
	}
}

// TestCalls: stacks from Go to C and back, three deep, are whole.
func TestCalls(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"routines-cgo", "routines-cgo-pie", "routines-cgo-fp", "routines-cgo-notables"} {
		t.Run(name, func(t *testing.T) {
			pid := startRoutines(t, program(t, name), "3").pid
			checkCalls(t, pid)
			checkParked(t, pid)
		})
	}
}

// checkCalls looks for the goroutines that sleep in C, each with the calls between C and Go that are on its stack.
// Where C has lost its way the walk goes on at the call of C, and says that frames are missing.
func checkCalls(t *testing.T, pid int) {
	t.Helper()
	const turn = "main.goCalled callBack main.goCalled callBack main.goCalled callBack"
	d, _ := readGoroutines(t, pid)
	var chains []string
	for i := range d.Threads {
		th := &d.Threads[i]
		var names []string
		gaps := 0
		for _, f := range th.Stack.Frames {
			switch {
			case slices.Contains([]string{"rest", "callBack", "callOnce", "lost", "main.goCalled"}, f.Func):
				names = append(names, f.Func)
			case f.Func == "runtime.asmcgocall" && f.Origin == "waypoint" &&
				strings.HasPrefix(f.Note, "found by where Go called C; frames before it are missing: "):
				gaps++
				names = append(names, "(gap)")
				continue
			}
			if f.Note != "" && len(names) > 0 && names[0] == "rest" {
				t.Errorf("thread %d: frame %s is not sure: %s", th.TID, f.Func, f.Note)
			}
		}
		if len(names) == 0 || names[0] != "rest" {
			continue
		}
		chains = append(chains, strings.Join(names, " "))
		if last := th.Stack.Frames[len(th.Stack.Frames)-1]; !th.Stack.Complete || last.Func != "runtime.goexit" ||
			th.Fiber == nil {
			t.Errorf("thread %d: ends with %s (%s %s), runs %v", th.TID, last.Func, th.Stack.Stop, th.Stack.Detail,
				th.Fiber)
		}
	}
	slices.Sort(chains)
	want := []string{"rest", "rest lost (gap)", "rest main.goCalled callOnce lost (gap)", "rest " + turn}
	if slices.Sort(want); !slices.Equal(chains, want) {
		t.Errorf("calls in C:\ngot  %q\nwant %q", chains, want)
	}
}

// checkParked looks for the goroutines that wait in Go which C called, and for their threads: both have the C, and what
// called that. Of the goroutine no frame is missing but where C has lost its way.
func checkParked(t *testing.T, pid int) {
	t.Helper()
	const left = "runtime.mcall crosscall2: the goroutine that was called from here waits: its frames before this " +
		"one are missing "
	d, _ := readGoroutines(t, pid)
	var goroutines, threads []string
	for _, f := range d.Fibers {
		names := parkedNames(&d.FiberStacks[f.Stack].Stack, "")
		if strings.HasPrefix(names, "main.goParked ") {
			goroutines = append(goroutines, names)
		}
	}
	for i := range d.Threads {
		names := parkedNames(&d.Threads[i].Stack, "read while the thread ran again") // what the goroutine has
		if strings.Contains(names, "crosscall2: ") {
			threads = append(threads, names)
		}
	}
	slices.Sort(goroutines)
	slices.Sort(threads)
	const once, twice = "parkOnce (gap)", "callParked main.goParked callParked"
	if want := []string{"main.goParked " + twice, "main.goParked " + once}; !slices.Equal(goroutines, want) {
		t.Errorf("goroutines:\ngot  %q\nwant %q", goroutines, want)
	}
	if want := []string{left + twice, left + once}; !slices.Equal(threads, want) {
		t.Errorf("threads:\ngot  %q\nwant %q", threads, want)
	}
}

// parkedNames are the functions of s that tell how a goroutine came to wait in Go which C called, where frames are
// missing, what other frames have against themselves beside the note allowed, and whether the stack is whole.
func parkedNames(s *profile.Stack, allowed string) string {
	var names []string
	for _, f := range s.Frames {
		switch {
		case slices.Contains([]string{"main.goParked", "callParked", "parkOnce", "runtime.mcall"}, f.Func):
			names = append(names, f.Func)
		case f.Origin == "waypoint" && strings.HasPrefix(f.Note, "found by where Go called C; frames before it "):
			names = append(names, "(gap)")
		case f.Note != allowed && f.Note != "":
			names = append(names, f.Func+": "+f.Note)
		}
	}
	if n := len(s.Frames); n == 0 || !s.Complete || s.Frames[n-1].Func != "runtime.goexit" {
		names = append(names, "(cut)")
	}
	return strings.Join(names, " ")
}
