//go:build linux && (amd64 || arm64)

package python

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/vm"
)

// functions are the names of the frames of Python, without their classes.
func functions(s *profile.Stack) (names []string) {
	for _, f := range python(s) {
		names = append(names, f.Func[strings.LastIndexByte(f.Func, '.')+1:])
	}
	return names
}

// each runs a test for each interpreter that is there, from a minor release on.
func each(t *testing.T, from int, test func(t *testing.T, in interpreter)) {
	t.Helper()
	for _, in := range interpreters(t) {
		if in.minor >= from {
			t.Run(in.name, func(t *testing.T) { test(t, in) })
		}
	}
}

// quick are the releases of tests that take long, without -full: frames that are objects, CFrames, and shims.
var quick = []int{9, 11, 14}

// TestThreads: each thread has its name and its stack; at most one holds the GIL, and bytecode runs in that one alone.
func TestThreads(t *testing.T) {
	bottom := []string{"run", "_bootstrap_inner", "_bootstrap"}
	stacks := map[string][]string{"spin-0": {"spin"}, "spin-1": {"spin"}, "holder": {"holds"}, "locker": {"wants"},
		"sleeper": {"sleeps"}, "reader-日本": {"reads"}, "hasher": {"hashes"}, "taker": {"get", "takes"},
		"MainThread": {"<module>"}}
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "threads.py", in.withGIL())
		holders, waiters := 0, 0
		for i, good := 0, 0; good < 20; i++ {
			walked.Pause(i)
			s := x.stop(t)
			if delayed(s) && i < 100 {
				continue
			}
			good++
			facts := x.Runtimes.ThreadFacts(s)
			held := 0
			for k := range s.Threads {
				stack := x.Stack(s, k)
				f := facts[s.Threads[k].TID]
				names := functions(&stack)
				want := stacks[f.Name]
				if f.Name != "MainThread" {
					want = append(slices.Clone(want), bottom...)
				}
				if f.Name == "" || len(names) < len(want) || !slices.Equal(names[len(names)-len(want):], want) {
					t.Errorf("sample %d: thread %q has %q, want %q%s", i, f.Name, names, want, describe(&stack))
				}
				text := strings.Join(f.Facts, ", ")
				if strings.Contains(text, "holds the GIL") {
					held++
				}
				if strings.Contains(text, "waits for the GIL") {
					waiters++
				}
				if !strings.Contains(text, "holds the GIL") && stack.Frames[0].Func == "_PyEval_EvalFrameDefault" {
					t.Errorf("sample %d: thread %q executes bytecode, and its facts are %q", i, f.Name, text)
				}
			}
			if held > 1 {
				t.Errorf("sample %d: %d threads hold the GIL", i, held)
			}
			holders += held
		}
		if holders < 10 || waiters < 10 {
			t.Errorf("in 20 samples with two threads that spin %d hold the GIL, %d wait for it", holders, waiters)
		}
	})
}

// TestWithoutGIL: in a free-threaded build nobody holds or waits for a GIL, and the dump says so; threads that execute
// copies of the instructions of their own, from 3.14 on, have the lines of what they execute.
func TestWithoutGIL(t *testing.T) {
	found := 0
	each(t, 13, func(t *testing.T, in interpreter) {
		if !in.free {
			return
		}
		found++
		x := start(t, in, "threads.py", nil)
		for i := range 20 {
			walked.Pause(i)
			s := x.stop(t)
			said := 0
			for _, f := range x.Runtimes.ThreadFacts(s) {
				text := strings.Join(f.Facts, ", ")
				if text == "the interpreter runs without a GIL" {
					said++
				} else if text != "" {
					t.Errorf("sample %d: a thread %q", i, text)
				}
			}
			if said != 1 && !delayed(s) {
				t.Errorf("sample %d: %d threads say that there is no GIL, want 1", i, said)
			}
			spinning := 0
			for k := range s.Threads {
				stack := x.Stack(s, k)
				for _, f := range python(&stack) {
					const loop, call = 17, 18 // of threads.py
					if f.Func != "spin" {
						continue
					}
					if spinning++; f.Line != loop && f.Line != call || f.Note != "" {
						t.Errorf("sample %d: spin is at line %d, %s", i, f.Line, f.Note)
					}
				}
			}
			if spinning != 2 && !delayed(s) {
				t.Errorf("sample %d: %d threads spin, want 2", i, spinning)
			}
		}
	})
	if found == 0 {
		t.Skip("no free-threaded interpreter is there: scripts/build-python 3.13t builds one")
	}
}

