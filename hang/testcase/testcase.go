// Package testcase finds which test of a test runner a process is in, by its stacks: the frames of the runner are
// known, and what it calls is the test.
//
// The caller gives the dump of a process and what is known of it without a stop. Nothing is read of the process: of
// the parameters of a pytest item there is what functions and files tell, and of Go's subtests and JavaScript's tests
// where the dump has no names.
//
// Sources: _pytest/python.py and _pytest/fixtures.py; testing/testing.go; googletest's gtest-internal.h; library/test
// of Rust; lib/internal/test_runner of Node.js; jest-circus.
package testcase

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// Test is one that runs.
type Test struct {
	// Runner is "pytest", "go test", "gtest", "cargo test", "node:test", "jest", "unittest", "JUnit 5", "TestNG".
	Runner string `json:"runner"`
	// Name is the test's as its runner takes it to run it alone, as far as that is known: any bytes of the target.
	Name string `json:"name"`
	File string `json:"file,omitempty"` // "" if unknown
	Line int    `json:"line,omitempty"` // where it is, 0 if unknown
	TID  int    `json:"tid,omitempty"`  // the thread that runs it, 0 if none does
}

// Process is what is known of a process without a stop.
type Process struct {
	Dir       string   // its working directory
	Args      []string // its command line
	Variables []string // the names in its environment
}

// Of lists the tests that a process is in, those of threads first. There may be several at a time.
func Of(d *profile.Dump, p *Process) []Test {
	f := &finder{p: p}
	onThread := map[int]string{} // the names of tests that fibers run
	for i := range d.Fibers {
		if b := &d.Fibers[i]; b.TID != 0 {
			onThread[b.TID] = b.Test
		}
	}
	for i := range d.Threads {
		t := &d.Threads[i]
		f.stack(t.Stack.Frames, t.TID, t.Name, onThread[t.TID])
	}
	for i := range d.Fibers {
		if b := &d.Fibers[i]; b.Missing == "" && b.Stack >= 0 && b.Stack < len(d.FiberStacks) {
			f.stack(d.FiberStacks[b.Stack].Stack.Frames, b.TID, "", b.Test)
		}
	}
	f.place(d)
	return f.found
}

type finder struct {
	p     *Process
	found []Test
}

func (f *finder) add(t Test) {
	same := func(o Test) bool { return o.Runner == t.Runner && o.Name == t.Name }
	if t.Name != "" && !slices.ContainsFunc(f.found, same) {
		f.found = append(f.found, t)
	}
}

// stack looks at one stack, innermost frame first. name is what a runtime knows the test as that is on it, "" if it
// does not.
func (f *finder) stack(frames []profile.Frame, tid int, thread, name string) {
	for i := 1; i < len(frames); i++ { // the one below a runner's frame is what it calls
		outer, t := &frames[i], Test{TID: tid}
		switch {
		case outer.Kind == profile.Python:
			t.Runner, t.Name = f.python(outer, frames[:i])
		case outer.Kind == profile.Java:
			t.Runner, t.Name = f.java(outer, frames[:i])
		case outer.Func == "testing.tRunner":
			t.Runner, t.Name = "go test", goTest(frames[:i])
		case strings.HasPrefix(outer.Func, "testing::Test::Run") || strings.HasPrefix(outer.Func,
			"testing::TestInfo::Run"):
			t.Runner, t.Name = "gtest", googleTest(frames[:i])
		case strings.HasPrefix(outer.Func, "test::__rust_begin_short_backtrace"):
			t.Runner, t.Name = "cargo test", cargoTest(frames[:i], thread)
		case strings.HasPrefix(outer.File, "node:internal/test_runner/"):
			t.Runner, t.Name = "node:test", f.script(frames[:i])
		case ofJest(outer):
			t.Runner, t.Name = "jest", f.script(frames[:i])
		}
		if t.Name == "" && name != "" && (t.Runner == "jest" || t.Runner == "node:test") {
			t.Name = name // which waits apart from what its runner has called
			f.add(t)
			return
		}
		if t.Name == "" {
			continue
		}
		if own := f.own(t.Runner, frames[:i]); own != nil {
			t.File, t.Line = own.File, own.Line
		}
		switch {
		case name == "":
		case t.Runner == "go test":
			t.Name = name
		case t.File != "": // of JavaScript: names of tests are no names of functions
			t.Name = f.relative(t.File) + ":" + strconv.Itoa(t.Line) + " " + name
		}
		f.add(t)
		return
	}
}

