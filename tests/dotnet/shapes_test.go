//go:build linux

package dotnet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/walked"
)

const own = fetched + "/own"

// at is a frame that must be there: its function, and text of the line of testdata/dotnet/shapes.cs where it executes,
// "" for one without a line.
type at struct{ function, text string }

// Frames that many chains have.
var (
	rest    = at{"Shapes.Gate.Rest", "Thread.Sleep(Timeout.Infinite)"}
	started = at{"Shapes.Program.Start (lambda)", "body(), 256 << 10"}
)

// shape is the frame of the lambda in the table of shapes that begins that one.
func shape(name string) at { return at{"Shapes.Program.shapes (lambda)", `{ "` + name + `",`} }

// chains are the frames of Shapes and of dynamic methods in each thread, innermost first, by its name.
var chains = map[string][]at{
	"generic": {rest, {"Shapes.Box<int>.Inner<__Canon>.Hold<double>", "void Hold<V>"},
		{"Shapes.Box<int>.Keep", "new Inner<string>()"}, shape("generic"), started},
	"shared": {rest, {"Shapes.Box<__Canon>.Inner<__Canon>.Hold<double>", "void Hold<V>"},
		{"Shapes.Box<__Canon>.Keep", "new Inner<string>()"}, shape("shared"), started},
	"array": {rest, {"Shapes.Box<__Canon>.Inner<__Canon>.Hold<double>", "void Hold<V>"},
		{"Shapes.Box<__Canon>.Keep", "new Inner<string>()"}, shape("array"), started},
	"tuple": {rest, {"Shapes.Box<(int, System.DateTime?)>.Inner<__Canon>.Hold<double>", "void Hold<V>"},
		{"Shapes.Box<(int, System.DateTime?)>.Keep", "new Inner<string>()"}, shape("tuple"), started},
	"operator": {rest, {"Shapes.Money.operator +()", "Gate.Rest(); // operator"}, shape("operator"), started},
	"explicit": {rest, {"Shapes.Place.System.IDisposable.Dispose", "void IDisposable.Dispose()"},
		{"Shapes.Place.Item.get", "((IDisposable)this).Dispose()"}, {"Shapes.Place.Shapes.IPlace.Where.get", "this[3]"},
		shape("explicit"), started},
	"async": {shape("async"), started},
	"iterator": {rest, {"Shapes.Worker<int>.Items<long> (iterator)", "Gate.Rest(); // iterator"},
		shape("iterator"), started},
	"lambda": {rest, {"Shapes.Worker<int>.Lambda (lambda)", "Action inner ="},
		{"Shapes.Worker<int>.Lambda (lambda)", "Action outer ="}, {"Shapes.Worker<int>.Lambda", "outer();"},
		shape("lambda"), started},
	"asynclambda": {{"Shapes.Worker<int>.AsyncLambda", "f().Wait();"}, shape("asynclambda"), started},
	"catch": {rest, {"Shapes.Thrower.Catch", "Gate.Rest(); // catch"}, {"Shapes.Thrower.Throw", "throw new"},
		{"Shapes.Thrower.Catch", "Throw(); // catch"}, started},
	"finally": {rest, {"Shapes.Thrower.Finally", "Gate.Rest(); // finally"}, {"Shapes.Thrower.Throw", "throw new"},
		{"Shapes.Thrower.Finally", "Throw(); // finally"}, started},
	"filter": {rest, {"Shapes.Thrower.Resting", "Gate.Rest(); // filter"},
		{"Shapes.Thrower.Filter", "when (Resting())"},
		{"Shapes.Thrower.Throw", "throw new"}, {"Shapes.Thrower.Filter", "Throw(); // filter"}, started},
	"callback": {rest, {"Shapes.Native.Compare", "Gate.Rest(); // callback"},
		{"Shapes.Native.Sort", "qsort(new"}, started},
	"dynamic":   {rest, {"made_at_run_time (dynamic method)", ""}, {"Shapes.Made.Dynamic", "CreateDelegate"}, started},
	"reflected": {rest, {"Shapes.Made.Reflected", `GetMethod("Rest").Invoke`}, started},
	"reflectedoften": {rest, {"Shapes.Made.Visited", "Gate.Rest(); // often"},
		{"InvokeStub_Made.Visited (dynamic method)", ""}, {"Shapes.Made.ReflectedOften", "m.Invoke"}, started},
	"task":      {{"Shapes.Waits.ForTask", "never.Wait();"}, started},
	"semaphore": {{"Shapes.Waits.ForSemaphore", "SemaphoreSlim(0).Wait()"}, started},
	"event":     {{"Shapes.Waits.ForEvent", "ManualResetEventSlim(false).Wait()"}, started},
	"handle":    {{"Shapes.Waits.ForHandle", "AutoResetEvent(false).WaitOne("}, started},
	"pulse":     {{"Shapes.Waits.ForPulse", "Monitor.Wait(o)"}, started},
	"join":      {{"Shapes.Waits.ForThread", "t.Join();"}, started},
}

