package cpython

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

const snapshots = "../../testdata/snapshots/cpython"

// sample is a thread that was recorded, with the frames that it has: faulthandler wrote the same.
type sample struct {
	name    string
	runtime *Runtime
	thread  *snapshot.Thread
	want    string
}

// samples reads those that tests/python recorded.
func samples(t testing.TB) []sample {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(snapshots, "3.*.snap"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d snapshots, want 8: %v", len(files), err)
	}
	var all []sample
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".snap")
		file, err := os.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		s, err := snapshot.NewReader(file, nil).Read()
		file.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := os.ReadFile(filepath.Join(snapshots, name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		minor, _ := strconv.Atoi(strings.TrimPrefix(name, "3."))
		l, err := object.Known(object.Version{Major: 3, Minor: minor})
		if err != nil {
			l, err = object.Described(s.Memory[0].Data)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, sample{name, bareRuntime(l), &s.Threads[0], string(want)})
	}
	return all
}

// bareRuntime is a Runtime that has nothing but what is copied with a thread.
func bareRuntime(l *object.Layout) *Runtime {
	r := newRuntime(l, module.Image{})
	r.code = &functions{}
	return r
}

// evals draws the native frames of a thread: one around each anchor, or where there are none one for each frame.
func (s *sample) evals(t testing.TB) []unwind.Frame {
	t.Helper()
	chains, _ := s.runtime.chainsOf(s.thread, s.runtime.stopped(s.thread, nil))
	if len(chains) != 1 || chains[0].cut {
		t.Fatalf("%s: %d chains", s.name, len(chains))
	}
	sp, _ := s.thread.Registers.SP()
	frames := []unwind.Frame{{PC: 1, SP: sp, CFA: sp + 8}}
	for _, g := range chains[0].groups {
		if a := g.anchor; a != 0 {
			frames = append(frames, unwind.Frame{PC: 2, SP: a - 8, CFA: a + 8, Origin: unwind.CFI})
		}
	}
	return append(frames, unwind.Frame{PC: 3, SP: ^mem.Addr(0) - 8, CFA: ^mem.Addr(0)})
}

// shown is the frames of Python in s.
func (s *sample) shown(stack *unwind.Stack) string {
	var b strings.Builder
	for i := range stack.Frames {
		for _, f := range s.runtime.Frames(stack.Frames[i].Site) {
			fmt.Fprintf(&b, "%s %s:%d\n", f.Func, filepath.Base(f.File), f.Line)
		}
	}
	return b.String()
}

// TestReplay identifies recorded samples of each release: all frames, each group in front of the call that runs it.
func TestReplay(t *testing.T) {
	for _, s := range samples(t) {
		native := s.evals(t)
		stack := unwind.Stack{Frames: native}
		s.runtime.Identify(s.thread, &stack, nil)
		if got := s.shown(&stack); got != s.want {
			t.Errorf("%s: frames\n%swant\n%s", s.name, got, s.want)
		}
		before, columns := 0, 0
		for i := range stack.Frames {
			for _, shown := range s.runtime.Frames(stack.Frames[i].Site) {
				columns += shown.Column
			}
		}
		if (columns > 0) != (s.runtime.layout.Version.Minor >= 11) {
			t.Errorf("%s: the columns of all frames together are %d", s.name, columns)
		}
		for i := range stack.Frames {
			f := &stack.Frames[i]
			switch {
			case f.Site != 0:
				before++
				if f.Note != "" && s.runtime.layout.Version.Minor > 9 {
					t.Errorf("%s: frame %d: %s", s.name, i, f.Note)
				}
			case f.PC == 2 && before == 0:
				t.Errorf("%s: no frame of Python in front of the call at %#x", s.name, uint64(f.SP))
			case f.PC == 2 && !f.Stub:
				t.Errorf("%s: the call at %#x is shown", s.name, uint64(f.SP))
			default:
				before = 0
			}
		}
	}
}

