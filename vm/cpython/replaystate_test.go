package cpython

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// recordedState is a snapshot with the whole state of an interpreter, that tests/python recorded.
type recordedState struct {
	name string
	r    *Runtime
	snap *snapshot.Snapshot
	want string
}

func recordedStates(t testing.TB) (all []recordedState) {
	t.Helper()
	for _, name := range []string{"3.11", "3.13"} {
		file, err := os.Open(filepath.Join(snapshots, "state-"+name+".snap"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := snapshot.NewReader(file, nil).Read()
		file.Close()
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(snapshots, "state-"+name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, recordedState{name, replayedRuntime(t, name, s), s, string(want)})
	}
	return all
}

// replayedRuntime is a Runtime of which nothing is there but s.
func replayedRuntime(t testing.TB, name string, s *snapshot.Snapshot) *Runtime {
	t.Helper()
	minor, _ := strconv.Atoi(strings.TrimPrefix(name, "3."))
	k := slices.IndexFunc(s.Memory, func(m mem.Range) bool { return len(m.Data) == object.OffsetsSize })
	if k < 0 {
		t.Fatalf("%s: what was read of _PyRuntime is not there", name)
	}
	l, err := object.Known(object.Version{Major: 3, Minor: minor})
	if err != nil {
		l, err = object.Described(s.Memory[k].Data)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(l, module.Image{Memory: s.Reader(nil, nil)})
	r.at, r.code = s.Memory[k].Start, &functions{}
	r.readLists(s.Maps)
	return r
}

// text says what a dump has of the state, as tests/python writes it.
func (s *recordedState) text(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	list := func(kind string, fibers []snapshot.Fiber, err error) {
		if err != nil {
			t.Error(err)
		}
		for i := range fibers {
			fmt.Fprintf(&b, "%s %s %s\n", kind, fibers[i].Name, fibers[i].State)
		}
	}
	if present, err := s.r.OpenFibers(); err != nil || !present {
		t.Errorf("%s: tasks are there: %v, %v", s.name, present, err)
	}
	fibers, err := s.r.Fibers(s.snap)
	list("task", fibers, err)
	if present, err := s.r.green.OpenFibers(); err != nil || !present {
		t.Errorf("%s: greenlets are there: %v, %v", s.name, present, err)
	}
	fibers, err = s.r.green.Fibers(s.snap)
	list("greenlet", fibers, err)
	facts, whole := s.r.ThreadFacts(s.snap), mem.NewOverlay(nil, s.snap.Whole...)
	for i := range s.snap.Threads {
		th := &s.snap.Threads[i]
		fmt.Fprintf(&b, "thread %d %q %s\n", th.TID, facts[th.TID].Name, strings.Join(facts[th.TID].Facts, ", "))
		sp, _ := th.Registers.SP()
		stack := unwind.Stack{Frames: []unwind.Frame{{PC: 1, SP: sp, CFA: sp + 8}, {PC: 3, SP: ^mem.Addr(0) - 8}}}
		s.r.Identify(th, &stack, nil)
		all := s.r.Locals(whole, &stack)
		for k := range stack.Frames {
			for _, v := range all[k] {
				fmt.Fprintf(&b, "  %s = %s\n", v.Name, v.Value)
			}
		}
	}
	return b.String()
}

// TestStateReplayed: tasks, greenlets, names of threads, who holds and who wants the GIL, and local variables are what
// they were when the process was there.
func TestStateReplayed(t *testing.T) {
	for _, s := range recordedStates(t) {
		got, want := strings.SplitAfter(s.text(t), "\n"), strings.SplitAfter(s.want, "\n")
		for i := range want {
			if i == len(got) || got[i] != want[i] {
				t.Errorf("%s: line %d is %q, want %q", s.name, i+1, got[min(i, len(got)-1)], want[i])
				break
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d lines, want %d", s.name, len(got), len(want))
		}
	}
}

// FuzzState: whatever the memory of a process holds, its state is told without a panic and in the end.
func FuzzState(f *testing.F) {
	f.Add(0, uint64(0), []byte{})
	f.Add(1, uint64(4096), []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, which int, offset uint64, change []byte) {
		name := []string{"3.11", "3.13"}[uint(which)%2]
		file, err := os.Open(filepath.Join(snapshots, "state-"+name+".snap"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s, err := snapshot.NewReader(file, nil).Read()
		if err != nil {
			t.Fatal(err)
		}
		ranges := slices.Concat(s.Whole, s.Memory)
		at := offset
		for i := range ranges {
			n := uint64(len(ranges[i].Data))
			if n == object.OffsetsSize {
				continue // it says what the rest means
			}
			if at < n {
				copy(ranges[i].Data[at:], change)
				break
			}
			at -= n
		}
		r := replayedRuntime(t, name, s)
		_, _ = r.OpenFibers()
		_, _ = r.Fibers(s)
		_, _ = r.green.OpenFibers()
		_, _ = r.green.Fibers(s)
		_ = r.ThreadFacts(s)
		_ = r.Locks(s, nil)
	})
}
