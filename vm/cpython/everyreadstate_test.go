package cpython

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// told is what a snapshot tells of the state of an interpreter.
type told struct {
	r                 *Runtime
	tasks, greenlets  []snapshot.Fiber
	stacks            map[uint64]unwind.Stack
	taskErr, greenErr error
	facts             map[int]profile.RuntimeThread
	threads           []unwind.Stack
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
			for _, by := range f.AwaitedBy {
				if !slices.Contains(w.AwaitedBy, by) {
					fail("%s %q is awaited by %#x", kind, w.Name, by)
				}
			}
			if len(f.HeldBy) > 0 && !slices.Equal(f.HeldBy, w.HeldBy) {
				fail("%s %q waits for what %#x has", kind, w.Name, f.HeldBy)
			}
			if len(f.AwaitedBy) < len(w.AwaitedBy) && err == nil {
				fail("%s %q is awaited by %d, want %d, and nothing says so", kind, w.Name, len(f.AwaitedBy),
					len(w.AwaitedBy))
			}
			all, names := shownFrames(want.r, ptr(want.stacks[w.ID]))
			stack := got.stacks[f.ID]
			marked := f.Missing != "" || f.State == "unknown" || err != nil
			for i := range stack.Frames {
				marked = marked || strings.Contains(stack.Frames[i].Note, "missing") ||
					strings.Contains(stack.Frames[i].Note, "could not be read")
			}
			lesser := f.State == "unknown" || f.State == "waits" || f.State == "waits for a task" ||
				f.State == "waits for Task" || strings.HasPrefix(w.State, f.State) ||
				f.State == "waits for a Lock held by a task" || f.State == "waits for a future" && marked
			if f.State != w.State && !lesser {
				fail("%s %q %q, want %q", kind, w.Name, f.State, w.State)
			}
			if len(f.HeldBy) < len(w.HeldBy) && !marked {
				fail("%s %q waits for what %#x has, and nothing says that it is not known", kind, w.Name, w.HeldBy)
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
	for _, s := range recordedStates(t) {
		live := s.r.live
		fresh := func(m mem.Reader) *Runtime {
			r := newRuntime(s.r.layout, module.Image{Memory: m})
			r.at, r.code = s.r.at, &functions{}
			r.readLists(s.snap.Maps)
			return r
		}
		counted := &memory.Failing{Reader: live}
		want := tell(fresh(counted), s.snap, nil)
		var had []mem.Addr
		for _, f := range want.greenlets {
			had = append(had, mem.Addr(f.ID))
		}
		if len(want.tasks) < 3 || len(want.greenlets) < 3 || counted.N < 500 {
			t.Fatalf("%s: %d tasks, %d greenlets, %d reads", s.name, len(want.tasks), len(want.greenlets), counted.N)
		}
		check := func(what string, got *told) {
			for _, why := range got.less(want) {
				t.Errorf("%s: %s: %s", s.name, what, why)
			}
		}
		memory.EachRead(live, counted.N, 200, func(what string, m *memory.Failing) {
			check(what, tell(fresh(m), s.snap, had))
		})
		whole := s.snap.Whole
		memory.EachCut(len(whole), 60, func(what string, edit func([]mem.Range) []mem.Range) {
			cut := *s.snap
			cut.Whole = edit(whole)
			check("of all, "+what, tell(fresh(live), &cut, had))
		})
		for i := range s.snap.Threads {
			copied := s.snap.Threads[i].Copied
			memory.EachCut(len(copied), 30, func(what string, edit func([]mem.Range) []mem.Range) {
				cut := *s.snap
				cut.Threads = slices.Clone(cut.Threads)
				cut.Threads[i].Copied = edit(copied)
				check(fmt.Sprintf("of thread %d, %s", i, what), tell(fresh(live), &cut, had))
			})
		}
	}
}
