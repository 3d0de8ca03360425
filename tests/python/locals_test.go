//go:build linux && (amd64 || arm64)

package python

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// TestLocals: local variables have the values that the script gave them.
func TestLocals(t *testing.T) {
	want := map[string][]string{
		"generator": {"value = 'in cell'", "twice = 'in cellin cell'"},
		"inner":     {"seen = 'in cell'", "cell = 'in cell'"},
		"closure":   {"plain_one = 1", "inner = <function at 0x>", "cell = 'in cell'"},
		"method":    {"self = <Plain at 0x>", "event = 1", "own = 'in method'"},
		"plain": {"nothing = None", "yes = True", "no = False", "zero = 0", "small = 42", "negative = -7",
			"large = 1180591620717411303424", "huge = <int of 1020 bits or less>", "half = 0.5", "whole = 3.0",
			"tiny = 1e-09", "infinite = -inf", "ascii_text = 'abc'", `quoted = "it's"`, `line = 'a\n\x1b\\'`,
			"japanese = '日本'", "long_text = '" + strings.Repeat("x", 64) + "'…(100 characters)",
			`data = b'\x00ab\xff'`, "no_data = b''", "numbers = [1, 2, 3, 4, …]", "nested = [[[…]], {'k': […]}]",
			"empty = []", "one = (1,)", "pair = (1, 'b')", "mapping = {'a': 1, 2: None}", "letters = {7}",
			"frozen = frozenset({8})", "no_set = set()", "point = Point(1, 2)", "color = Color(1)",
			"derived = Text('t')", "thing = <Plain at 0x>", "kind = <class Plain>", "function = <function at 0x>",
			"module = <module at 0x>"},
	}
	address := regexp.MustCompile("0x[0-9a-f]{5,}")
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "locals.py", nil)
		s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers(),
			ProcessCopiers: x.Runtimes.LocalsCopiers()})
		if err != nil {
			t.Fatal(err)
		}
		th := &s.Threads[0]
		stack := x.Walker.Walk(th, s.Reader(th, x.Process), unwind.Options{})
		all := x.Runtimes.Locals(mem.NewOverlay(nil, s.Whole...), &stack)
		found := 0
		named := x.Names.Stack(&stack)
		for i := range named.Frames {
			f := &named.Frames[i]
			values, ok := want[f.Func[strings.LastIndexByte(f.Func, '.')+1:]]
			if !ok {
				continue
			}
			found++
			var got []string
			for _, v := range all[f.Index] {
				got = append(got, v.Name+" = "+address.ReplaceAllString(v.Value, "0x"))
			}
			if !slices.Equal(got, values) {
				t.Errorf("%s has\n%s\nwant\n%s", f.Func, strings.Join(got, "\n"), strings.Join(values, "\n"))
			}
		}
		if found != len(want) {
			t.Errorf("%d of %d frames are there", found, len(want))
		}
	})
}

// BenchmarkLocals copies the local variables of 901 frames.
func BenchmarkLocals(b *testing.B) {
	for _, in := range interpreters(b) {
		b.Run(in.name, func(b *testing.B) {
			x := start(b, in, "deep.py", nil)
			copiers := x.Runtimes.LocalsCopiers()
			for b.Loop() {
				var g snapshot.Gatherer
				g.Ready(copiers)
				g.Run(copiers, pieces{x})
			}
		})
	}
}

// TestLocalsOfTasks: the functions that a task waits in have their local variables.
func TestLocalsOfTasks(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "state.py", nil)
		l := x.lister(t)
		s, err := x.Snapshot(t.Context(), tracer.StopOptions{Copiers: x.Runtimes.DumpCopiers(),
			ProcessTime: 900e6, // a busy machine takes long
			ProcessCopiers: append([]snapshot.ProcessCopier{l.(snapshot.ProcessCopier)},
				x.Runtimes.LocalsCopiers()...)})
		if err != nil {
			t.Fatal(err)
		}
		fibers, err := l.Fibers(s)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for i := range fibers {
			if name := fibers[i].Name; name != "first" && name != "second" {
				continue
			}
			found++
			var stack unwind.Stack
			l.(vm.FiberStacker).FiberStack(fibers[i].ID, &stack)
			all := x.Runtimes.Locals(mem.NewOverlay(nil, s.Whole...), &stack)
			for k := range stack.Frames {
				v := all[k]
				if at := len(v) - 1; at < 0 || v[at].Name != "future" ||
					!strings.HasPrefix(v[at].Value, "<_asyncio.Future at ") {
					t.Errorf("task %q, frame %d: %v, want its future", fibers[i].Name, k, v)
				}
			}
			want := map[string]int{"first": 3, "second": 2}[fibers[i].Name] // the first is inside of a lock
			if len(stack.Frames) != want {
				t.Errorf("task %q has %d frames, want %d", fibers[i].Name, len(stack.Frames), want)
			}
		}
		if found != 2 {
			t.Errorf("%d tasks are listed, want 2", found)
		}
	})
}