// TestDeep: all 901 frames of a recursion are there. Of a deeper one, where each frame is an object of its own, not all
// can be copied within the budget, and it is said that some are missing.
func TestDeep(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "deep.py", nil)
		s := x.stop(t)
		stack := x.Stack(s, 0)
		if n := len(python(&stack)); n != 901 {
			t.Errorf("%d frames, want 901; shortfalls %v", n, s.Threads[0].Shortfalls)
		}
		if in.minor >= 11 {
			return
		}
		x = start(t, in, "deep.py", []string{"DEPTH=4000"})
		s = x.stop(t)
		stack = x.Stack(s, 0)
		frames, short := python(&stack), s.Threads[0].Shortfalls
		if len(frames) < 200 || len(frames) < 4001 && (len(short) == 0 ||
			!strings.Contains(frames[len(frames)-1].Note, "callers may be missing")) {
			t.Errorf("%d frames, shortfalls %v, the last says %q", len(frames), short, frames[len(frames)-1].Note)
		}
	})
}

// TestSubinterpreters: what a subinterpreter executes is shown on the thread that runs it, above what made it.
func TestSubinterpreters(t *testing.T) {
	each(t, 10, func(t *testing.T, in interpreter) {
		x := start(t, in, "subs.py", nil)
		for i := range 10 {
			walked.Pause(i)
			s := x.stop(t)
			found := 0
			for k := range s.Threads {
				stack := x.Stack(s, k)
				names := functions(&stack)
				at := slices.Index(names, "insub")
				if at < 0 {
					continue
				}
				found++
				if want := []string{"insub", "<module>", "runs", "run"}; len(names) < at+4 ||
					!slices.Equal(names[at:at+4], want) {
					t.Errorf("sample %d: %q, want %q%s", i, names, want, describe(&stack))
				}
				if k == 0 {
					t.Errorf("sample %d: the main thread has %q", i, names)
				}
			}
			if found != 2 {
				t.Errorf("sample %d: %d threads run a subinterpreter, want 2", i, found)
			}
		}
	})
}

// TestSubinterpreterGILs: each thread of a subinterpreter is said to be in that one, and who waits for its GIL waits
// for a thread of the same that holds it.
func TestSubinterpreterGILs(t *testing.T) {
	each(t, 12, func(t *testing.T, in interpreter) {
		x := start(t, in, "subs.py", append(in.withGIL(), "GILS=1"))
		waits := 0
		for i := range 20 {
			walked.Pause(i)
			s := x.stop(t)
			if delayed(s) {
				continue
			}
			facts, inside := x.Runtimes.ThreadFacts(s), map[string]int{}
			for tid, f := range facts {
				text := strings.Join(f.Facts, ", ")
				where, _, _ := strings.Cut(text, ", ")
				inside[where]++
				_, waited, waiting := strings.Cut(text, "waits for the GIL of interpreter ")
				if !waiting {
					continue
				}
				number, rest, _ := strings.Cut(waited, ", ")
				if where != "in interpreter "+number {
					t.Errorf("sample %d: thread %d: %s", i, tid, text)
				}
				var holder int
				if _, err := fmt.Sscanf(rest, "held by %d", &holder); err != nil {
					continue // it is free at the moment
				}
				waits++
				h := strings.Join(facts[holder].Facts, ", ")
				if !strings.HasPrefix(h, where+", holds the GIL of interpreter "+number) {
					t.Errorf("sample %d: thread %d: %s, and that one: %s", i, tid, text, h)
				}
			}
			if inside["in interpreter 1"] != 2 || inside["in interpreter 2"] != 2 {
				t.Errorf("sample %d: threads are %v, want two in each of 1 and 2", i, inside)
			}
		}
		if waits == 0 && !in.free {
			t.Error("nobody waits for the GIL of a subinterpreter")
		}
	})
}