// TestCopyReplayed: a Copy of what was recorded brings the same; once it is known what the code objects are, less, and
// without an allocation.
func TestCopyReplayed(t *testing.T) {
	for _, s := range samples(t) {
		memory := &pieces{s.thread.Copied}
		thread := *s.thread
		thread.Copied = nil
		r := s.runtime
		chains, _ := r.chainsOf(s.thread, r.stopped(s.thread, nil))
		state := chains[0].state
		r.roster.Store(&roster{known: newThreads([]threadState{{at: state.Addr, ident: thread.TP}}),
			interpreters: firstWord(s.thread)})
		r.at = s.thread.Copied[0].Start - mem.Addr(r.layout.Runtime.Interpreters)
		var f snapshot.Fetcher
		f.Run([]snapshot.Copier{r}, &thread, memory)
		stack := unwind.Stack{Frames: s.evals(t)}
		r.Identify(&thread, &stack, nil)
		if got := s.shown(&stack); got != s.want {
			t.Errorf("%s: copied again: frames\n%swant\n%s", s.name, got, s.want)
		}
		cold := size(thread.Copied)
		copiers := []snapshot.Copier{r}
		run := func() { f.Run(copiers, &thread, memory) }
		run()
		if warm := size(thread.Copied); warm >= cold {
			t.Errorf("%s: %d bytes are copied of what is known, %d of what is not", s.name, warm, cold)
		}
		if n := testing.AllocsPerRun(50, run); n != 0 && !racing {
			t.Errorf("%s: %v allocations in a warm Copy", s.name, n)
		}
		stack = unwind.Stack{Frames: s.evals(t)}
		r.Identify(&thread, &stack, nil)
		if got := s.shown(&stack); got != s.want {
			t.Errorf("%s: warm: frames\n%swant\n%s", s.name, got, s.want)
		}
	}
}

func size(ranges []mem.Range) (n int) {
	for _, r := range ranges {
		n += len(r.Data)
	}
	return n
}

func firstWord(t *snapshot.Thread) mem.Addr { return mem.Addr(order.Uint64(t.Copied[0].Data)) }

// pieces is a memory of ranges that is read by pieces.
type pieces struct{ ranges []mem.Range }

func (p *pieces) ReadPieces(list []snapshot.Piece) error {
	for i := range list {
		list[i].Got = 0
		for _, r := range p.ranges {
			if list[i].Addr >= r.Start && list[i].Addr < r.End() {
				list[i].Got = max(list[i].Got, copy(list[i].Data, r.Data[list[i].Addr-r.Start:]))
			}
		}
	}
	return nil
}

// FuzzIdentify: whatever a process has in its memory, a stack comes out that has its native frames.
func FuzzIdentify(f *testing.F) {
	all := samples(f)
	for i := range all {
		f.Add(i, 0, uint64(0), []byte{})
		f.Add(i, 1, uint64(8), []byte{0xff, 0xff, 0xff})
	}
	f.Fuzz(func(t *testing.T, which, where int, offset uint64, change []byte) {
		s := all[uint(which)%uint(len(all))]
		thread := *s.thread
		thread.Copied = append([]mem.Range(nil), thread.Copied...)
		at := &thread.Copied[uint(where)%uint(len(thread.Copied))]
		at.Data = append([]byte(nil), at.Data...)
		copy(at.Data[offset%uint64(len(at.Data)):], change)
		r := bareRuntime(s.runtime.layout)
		native := s.evals(t)
		stack := unwind.Stack{Frames: append([]unwind.Frame(nil), native...)}
		r.Identify(&thread, &stack, nil)
		i := 0
		for _, got := range stack.Frames {
			if got.Site == 0 && i < len(native) && got.PC == native[i].PC {
				i++
			}
		}
		if i != len(native) {
			t.Errorf("%d of %d native frames are left", i, len(native))
		}
		r.Waypoints(&thread, native, nil)
		var fetcher snapshot.Fetcher
		copied := thread.Copied
		thread.Copied = nil
		fetcher.Run([]snapshot.Copier{r}, &thread, &pieces{copied})
		for _, short := range thread.Shortfalls {
			if strings.Contains(short.String(), "fault of fpstack") {
				t.Error(short)
			}
		}
	})
}
