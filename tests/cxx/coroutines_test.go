//go:build linux && (amd64 || arm64)

package cxx

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/tests/harness"
)

// built is where scripts/build-cxx puts what it makes.
const built = "../../testdata/bin/cxx"

var fpstack string

func TestMain(m *testing.M) {
	r, err := harness.Prepare("cxx")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fpstack = r.Fpstack
	status := m.Run()
	os.RemoveAll(r.Scratch)
	os.Exit(status)
}

// numbered finds a compiler whose name has its version.
var numbered = regexp.MustCompile(`(clang|g)\+\+-\d+`)

// start starts a program with n coroutines of each kind, and returns its process id.
func start(t *testing.T, program string, n int, more ...string) int {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(built, program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		// Compilers with a number in their name are used where somebody has installed them.
		if compiler := numbered.FindString(program); compiler != "" {
			t.Skipf("%s was not here to build %s", compiler, program)
		}
		t.Skipf("testdata/bin/cxx/%s is not built: scripts/build-cxx", program)
	}
	p := harness.Program{Argv: append([]string{path, strconv.Itoa(n)}, more...), Ready: "ready"}
	return p.Begin(t)
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

// marks are the lines of a source that end in "// KIND N", by that.
func marks(t *testing.T, source string) map[string]int {
	t.Helper()
	f, err := os.Open("../../testdata/cxx/" + source)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := map[string]int{}
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		if _, mark, ok := strings.Cut(s.Text(), "; // "); ok {
			lines[mark] = n
		}
	}
	return lines
}

// chain is the lines of a fiber's functions, innermost first. Functions of libraries, and those in front of their first
// line, have their names in place of a line.
func chain(d *profile.Dump, f *profile.Fiber) string {
	var s []string
	for _, x := range d.FiberStacks[f.Stack].Stack.Frames {
		switch {
		case strings.Contains(x.Func, "asio::"):
			s = append(s, "asio")
		case f.State == "has not begun" && len(s) == 0:
			s = append(s, x.Func)
		default:
			s = append(s, strconv.Itoa(x.Line))
		}
	}
	return strings.Join(s, " ")
}

// want is a chain that a source makes.
type want struct {
	state string // of the innermost, "*" for any
	lines string // its marks, or names of functions
	each  int    // how many times n of it there are; 0: one
}

const (
	awaitsEvent = "awaits event"
	unknown     = "what it awaits is not known"
	abandoned   = "nothing leads to it: abandoned, or freed"
)

// wanted are the chains of testdata/cxx/tasks.cc.
var wanted = []want{
	{awaitsEvent, "chain 1, chain 2, chain 3", 1},
	{"awaits async_mutex::lock_awaiter", "lock 1, lock 2", 1},
	{awaitsEvent, "text 1, text 2", 1},
	{awaitsEvent, "deep 1, deep 2, deep 2, deep 2, deep 2", 1},
	{awaitsEvent, "template 1", 1},
	{awaitsEvent, "keeps 1", 1},
	{"has not begun", "fetch_row", 1}, // that keeps has
	{awaitsEvent, "detached 1", 1},
	{abandoned, "lost 1", 1},
	{"*", "generator 1", 1}, // what is optimized does not tell what it awaits
	{awaitsEvent, "lambda 1", 1},
}

// chains are those of all with their lines, and how many there are.
func chains(t *testing.T, source string, all []want, n int) map[string]int {
	t.Helper()
	lines, out := marks(t, source), map[string]int{}
	for _, w := range all {
		var s []string
		for _, mark := range strings.Split(w.lines, ", ") {
			if strings.Contains(mark, " ") {
				if lines[mark] == 0 {
					t.Fatalf("%s has no line %q", source, mark)
				}
				mark = strconv.Itoa(lines[mark])
			}
			s = append(s, mark)
		}
		out[w.state+": "+strings.Join(s, " ")] += max(1, w.each*n)
	}
	return out
}

// compare compares what is listed with what the source makes. What comes and goes is left out.
func compare(t *testing.T, d *profile.Dump, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		if f.Kind != profile.AsyncCall {
			t.Errorf("a fiber is a %s", f.Kind)
		}
		if isPassing(d, f) {
			continue
		}
		key := f.State + ": " + chain(d, f)
		if any := "*: " + chain(d, f); want[any] > 0 {
			key = any
		}
		got[key]++
	}
	for c, n := range want {
		if got[c] != n {
			t.Errorf("%d of %s, want %d", got[c], c, n)
		}
	}
	for c, n := range got {
		if want[c] == 0 {
			t.Errorf("%d of a chain that the source does not make: %s", n, c)
		}
	}
	if t.Failed() {
		t.Log(d.Problems)
	}
}

// isPassing reports whether f is of those coroutines that come to their end all the time.
func isPassing(d *profile.Dump, f *profile.Fiber) bool {
	frames := d.FiberStacks[f.Stack].Stack.Frames
	last := ""
	if len(frames) > 0 {
		last = frames[len(frames)-1].Func
	}
	return last == "outer" || last == "brief"
}

// programs are those of the compilers that each run tries, and with harness.All of the others.
var programs = harness.With([]string{"tasks-g++-O0", "tasks-g++-O2", "tasks-clang++-O2", "tasks-lib-g++-O0"},
	"tasks-clang++-O0", "tasks-lib-clang++-O2", "tasks-clang++-19-O0", "tasks-clang++-19-O2", "tasks-g++-13-O2",
	"tasks-g++-14-O2")

// ofProgram are the chains of a program: Clang leaves out a coroutine that nothing lets go on, if it may.
func ofProgram(t *testing.T, program string, n int) map[string]int {
	t.Helper()
	all := wanted
	if strings.Contains(program, "clang") && strings.Contains(program, "O2") {
		all = nil
		for _, w := range wanted {
			if w.state != abandoned {
				all = append(all, w)
			}
		}
	}
	return chains(t, "tasks.cc", all, n)
}

// TestCoroutines: coroutines of each chain are listed as often as they are there, with their lines and what they await,
// of each compiler, optimized and not.
func TestCoroutines(t *testing.T) {
	t.Parallel()
	const n = 50
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			compare(t, dump(t, start(t, program, n)), ofProgram(t, program, n))
		})
	}
}

// TestBesideOthers: in none of several looks beside others that begin and end all the time is there a chain that the
// source cannot make, nor is one missing.
func TestBesideOthers(t *testing.T) {
	t.Parallel()
	const n, looks = 50, 10
	for _, program := range harness.With([]string{"tasks-g++-O2", "tasks-clang++-O2"}, "tasks-clang++-O0") {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			pid := start(t, program, n, "churn")
			for range looks {
				compare(t, dump(t, pid), ofProgram(t, program, n))
			}
		})
	}
}

// TestAsio: those of Boost.Asio, with the operations that they await.
func TestAsio(t *testing.T) {
	t.Parallel()
	const n = 20
	compare(t, dump(t, start(t, "asio-g++-O2", n)), chains(t, "asio.cc", []want{
		{"awaits a timer", "asio, timer 1, timer 2, asio", 1},
		{"awaits a socket", "asio, socket 1, socket 2, asio", 1},
		{"awaits a socket", "asio, socket 1, socket 3, asio", 1},
		{"awaits a connection", "asio, accept 1, asio", 0},
	}, n))
}
