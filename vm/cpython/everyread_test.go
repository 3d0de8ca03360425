package cpython

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

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
			memory.EachCut(len(th.Copied), len(th.Copied), func(what string, edit func([]mem.Range) []mem.Range) {
				cut := *th
				cut.Copied = edit(th.Copied)
				check(what, &cut)
			})
			memory.EachCut(1, 1, func(what string, edit func([]mem.Range) []mem.Range) {
				cut := *th
				cut.Stack = mem.Range{}
				for _, left := range edit([]mem.Range{th.Stack}) {
					cut.Stack = left
				}
				check("stack: "+what, &cut)
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
		p := &failingPieces{pieces: pieces{s.thread.Copied}}
		for p.at = 0; p.at <= p.n; p.at++ {
			fresh := bareRuntime(s.runtime.layout)
			s.known(fresh)
			fresh.at = s.thread.Copied[0].Start - mem.Addr(fresh.layout.Runtime.Interpreters)
			th := *s.thread
			th.Copied, p.n = nil, 0
			var f snapshot.Fetcher
			f.Run([]snapshot.Copier{fresh}, &th, p)
			got := unwind.Stack{Frames: slices.Clone(native)}
			for i := range got.Frames {
				if got.Frames[i].Module != nil {
					got.Frames[i].Module = fresh.m
				}
			}
			fresh.Identify(&th, &got, nil)
			if why := isLess(fresh, &got, want, names, false); why != "" {
				t.Errorf("%s: read %d of %d in the stop: %s", s.name, p.at, p.n, why)
			}
		}
		if p.n < 3 {
			t.Errorf("%s: %d reads in the stop", s.name, p.n)
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
