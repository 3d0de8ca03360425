package cpython

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

var full = flag.Bool("full", false, "let each single read fail, not one of some")

// cuts are what may be left of n bytes: nothing, the first half, the second half, all but the last byte.
var cuts = []func(r mem.Range) mem.Range{
	func(mem.Range) mem.Range { return mem.Range{} },
	func(r mem.Range) mem.Range { return mem.Range{Start: r.Start, Data: r.Data[:len(r.Data)/2]} },
	func(r mem.Range) mem.Range {
		return mem.Range{Start: r.Start + mem.Addr(len(r.Data)/2), Data: r.Data[len(r.Data)/2:]}
	},
	func(r mem.Range) mem.Range { return mem.Range{Start: r.Start, Data: r.Data[:len(r.Data)-1]} },
}

// without gives yield ranges with one of them cut, each in each way; of every so many where that is not 1.
func without(ranges []mem.Range, stride int, yield func(what string, left []mem.Range)) {
	for i := 0; i < len(ranges); i += stride {
		for k, cut := range cuts {
			if len(ranges[i].Data) == 0 {
				continue
			}
			left := slices.Clone(ranges)
			left[i] = cut(left[i])
			yield(fmt.Sprintf("range %d, %#x+%d, cut %d", i, uint64(ranges[i].Start), len(ranges[i].Data), k), left)
		}
	}
}

// python is a frame of Python as it is shown.
type pythonName struct {
	function, file string
	line           int
}

// shownFrames are the frames of Python of s.
func shownFrames(r *Runtime, s *unwind.Stack) (all []unwind.Frame, names []pythonName) {
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Runtime != unwind.Runtime(r) {
			continue
		}
		n := pythonName{}
		for _, shown := range r.Frames(f.Site) {
			n = pythonName{shown.Func, shown.File, shown.Line}
		}
		all, names = append(all, *f), append(names, n)
	}
	return all, names
}

// isLess says why got is not want, or less of it and marked; "" if it is.
func isLess(r *Runtime, got *unwind.Stack, want []unwind.Frame, names []pythonName, marked bool) string {
	frames, gotNames := shownFrames(r, got)
	next := 0
	for i, f := range frames {
		k := slices.IndexFunc(want[next:], func(w unwind.Frame) bool { return w.Kept == f.Kept })
		if k < 0 {
			return fmt.Sprintf("frame %d at %#x, %v, is not where it should be", i, uint64(f.Kept), gotNames[i])
		}
		next += k + 1
		n, full := gotNames[i], names[next-1]
		switch {
		case n == full:
		case f.Note == "":
			return fmt.Sprintf("frame %d is %v without a note, want %v", i, n, full)
		case n.function != unnamed && n != pythonName{full.function, full.file, 0}:
			return fmt.Sprintf("frame %d is %v, want %v or less", i, n, full)
		}
	}
	for i := range got.Frames {
		marked = marked || got.Frames[i].Gap
	}
	if len(frames) < len(want) && !marked {
		return fmt.Sprintf("%d of %d frames, and nothing says so", len(frames), len(want))
	}
	return ""
}

// known makes r know that the thread of s has the state that its frames are on, and where the eval loop is.
func (s *sample) known(r *Runtime) {
	chains, _ := r.chainsOf(s.thread, r.stopped(s.thread, nil))
	state := chains[0].state
	r.m = &module.Module{Path: "/usr/bin/python3"}
	r.code = &functions{list: []function{{0, 0x10, evalLoop}}, official: true}
	r.roster.Store(&roster{interps: []interpreter{{addr: state.Interp}},
		known: newThreads([]threadState{{at: state.Addr, ident: s.thread.TP, kernel: [2]int{s.thread.TID}}})})
}

// calls draws the native frames of the sample: a call of the eval loop for each group.
func (s *sample) calls(t testing.TB, r *Runtime) []unwind.Frame {
	t.Helper()
	frames := s.evals(t)
	chains, _ := r.chainsOf(s.thread, r.stopped(s.thread, nil))
	if len(frames) == 2 { // no anchors
		for range chains[0].groups {
			frames = slices.Insert(frames, 1, unwind.Frame{PC: 2, SP: frames[0].CFA, CFA: frames[0].CFA + 8})
		}
	}
	for i := range frames {
		if frames[i].PC == 2 {
			frames[i].Module = r.m
		}
	}
	return frames
}