// pooled are the chains of threads of the pool: async methods go on there. mcs gives an async lambda that captures
// nothing the same name as the state machine of an async method.
var pooled = [][]at{
	{rest, {"Shapes.Worker<int>.RunAsync<__Canon> (async)", "Gate.Rest(); // async"}},
	{rest, {"Shapes.Worker<int>.AsyncLambda (async)", "Func<Task> f ="}},
}

// startOwn starts shapes.dll of that folder in the runtime of 9.0.5, as startShapes, with tiered compilation.
func startOwn(t testing.TB, folder string, shapes ...string) *server {
	t.Helper()
	return startHost(t, filepath.Join(fetched, library), folder, nil, append([]string{"shapes.dll"}, shapes...)...)
}

// stopUntil takes snapshots until each thread that should wait does: it has said so before the call that it waits in.
// It returns the last stacks.
func (s *server) stopUntil(t testing.TB, ok func(names []string, stacks []profile.Stack) bool) []profile.Stack {
	t.Helper()
	for i := 0; ; i++ {
		shot := s.Stop(t)
		var names []string
		for k := range shot.Threads {
			names = append(names, shot.Threads[k].Comm)
		}
		stacks := s.Stacks(shot)
		if ok(names, stacks) || i == 50 {
			return stacks
		}
		walked.Pause(i)
	}
}

// source is the lines of testdata/dotnet/shapes.cs.
func source(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("../../testdata/dotnet/shapes.cs")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

// texts are frames as they are compared: function and "file:line".
func texts(t testing.TB, chain []at) []string {
	t.Helper()
	lines := source(t)
	var out []string
	for _, f := range chain {
		if f.text == "" {
			out = append(out, f.function)
			continue
		}
		i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, f.text) })
		if i < 0 {
			t.Fatalf("shapes.cs has no line with %q", f.text)
		}
		out = append(out, fmt.Sprintf("%s /src/shapes.cs:%d", f.function, i+1))
	}
	return out
}

// ownFrames are the frames of Shapes and of dynamic methods of a stack, in that form.
func ownFrames(s *profile.Stack) []string {
	var out []string
	for i := range s.Frames {
		f := &s.Frames[i]
		switch {
		case f.Kind != profile.DotNet || f.Stub:
		case f.File != "":
			out = append(out, fmt.Sprintf("%s %s:%d", f.Func, f.File, f.Line))
		case strings.HasPrefix(f.Func, "Shapes.") || strings.HasSuffix(f.Func, "(dynamic method)"):
			out = append(out, f.Func)
		}
	}
	return out
}

// methodsOf are the methods of Shapes in a stack.
func methodsOf(s *profile.Stack) []string { return methodsIn(s, "Shapes.") }

// methodsIn are the methods in a stack whose names begin so.
func methodsIn(s *profile.Stack, prefix string) []string {
	var out []string
	for i := range s.Frames {
		if f := &s.Frames[i]; f.Kind == profile.DotNet && strings.HasPrefix(f.Func, prefix) {
			out = append(out, f.Func)
		}
	}
	return out
}