// own is the outermost frame of the test itself.
func (f *finder) own(runner string, inner []profile.Frame) *profile.Frame {
	for i := len(inner) - 1; i >= 0; i-- {
		if at := &inner[i]; at.File != "" && at.Line > 0 && !ofRunner(runner, at) {
			return at
		}
	}
	return nil
}

// ofRunner reports whether a frame between runner and test is the runner's, or its language's.
func ofRunner(runner string, at *profile.Frame) bool {
	switch runner {
	case "node:test", "jest":
		return strings.HasPrefix(at.File, "node:") || strings.Contains(at.File, "/node_modules/")
	case "gtest":
		return strings.HasPrefix(at.Func, "testing::")
	case "cargo test":
		return strings.HasPrefix(at.Func, "core::") || strings.HasPrefix(at.Func, "<") || strings.HasPrefix(at.Func,
			"test::")
	case "pytest", "unittest":
		return at.Kind != profile.Python
	case junit5, junit4, junit3, testNG:
		return at.Kind != profile.Java || at.Stub || slices.ContainsFunc(reflection, func(p string) bool {
			return strings.HasPrefix(at.Func, p)
		})
	}
	return false
}

// python is the item that a frame of pytest or unittest calls: `tests/test_shop.py::TestTill::test_open`.
func (f *finder) python(outer *profile.Frame, inner []profile.Frame) (runner, name string) {
	kind := ""
	switch {
	case outer.Func == "pytest_pyfunc_call" && strings.HasSuffix(outer.File, "_pytest/python.py"):
		runner = "pytest"
	case outer.Func == "call_fixture_func" && strings.HasSuffix(outer.File, "_pytest/fixtures.py"):
		runner, kind = "pytest", "fixture "
	case strings.HasSuffix(outer.Func, "TestCase._callTestMethod") && strings.HasSuffix(outer.File, "unittest/case.py"),
		outer.Func == "_callTestMethod" && strings.HasSuffix(outer.File, "unittest/case.py"):
		runner = "unittest"
	default:
		return "", ""
	}
	at := f.own(runner, inner)
	if at == nil {
		return "", ""
	}
	function := strings.ReplaceAll(strings.TrimPrefix(at.Func, profile.AsyncPrefix), ".<locals>", "")
	return runner, kind + f.relative(at.File) + "::" + strings.ReplaceAll(function, ".", "::")
}

// relative is file as seen from where the process is.
func (f *finder) relative(file string) string {
	file = strings.TrimPrefix(file, "file://")
	if in, ok := strings.CutPrefix(file, strings.TrimSuffix(f.p.Dir, "/")+"/"); ok && f.p.Dir != "" {
		return in
	}
	return file
}

// goTest is the test that tRunner calls, "" where it waits for its subtests, which run elsewhere. A subtest is known
// by its function, whose name has those that it is in: TestTill.func1.
func goTest(inner []profile.Frame) string {
	name := ""
	for i := len(inner) - 1; i >= 0 && name == ""; i-- {
		if !inner[i].Inlined {
			name = inner[i].Func
		}
	}
	if strings.HasPrefix(name, "testing.") {
		return ""
	}
	for i := range inner {
		if inner[i].Func == "testing.(*T).Run" || inner[i].Func == "testing.(*T).Parallel" {
			return ""
		}
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	_, function, ok := strings.Cut(name, ".")
	if !ok {
		return ""
	}
	test, sub, isSub := strings.Cut(function, ".")
	if isSub {
		return test + " (subtest " + sub + ")"
	}
	return function
}

// googleTest is the test that googletest calls: it makes a class of each, Suite_Name_Test.
func googleTest(inner []profile.Frame) string {
	for i := len(inner) - 1; i >= 0; i-- {
		class, _, ok := strings.Cut(inner[i].Func, "::TestBody")
		if !ok {
			continue
		}
		if i := strings.LastIndex(class, "::"); i >= 0 {
			class = class[i+len("::"):]
		}
		suite, name, ok := strings.Cut(strings.TrimSuffix(class, "_Test"), "_")
		if ok {
			return suite + "." + name
		}
	}
	return ""
}

// cargoTest is the test of a thread that is named after it, as far as a name of a thread is long enough; the function
// has the whole.
func cargoTest(inner []profile.Frame, thread string) string {
	for i := len(inner) - 1; i >= 0; i-- {
		name, _, _ := strings.Cut(inner[i].Func, "::{")
		_, inCrate, ok := strings.Cut(name, "::")
		if ok && !strings.HasPrefix(name, "<") && (strings.HasPrefix(inCrate, thread) || thread == "") {
			return inCrate
		}
	}
	if strings.Contains(thread, "::") {
		return thread + "…"
	}
	return ""
}