// TestEveryReadFails: whatever single piece of what was copied is missing, whole or in part, a stack is as it would be
// with it, or has less and says so; it never has another name.
func TestEveryReadFails(t *testing.T) {
	for _, s := range samples(t) {
		r := bareRuntime(s.runtime.layout)
		s.known(r)
		native := s.calls(t, r)
		identify := func(r *Runtime, th *snapshot.Thread) *unwind.Stack {
			stack := unwind.Stack{Frames: slices.Clone(native)}
			for i := range stack.Frames {
				if stack.Frames[i].Module != nil {
					stack.Frames[i].Module = r.m
				}
			}
			r.Identify(th, &stack, nil)
			return &stack
		}
		want, names := shownFrames(r, identify(r, s.thread))
		if len(want) < 5 {
			t.Fatalf("%s: %d frames", s.name, len(want))
		}
		check := func(what string, th *snapshot.Thread) {
			fresh := bareRuntime(s.runtime.layout)
			s.known(fresh)
			if why := isLess(fresh, identify(fresh, th), want, names, false); why != "" {
				t.Errorf("%s: %s: %s", s.name, what, why)
			}
			s.known(r) // which knows the code objects
			if why := isLess(r, identify(r, th), want, names, false); why != "" {
				t.Errorf("%s: %s: known code: %s", s.name, what, why)
			}
		}
		asleep := *s.thread
		asleep.HasTP, asleep.TP = false, 0
		for _, th := range []*snapshot.Thread{s.thread, &asleep} {
			without(th.Copied, 1, func(what string, left []mem.Range) {
				cut := *th
				cut.Copied = left
				check(what, &cut)
			})
			without([]mem.Range{th.Stack}, 1, func(what string, left []mem.Range) {
				cut := *th
				cut.Stack = left[0]
				check("stack: "+what, &cut)
			})
		}
	}
}

// failing is memory whose read number at fails, from 1 on.
type failing struct {
	mem.Reader
	at, n int
}

var errPlanted = errors.New("planted")

func (f *failing) ReadMem(b []byte, a mem.Addr) (int, error) {
	if f.n++; f.n == f.at {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: errPlanted}
	}
	return f.Reader.ReadMem(b, a)
}

// told is what a snapshot tells of the state of an interpreter.
type told struct {
	r                 *Runtime
	tasks, greenlets  []snapshot.Fiber
	stacks            map[uint64]unwind.Stack
	taskErr, greenErr error
	facts             map[int]profile.RuntimeThread
	threads           []unwind.Stack
	names             [][]pythonName
	locals            []map[int][]profile.Variable
}

// tell reads the state of s with r, which has found greenlets before.
func tell(r *Runtime, s *snapshot.Snapshot, greenlets []mem.Addr) *told {
	out := &told{r: r, stacks: map[uint64]unwind.Stack{}}
	list := func(present bool, err error, fibers func(*snapshot.Snapshot) ([]snapshot.Fiber, error),
		stack func(uint64, *unwind.Stack)) ([]snapshot.Fiber, error) {
		if err != nil || !present {
			return nil, err
		}
		all, err := fibers(s)
		for i := range all {
			var to unwind.Stack
			stack(all[i].ID, &to)
			out.stacks[all[i].ID] = to
		}
		return all, err
	}
	present, err := r.OpenFibers()
	out.tasks, out.taskErr = list(present, err, r.Fibers, r.FiberStack)
	present, err = r.green.OpenFibers()
	r.green.known = greenlets
	out.greenlets, out.greenErr = list(present, err, r.green.Fibers, r.green.FiberStack)
	out.facts = r.ThreadFacts(s)
	whole := s.Over(nil, s.Whole...)
	for i := range s.Threads {
		th := &s.Threads[i]
		sp, _ := th.Registers.SP()
		stack := unwind.Stack{Frames: []unwind.Frame{{PC: 1, SP: sp, CFA: sp + 8}, {PC: 3, SP: ^mem.Addr(0) - 8}}}
		r.Identify(th, &stack, nil)
		out.threads = append(out.threads, stack)
		out.locals = append(out.locals, r.Locals(whole, &stack))
	}
	return out
}

