package dump

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
)

// language is a runtime that has the frames of a test.
type language struct{ unwind.Runtime }

// TestFrameBook: threads that wait at the same place have the same frames, but for where those are on their stacks, and
// keep them once. What is shown of a frame, and what its runtime asks for later, tells them apart.
func TestFrameBook(t *testing.T) {
	python := &language{}
	stack := func(sp mem.Addr, change func(*unwind.Frame)) []unwind.Frame {
		s := unwind.Stack{Frames: []unwind.Frame{
			{PC: 0x1000, SP: sp, CFA: sp + 0x10, Interrupted: true},
			{PC: 0x2000, SP: sp + 0x10, CFA: sp + 0x20, Origin: unwind.CFI, Kept: sp},
		}}
		if change != nil {
			change(&s.Frames[1])
		}
		forgetPlaces(&s, false)
		return s.Frames
	}
	var b frameBook
	at := stack(0x7000, nil)
	first := b.keep(at)
	at[0].PC = 0 // the memory of the stack at hand is used again
	if first[0].PC != 0x1000 {
		t.Fatalf("what is kept has changed: %#x", first[0].PC)
	}
	for _, row := range []struct {
		name   string
		frames []unwind.Frame
		same   bool
	}{
		{"another thread", stack(0x9000, nil), true},
		{"a note", stack(0x7000, func(f *unwind.Frame) { f.Note = "perhaps" }), false},
		{"unsure", stack(0x7000, func(f *unwind.Frame) { f.Unsure = true }), false},
		{"found otherwise", stack(0x7000, func(f *unwind.Frame) { f.Origin = unwind.Code }), false},
		{"a runtime's", stack(0x7000, func(f *unwind.Frame) { f.Runtime = python }), false},
		{"the same, elsewhere", stack(0x9000, func(f *unwind.Frame) { f.Runtime = python }), false},
		{"one frame fewer", stack(0x7000, nil)[:1], false},
	} {
		kept := b.keep(row.frames)
		if same := &kept[0] == &first[0] && len(kept) == len(first); same != row.same {
			t.Errorf("%s: the same memory: %v, want %v", row.name, same, row.same)
		}
		if again := b.keep(row.frames); &again[0] != &kept[0] {
			t.Errorf("%s: kept twice", row.name)
		}
	}
	if n := len(b.keep(nil)); n != 0 {
		t.Errorf("a stack without frames has %d", n)
	}
	long := make([]unwind.Frame, maxReused+1)
	if kept := b.keep(long); &kept[0] != &long[0] {
		t.Error("a long stack was copied")
	}
}

// TestRuntimePlaces: where frames of a runtime are on the stack of a thread stays, as the runtime looks there for what
// the thread waits for.
func TestRuntimePlaces(t *testing.T) {
	s := unwind.Stack{Frames: []unwind.Frame{{SP: 0x6000, CFA: 0x7000}, {SP: 0x7000, CFA: 0x7010, Runtime: &language{}}}}
	forgetPlaces(&s, false)
	if f := s.Frames[1]; f.SP != 0x7000 || f.CFA != 0x7010 {
		t.Errorf("got %+v", f)
	}
	if f := s.Frames[0]; f.SP != 0 || f.CFA != 0 {
		t.Errorf("got %+v", f)
	}
}

// TestFiberPlaces: fibers of one stack share it, wherever their runtime has the frames.
func TestFiberPlaces(t *testing.T) {
	s := unwind.Stack{Frames: []unwind.Frame{{PC: 0x1000, SP: 0x7000, CFA: 0x7010, Kept: 0x500, Runtime: &language{}}}}
	forgetPlaces(&s, true)
	if f := s.Frames[0]; f.SP != 0 || f.CFA != 0 || f.Kept != 0 || f.PC != 0x1000 {
		t.Errorf("got %+v", f)
	}
}