// TestShapes: known chains of calls are shown, with generic arguments and lines, by a PDB inside of the assembly and
// one beside it.
func TestShapes(t *testing.T) {
	for _, folder := range []string{own, own + "/beside"} {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			s := startOwn(t, folder)
			compareShapes(t, s)
			if err := s.Runtimes.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func compareShapes(t *testing.T, s *server) {
	t.Helper()
	var wrong []string
	s.stopUntil(t, func(names []string, stacks []profile.Stack) bool {
		wrong = nil
		met := map[string]int{}
		all := map[string]bool{}
		for i, name := range names {
			got := ownFrames(&stacks[i])
			all[strings.Join(got, "\n")] = true
			chain, ok := chains[name]
			if !ok {
				continue
			}
			met[name]++
			if want := texts(t, chain); !slices.Equal(got, want) {
				wrong = append(wrong, fmt.Sprintf("%s:\n got  %s\n want %s", name, strings.Join(got, "\n      "),
					strings.Join(want, "\n      ")))
			}
			if !stacks[i].Complete {
				wrong = append(wrong, fmt.Sprintf("%s ends early: %s", name, stacks[i].Detail))
			}
		}
		for name := range chains {
			if met[name] != 1 {
				wrong = append(wrong, fmt.Sprintf("%s: %d threads, want 1", name, met[name]))
			}
		}
		for _, chain := range pooled {
			if want := strings.Join(texts(t, chain), "\n"); !all[want] {
				wrong = append(wrong, "no thread has "+want)
			}
		}
		return len(wrong) == 0
	})
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestManyThreads: 200 threads with the same chain have it all. Threads that begin late may run lambdas that were
// compiled again: these jump to what they call last, and have no frame then.
func TestManyThreads(t *testing.T) {
	s := startOwn(t, own, "many")
	want := strings.Join(texts(t, []at{rest, {"Shapes.Box<int>.Inner<__Canon>.Hold<double>", "void Hold<V>"},
		{"Shapes.Box<int>.Keep", "new Inner<string>()"},
		{"Shapes.Program.StartShape (lambda)", `Start("many", () =>`}, started}), "\n")
	jumped := strings.Join(strings.Split(want, "\n")[:3], "\n")
	right := 0
	s.stopUntil(t, func(names []string, stacks []profile.Stack) bool {
		right = 0
		for i := range stacks {
			got := strings.Join(ownFrames(&stacks[i]), "\n")
			if names[i] == "many" && stacks[i].Complete && (got == want || got == jumped) {
				right++
			}
		}
		return right == 200
	})
	if right != 200 {
		t.Errorf("%d of 200 threads have the chain\n%s", right, want)
	}
}

// TestBusy: a thread that runs in a loop, which is compiled again while it runs, has its callers in each of 100 stops.
func TestBusy(t *testing.T) {
	s := startOwn(t, own, "busy")
	lines := texts(t, []at{{"", "while (!Open)"}, {"", "n++;"}})
	callers := texts(t, []at{shape("busy"), started})
	for i := range 100 {
		walked.Pause(i)
		shot := s.Stop(t)
		for k, stack := range s.Stacks(shot) {
			if shot.Threads[k].Comm != "busy" {
				continue
			}
			got := ownFrames(&stack)
			if len(got) != 3 || !slices.Equal(got[1:], callers) ||
				!slices.Contains(lines, strings.TrimPrefix(got[0], "Shapes.Gate.Spin")) {
				t.Errorf("stop %d: got %q, want Shapes.Gate.Spin in %q and %q", i, got, lines, callers)
			}
		}
	}
}

// TestPDBOfAnotherBuild: its lines are not shown, and a sentence says why.
func TestPDBOfAnotherBuild(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"shapes.dll", "shapes.pdb"} {
		b, err := os.ReadFile(filepath.Join(own, "beside", name))
		if os.IsNotExist(err) {
			t.Skip("testdata/bin/dotnet/own is not there: scripts/build-dotnet makes it")
		}
		if err != nil {
			t.Fatal(err)
		}
		if name == "shapes.pdb" {
			i := strings.Index(string(b), "#Pdb")
			at := int(b[i-8]) | int(b[i-7])<<8
			b[at] ^= 1 // the id begins its stream
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := startOwn(t, dir, "generic")
	stacks := s.stopUntil(t, func([]string, []profile.Stack) bool { return true })
	named := 0
	for i := range stacks {
		for _, f := range stacks[i].Frames {
			if f.Kind == profile.DotNet && strings.HasPrefix(f.Func, "Shapes.") {
				if named++; f.File != "" || f.Line != 0 {
					t.Errorf("%s is in %s:%d", f.Func, f.File, f.Line)
				}
			}
		}
	}
	if named == 0 {
		t.Error("no method has a name")
	}
	if err := s.Runtimes.Err(); err == nil || !strings.Contains(err.Error(), "another build") {
		t.Errorf("%v does not say why there are no lines", err)
	}
}