// less says where got is not want, or less of it and marked.
func (got *told) less(want *told) (why []string) {
	fail := func(format string, a ...any) { why = append(why, fmt.Sprintf(format, a...)) }
	fibers := func(kind string, got2, want2 []snapshot.Fiber, err error) {
		for _, f := range got2 {
			k := slices.IndexFunc(want2, func(w snapshot.Fiber) bool { return w.ID == f.ID })
			if k < 0 {
				fail("%s %#x %q is none", kind, f.ID, f.Name)
				continue
			}
			w := want2[k]
			if f.Name != w.Name && f.Name != "" {
				fail("%s %q is named %q", kind, w.Name, f.Name)
			}
			if f.TID != w.TID && f.TID != 0 || f.LoopTID != w.LoopTID && f.LoopTID != 0 {
				fail("%s %q is of thread %d, %d, want %d, %d", kind, w.Name, f.TID, f.LoopTID, w.TID, w.LoopTID)
			}
			lesser := f.State == "unknown" || f.State == "waits" || f.State == "waits for a task" ||
				f.State == "waits for Task" || strings.HasPrefix(w.State, f.State)
			if f.State != w.State && !lesser {
				fail("%s %q %q, want %q", kind, w.Name, f.State, w.State)
			}
			for _, by := range f.AwaitedBy {
				if !slices.Contains(w.AwaitedBy, by) {
					fail("%s %q is awaited by %#x", kind, w.Name, by)
				}
			}
			if len(f.AwaitedBy) < len(w.AwaitedBy) && err == nil {
				fail("%s %q is awaited by %d, want %d, and nothing says so", kind, w.Name, len(f.AwaitedBy), len(w.AwaitedBy))
			}
			all, names := shownFrames(want.r, ptr(want.stacks[w.ID]))
			stack := got.stacks[f.ID]
			marked := f.Missing != "" || f.State == "unknown" || err != nil
			for i := range stack.Frames {
				marked = marked || strings.Contains(stack.Frames[i].Note, "missing") ||
					strings.Contains(stack.Frames[i].Note, "could not be read")
			}
			if less := isLess(got.r, &stack, all, names, marked); less != "" {
				fail("%s %q: %s", kind, w.Name, less)
			}
		}
		if len(got2) < len(want2) && err == nil {
			fail("%d of %d %s, and nothing says so", len(got2), len(want2), kind)
		}
	}
	fibers("tasks", got.tasks, want.tasks, got.taskErr)
	fibers("greenlets", got.greenlets, want.greenlets, got.greenErr)
	unread := got.greenErr != nil
	for _, f := range got.facts {
		for _, text := range f.Facts {
			unread = unread || strings.Contains(text, "not read")
		}
	}
	for tid, w := range want.facts {
		g := got.facts[tid]
		if g.Name != w.Name && (g.Name != "" || !unread) {
			fail("thread %q is named %q", w.Name, g.Name)
		}
		for _, text := range g.Facts {
			least := strings.HasSuffix(text, " or more of its greenlets are parked") && got.greenErr != nil
			part := slices.ContainsFunc(w.Facts, func(w string) bool { return strings.HasPrefix(w, text) })
			if !part && !least && !strings.Contains(text, "not read") {
				fail("thread %q %s, want %q", w.Name, text, w.Facts)
			}
		}
		if len(g.Facts) < len(w.Facts) && !unread && len(got.r.roster.Load().interps) > 0 &&
			!got.r.roster.Load().partial {
			fail("thread %q has %q, want %q", w.Name, g.Facts, w.Facts)
		}
	}
	for i := range want.threads {
		all, names := shownFrames(want.r, &want.threads[i])
		// There is no call of the eval loop to note it at: TestEveryReadFails has some.
		if less := isLess(got.r, &got.threads[i], all, names, true); less != "" {
			fail("thread %d: %s", i, less)
		}
		for k, f := range got.threads[i].Frames {
			w := slices.IndexFunc(want.threads[i].Frames, func(w unwind.Frame) bool { return w.Kept == f.Kept })
			if f.Kept == 0 || w < 0 {
				continue
			}
			if less := lessLocals(got.locals[i][k], want.locals[i][w]); less != "" {
				fail("thread %d, frame %d: %s", i, k, less)
			}
		}
	}
	return why
}

func ptr(s unwind.Stack) *unwind.Stack { return &s }