// TestMadeCode: with the trampolines for perf, and with the JIT compiler, frames are what they are without.
func TestMadeCode(t *testing.T) {
	want := []string{"inner", "middle", "<lambda>", "outer", "main", "<module>"}
	each(t, 12, func(t *testing.T, in interpreter) {
		for _, mode := range []struct {
			name       string
			from       int
			env, flags []string
		}{{"perf", 12, nil, []string{"-X", "perf"}}, {"jit", 14, []string{"PYTHON_JIT=1"}, nil}} {
			if in.minor < mode.from {
				continue
			}
			x := start(t, in, "hot.py", mode.env, mode.flags...)
			whole, shown := 0, 0
			const n = 40
			for i := range n {
				walked.Pause(i)
				s := x.stop(t)
				stack := x.Stack(s, 0)
				names := functions(&stack)
				if len(names) > len(want) || !slices.Equal(names, want[len(want)-len(names):]) || len(names) < 2 {
					t.Errorf("%s, sample %d: %q%s", mode.name, i, names, describe(&stack))
				}
				if stack.Complete {
					whole++
				}
				if slices.ContainsFunc(stack.Frames, func(f profile.Frame) bool {
					made := strings.HasPrefix(f.Func, "[jit ") || strings.HasPrefix(f.Func, "_PyJIT")
					return !f.Stub && f.Kind != profile.Python && made
				}) {
					shown++
				}
			}
			if shown > n/10 {
				t.Errorf("%s: %d of %d stacks show code that was made beside the functions that it is of", mode.name,
					shown, n)
			}
			t.Logf("%s: %d of %d native stacks are whole", mode.name, whole, n)
			if whole < n/2 {
				t.Errorf("%s: %d of %d native stacks are whole", mode.name, whole, n)
			}
		}
	})
}

// TestReplayed: a snapshot that was written says the same when it is read again without the process.
func TestReplayed(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		if !*full && !slices.Contains(quick, in.minor) {
			return // -full has it
		}
		x := start(t, in, "threads.py", nil)
		s := x.stop(t)
		var before [][]string
		for i := range s.Threads {
			stack := x.Stack(s, i)
			before = append(before, functions(&stack))
		}
		s.Memory = append(s.Memory, x.Runtimes.Facts()...)
		var file bytes.Buffer
		if err := snapshot.Write(&file, s); err != nil {
			t.Fatal(err)
		}
		x.end()
		s, err := snapshot.NewReader(&file, nil).Read()
		if err != nil {
			t.Fatal(err)
		}
		replayed := walked.Recorded(t, s, func(m *maps.Mapping) (*module.File, error) {
			data, err := os.ReadFile(in.root + strings.TrimPrefix(m.Path, in.root))
			return &module.File{Data: data, Path: m.Path}, err
		}, walked.Options{Names: resolve.Options{NoLines: true}})
		for i := range s.Threads {
			stack := replayed.Stack(s, i)
			if got := functions(&stack); len(got) < 1 || !slices.Equal(got, before[i]) {
				t.Errorf("thread %d: %q, want %q%s", i, got, before[i], describe(&stack))
			}
		}
	})
}

// recorded records a script from its begin on.
func recorded(t *testing.T, in interpreter, script string, d time.Duration) *profile.Profile {
	t.Helper()
	return start(t, in, script, nil).record(t, d)
}

// record records x, whose process ends then.
func (x *target) record(t *testing.T, d time.Duration) *profile.Profile {
	t.Helper()
	kinds := vm.NewTable(vm.Kinds, nil)
	return x.recordWith(t, d, func(i module.Image) sampler.Runtimes { return kinds.Process(i) })
}

