//go:build linux && (amd64 || arm64)

package python

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// TestNestedGenerators: where frames are in objects and there are more than can be copied in the stop, those that were
// have their names, and the last of them says that others may be missing.
func TestNestedGenerators(t *testing.T) {
	const all = 301
	each(t, 8, func(t *testing.T, in interpreter) {
		for _, env := range [][]string{nil, {"COROUTINES=1"}} {
			x := start(t, in, "nested.py", env)
			for i := range 5 {
				walked.Pause(i)
				s := x.stop(t)
				stack := x.Stack(s, 0)
				frames := python(&stack)
				cut := len(frames) > 0 && strings.Contains(frames[len(frames)-1].Note, "callers may be missing")
				unknown := slices.ContainsFunc(frames, func(f *profile.Frame) bool {
					return f.Func != "generator" && f.Func != "coroutine" && f.Func != "<module>"
				})
				if !delayed(s) && (len(frames) < 100 || len(frames) < all && !cut || unknown) {
					t.Errorf("%d frames, cut: %t, names that are none: %t%s", len(frames), cut, unknown,
						describe(&stack))
				}
			}
			x.end()
		}
	})
}

// TestManyThreads: of 600 threads each has its frames of Python, or says that they are missing, while others begin and
// end between the reading of the list and the stop.
func TestManyThreads(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		if !*full && !slices.Contains(quick, in.minor) {
			return // -full has it
		}
		x := start(t, in, "many.py", nil)
		undelayed := 0
		for i := 0; undelayed < 3; i++ {
			walked.Pause(i)
			s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers()})
			if err != nil {
				t.Fatal(err)
			}
			if !delayed(s) {
				undelayed++
			} else if i == 20 {
				t.Fatalf("in %d of %d stops not all was copied: %q", i+1-undelayed, i+1, s.Problems)
			}
			waiting, silent := 0, 0
			for k := range s.Threads {
				stack := x.Stack(s, k)
				frames := python(&stack)
				if slices.ContainsFunc(frames, func(f *profile.Frame) bool { return f.Func == "waits" }) {
					waiting++
				}
				eval := slices.ContainsFunc(stack.Frames, func(f profile.Frame) bool {
					return strings.HasPrefix(f.Func, "_PyEval_EvalFrameDefault") && !f.Stub
				})
				noted := slices.ContainsFunc(stack.Frames, func(f profile.Frame) bool {
					return strings.Contains(f.Note, "frames of Python are")
				})
				if len(frames) == 0 && eval && !noted {
					silent++
				}
			}
			if waiting < 600 && !delayed(s) || silent > 0 {
				t.Errorf("%d of 600 threads have their frames of Python; %d others say nothing", waiting, silent)
			}
		}
	})
}

// TestLocalsOfLists: of a list the elements that are shown are copied in the stop, and not the others.
func TestLocalsOfLists(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "lists.py", nil)
		s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers(),
			ProcessCopiers: x.Runtimes.LocalsCopiers()})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range s.Whole {
			n += len(r.Data)
		}
		if values := x.locals(s, "shows"); n > 512<<10 || !slices.Contains(values, "numbers = [0, 1, 2, 3, …]") ||
			!slices.Contains(values, "letters = {0, 1, 2, 3, …}") ||
			!slices.Contains(values, "mapping = {0: 0, 1: 1, 2: 2, 3: 3, …}") {
			t.Errorf("%d bytes were copied to show %q", n, values)
		}
	})
}

// TestCells: a variable that holds a cell is one, and one that is in a cell is what that holds.
func TestCells(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "lists.py", nil)
		s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers(),
			ProcessCopiers: x.Runtimes.LocalsCopiers()})
		if err != nil {
			t.Fatal(err)
		}
		values := x.locals(s, "has_cell")
		if len(values) != 3 || values[0] != "inner = 7" && values[2] != "inner = 7" ||
			!slices.ContainsFunc(values, func(v string) bool { return strings.HasPrefix(v, "cell = <cell at 0x") }) {
			t.Errorf("variables %q", values)
		}
	})
}

// locals are the local variables of the frame of a function of the main thread.
func (x *target) locals(s *snapshot.Snapshot, function string) (values []string) {
	th := &s.Threads[0]
	stack := x.Walker.Walk(th, s.Reader(th, x.Process), unwind.Options{})
	all := x.Runtimes.Locals(s.Over(nil, s.Whole...), &stack)
	named := x.Names.Stack(&stack)
	for i := range named.Frames {
		if f := &named.Frames[i]; f.Func == function {
			for _, v := range all[f.Index] {
				values = append(values, v.Name+" = "+v.Value)
			}
		}
	}
	return values
}