func lessLocals(got, want []profile.Variable) string {
	marked := false
	for _, v := range got {
		if v.Name == "" {
			marked = true
			continue
		}
		k := slices.IndexFunc(want, func(w profile.Variable) bool { return w.Name == v.Name })
		if k < 0 || v.Value != want[k].Value && !strings.Contains(v.Value, unreadValue) {
			return fmt.Sprintf("variable %s = %s, want %v", v.Name, v.Value, want)
		}
	}
	if len(got) < len(want) && !marked {
		return fmt.Sprintf("variables %v, want %v", got, want)
	}
	return ""
}

const unreadValue = "<not read>"

// TestEveryReadOfStateFails: whatever single read fails, of what was copied or of the process as it runs, what is told
// of tasks, greenlets, threads and local variables is as it would be without, or less and says so.
func TestEveryReadOfStateFails(t *testing.T) {
	stride, few := 13, 3
	if *full {
		stride, few = 1, 1
	}
	for _, s := range recordedStates(t) {
		live := s.r.live
		fresh := func(m mem.Reader) *Runtime {
			r := newRuntime(s.r.layout, module.Image{Memory: m})
			r.at, r.code = s.r.at, &functions{}
			r.readLists(s.snap.Maps)
			return r
		}
		counted := &failing{Reader: live}
		want := tell(fresh(counted), s.snap, nil)
		var had []mem.Addr
		for _, f := range want.greenlets {
			had = append(had, mem.Addr(f.ID))
		}
		if len(want.tasks) < 3 || len(want.greenlets) < 3 || counted.n < 500 {
			t.Fatalf("%s: %d tasks, %d greenlets, %d reads", s.name, len(want.tasks), len(want.greenlets), counted.n)
		}
		check := func(what string, got *told) {
			for _, why := range got.less(want) {
				t.Errorf("%s: %s: %s", s.name, what, why)
			}
		}
		for n := 1; n <= counted.n; n += stride {
			check(fmt.Sprintf("read %d", n), tell(fresh(&failing{Reader: live, at: n}), s.snap, had))
		}
		without(s.snap.Whole, few, func(what string, left []mem.Range) {
			cut := *s.snap
			cut.Whole = left
			check("of all, "+what, tell(fresh(live), &cut, had))
		})
		for i := range s.snap.Threads {
			without(s.snap.Threads[i].Copied, few, func(what string, left []mem.Range) {
				cut := *s.snap
				cut.Threads = slices.Clone(cut.Threads)
				cut.Threads[i].Copied = left
				check(fmt.Sprintf("of thread %d, %s", i, what), tell(fresh(live), &cut, had))
			})
		}
	}
}

// TestEveryReadInStopFails: whatever single read of a stop fails, what was copied gives the stack, or less and marked.
func TestEveryReadInStopFails(t *testing.T) {
	for _, s := range samples(t) {
		r := bareRuntime(s.runtime.layout)
		s.known(r)
		native := s.calls(t, r)
		stack := unwind.Stack{Frames: slices.Clone(native)}
		r.Identify(s.thread, &stack, nil)
		want, names := shownFrames(r, &stack)
		memory := &failingPieces{pieces: pieces{s.thread.Copied}}
		for memory.at = 0; memory.at <= memory.n; memory.at++ {
			fresh := bareRuntime(s.runtime.layout)
			s.known(fresh)
			fresh.at = s.thread.Copied[0].Start - mem.Addr(fresh.layout.Runtime.Interpreters)
			th := *s.thread
			th.Copied, memory.n = nil, 0
			var f snapshot.Fetcher
			f.Run([]snapshot.Copier{fresh}, &th, memory)
			got := unwind.Stack{Frames: slices.Clone(native)}
			for i := range got.Frames {
				if got.Frames[i].Module != nil {
					got.Frames[i].Module = fresh.m
				}
			}
			fresh.Identify(&th, &got, nil)
			if why := isLess(fresh, &got, want, names, false); why != "" {
				t.Errorf("%s: read %d of %d in the stop: %s", s.name, memory.at, memory.n, why)
			}
		}
		if memory.n < 3 {
			t.Errorf("%s: %d reads in the stop", s.name, memory.n)
		}
	}
}

type failingPieces struct {
	pieces
	at, n int
}

func (p *failingPieces) ReadPieces(list []snapshot.Piece) error {
	if p.n++; p.n == p.at {
		for i := range list {
			list[i].Got = 0
		}
		return nil
	}
	return p.pieces.ReadPieces(list)
}