// recordWith is record with other runtimes.
func (x *target) recordWith(t *testing.T, d time.Duration,
	runtimes func(module.Image) sampler.Runtimes) *profile.Profile {
	t.Helper()
	r := sampler.New(sampler.Options{Rate: 199, Runtimes: runtimes})
	defer r.Close()
	pid := x.PID()
	x.Close()
	if err := r.Add(pid); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	x.end()
	p, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFirstSample: the first sample of a recording has the frames of Python, as all others, unless others had the CPU
// while it was taken: one of three recordings has them in all samples.
func TestFirstSample(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		if !*full && !slices.Contains(quick, in.minor) {
			return // -full has it
		}
		var without [3]int
		var last string
		for k := range without {
			p := recorded(t, in, "ten.py", 50*time.Millisecond)
			if len(p.Samples) == 0 {
				t.Fatal("no sample")
			}
			for i := range p.Samples {
				if chainLength(p, i) != 9 {
					without[k]++
					last = stackOf(p, i)
				}
			}
			if without[k] == 0 {
				return
			}
		}
		t.Errorf("samples without all nine frames of chain in three recordings: %v; the last of them%s", without, last)
	})
}

// chainLength is how many frames of the function chain sample number i has.
func chainLength(p *profile.Profile, i int) (n int) {
	for at := p.Samples[i].Stack; at != 0; at = p.Tree.Parent(at) {
		if p.Frames[p.Tree.Frame(at)].Func == "chain" {
			n++
		}
	}
	return n
}

// stackOf is the stack of a sample as text, innermost frame first.
func stackOf(p *profile.Profile, i int) string {
	var b strings.Builder
	for at := p.Samples[i].Stack; at != 0; at = p.Tree.Parent(at) {
		f := p.Frames[p.Tree.Frame(at)]
		fmt.Fprintf(&b, "\n%s %s:%d", f.Func, filepath.Base(f.File), f.Line)
	}
	return b.String()
}

// TestBirths: threads that just began have their frames of Python in a recording, also where the interpreter puts the
// state of one where that of another was.
func TestBirths(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		if !*full && !slices.Contains(quick, in.minor) {
			return // -full has it
		}
		found, _ := filepath.Glob(filepath.Join(in.root, "usr/lib/*/libgcc_s.so.1"))
		if in.root != "" && len(found) == 0 {
			t.Skipf("no thread ends there, as libgcc_s is missing: remove %s and run scripts/build-python", in.root)
		}
		born, lost := time.Duration(0), time.Duration(0)
		for n := 0; n < 5 && born < 300*time.Millisecond; n++ { // on a busy machine few are born in a second
			p := recorded(t, in, "births.py", time.Second)
			more, without := births(t, p)
			born, lost = born+more, lost+without
		}
		if born < 300*time.Millisecond || lost > born/20 {
			t.Errorf("%v in born, %v without a frame of Python", born, lost)
		}
	})
}

// births is how long threads of p were in born, and in the eval loop without frames of Python, which they say.
func births(t *testing.T, p *profile.Profile) (born, lost time.Duration) {
	t.Helper()
	for i := range p.Samples {
		eval, named, marked := false, false, false
		d := time.Duration(p.Value(i)[1])
		for n := p.Samples[i].Stack; n != 0; n = p.Tree.Parent(n) {
			f := &p.Frames[p.Tree.Frame(n)]
			eval = eval || f.Func == "_PyEval_EvalFrameDefault"
			named, marked = named || f.Kind == profile.Python, marked || f.Func == profile.GapMark
			if f.Func == "born" {
				born += d
			}
		}
		if eval && !named {
			lost += d
			if !marked {
				t.Errorf("sample %d has no frame of Python, and does not say so", i)
			}
		}
	}
	return born, lost
}

// TestRecording: in a recording frames of Python have their kind, the interpreter's own are left out, and threads that
// never ran show theirs too.
func TestRecording(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		if !*full && !slices.Contains(quick, in.minor) {
			return // -full has it
		}
		checkThreads(t, recorded(t, in, "threads.py", 700*time.Millisecond), 2)
	})
}

// checkThreads checks that each function of threads.py has its time in p, or one part of so many.
func checkThreads(t *testing.T, p *profile.Profile, part int64) {
	t.Helper()
	with, all := map[string]int64{}, int64(0)
	for i := range p.Samples {
		all += p.Value(i)[1]
		seen := map[string]bool{}
		for n := p.Samples[i].Stack; n != 0; n = p.Tree.Parent(n) {
			f := &p.Frames[p.Tree.Frame(n)]
			name := f.Func[strings.LastIndexByte(f.Func, '.')+1:]
			if f.Kind == profile.Python && !seen[name] {
				with[name] += p.Value(i)[1]
				seen[name] = true
			}
		}
	}
	for _, name := range []string{"spin", "holds", "wants", "sleeps", "reads", "hashes", "takes", "<module>"} {
		if with[name] < all/9/part { // nine threads, each all the time
			t.Errorf("%s has %v of %v of nine threads", name, time.Duration(with[name]), time.Duration(all))
		}
	}
}

// TestDelayedCopy: what could not be copied of a sleeping thread in time is copied again, also if that never runs.
func TestDelayedCopy(t *testing.T) {
	kinds := vm.NewTable(vm.Kinds, nil)
	x := start(t, interpreters(t)[0], "threads.py", nil)
	p := x.recordWith(t, 1500*time.Millisecond, func(i module.Image) sampler.Runtimes {
		return &delaying{Process: kinds.Process(i), met: map[int]bool{}}
	})
	checkThreads(t, p, 4)
}

// delaying is runtimes that copy nothing of a sleeping thread in time when they are called for it first.
type delaying struct {
	*vm.Process
	mu  sync.Mutex
	met map[int]bool
}

func (d *delaying) Copiers() []snapshot.Copier {
	var all []snapshot.Copier
	for _, c := range d.Process.Copiers() {
		all = append(all, delayingCopier{c, d})
	}
	return all
}

type delayingCopier struct {
	snapshot.Copier
	of *delaying
}

func (c delayingCopier) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	c.of.mu.Lock()
	first := t.Registers == nil && !c.of.met[t.TID]
	c.of.met[t.TID] = c.of.met[t.TID] || first
	c.of.mu.Unlock()
	if first {
		time.Sleep(2 * snapshot.CopyBudget.Time)
	}
	c.Copier.Copy(t, f)
}

// TestNamespace: threads that sleep have their frames in a recording also where the process calls them by other numbers
// than we do, as in a container.
func TestNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a pid namespace can be made by root alone")
	}
	each(t, 8, func(t *testing.T, in interpreter) {
		cmd := exec.Command(in.path, copyScripts(t, in)+"/threads.py")
		cmd.Env, cmd.Dir = []string{"LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"}, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Chroot: in.root,
			Cloneflags: syscall.CLONE_NEWPID}
		p := startCommand(t, in, cmd).record(t, 300*time.Millisecond)
		with := map[string]bool{}
		for i := range p.Samples {
			for n := p.Samples[i].Stack; n != 0; n = p.Tree.Parent(n) {
				if f := &p.Frames[p.Tree.Frame(n)]; f.Kind == profile.Python {
					with[f.Func[strings.LastIndexByte(f.Func, '.')+1:]] = true
				}
			}
		}
		if !with["sleeps"] || !with["reads"] {
			t.Errorf("frames of Python of all threads: %v", with)
		}
	})
}

// TestHolderInCall: a thread that keeps the GIL in a system call is said to, and so is who waits for it.
func TestHolderInCall(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		x := start(t, in, "holds.py", in.withGIL())
		var facts map[int]profile.RuntimeThread
		held, waits := "", ""
		for deadline := time.Now().Add(10 * time.Second); waits == "" && time.Now().Before(deadline); {
			s := x.stop(t)
			facts = x.Runtimes.ThreadFacts(s)
			for tid, f := range facts {
				text := strings.Join(f.Facts, ", ")
				switch {
				case tid == x.PID() && strings.HasPrefix(text, "holds the GIL in a system call"):
					held = text
				case tid != x.PID() && held != "" && strings.HasSuffix(text, `"MainThread" in a system call`):
					waits = text
				}
			}
			walked.Pause(0)
		}
		if waits == "" {
			t.Errorf("facts %v", facts)
		}
	})
}
