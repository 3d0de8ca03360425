package resolve_test

import (
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// jit names Site 7, as two logical frames.
type jit struct{ asked int }

func (j *jit) Region(mem.Addr) (unwind.Region, bool) { return unwind.Region{}, false }
func (j *jit) String() string                        { return "jit" }

func (j *jit) Frames(site unwind.Site) []profile.Frame {
	j.asked++
	if site != 7 {
		return nil
	}
	return []profile.Frame{{Inlined: true, Func: "inner", Kind: profile.JIT},
		{Func: "outer", Offset: 4, Kind: profile.JIT, Note: "no line"}}
}

func TestStack(t *testing.T) {
	j := &jit{}
	names := resolve.New(module.NewSet(maps.NewTable(nil), module.Image{}), resolve.Options{})
	s := unwind.Stack{Stop: unwind.BadCFA, Err: mem.ErrUnmapped, Frames: []unwind.Frame{
		{PC: 0x5004, Interrupted: true, Origin: unwind.Context, Runtime: j, Site: 7, Note: "a guess"},
		{PC: 0x7000, Origin: unwind.CFI, Note: "hm"},
		{PC: 0x5004, Origin: unwind.FramePointer},                      // the same code, and native
		{PC: 0x5004, Origin: unwind.FramePointer, Runtime: j, Site: 8}, // and one that has no name
	}}
	got := names.Stack(&s)
	want := []profile.Frame{
		{Index: 0, Inlined: true, Func: "inner", Kind: profile.JIT, Module: -1},
		{Index: 0, Addr: 0x5004, Interrupted: true, Func: "outer", Offset: 4, Kind: profile.JIT, Module: -1,
			Origin: "context", Note: "a guess; no line"},
		{Index: 1, Addr: 0x7000, Kind: profile.Unknown, Module: -1, Origin: "cfi", Note: "hm"},
		{Index: 2, Addr: 0x5004, Kind: profile.Unknown, Module: -1, Origin: "frame pointer"},
		{Index: 3, Addr: 0x5004, Kind: profile.Unknown, Module: -1, Origin: "frame pointer"},
	}
	if len(got.Frames) != len(want) {
		t.Fatalf("got %d frames, want %d: %+v", len(got.Frames), len(want), got.Frames)
	}
	for i := range want {
		if got.Frames[i] != want[i] {
			t.Errorf("frame %d:\ngot  %+v\nwant %+v", i, got.Frames[i], want[i])
		}
	}
	if got.Complete || got.Stop != "bad CFA" || got.Detail != mem.ErrUnmapped.Error() {
		t.Errorf("end: got %v %q %q, want false, bad CFA, %q", got.Complete, got.Stop, got.Detail, mem.ErrUnmapped)
	}
	asked := j.asked
	names.Stack(&s)
	if j.asked != asked {
		t.Errorf("second time: asked %d times more, want none", j.asked-asked)
	}
}

// TestFramesOfSeveralProcesses names the same address in two modules and in none.
func TestFramesOfSeveralProcesses(t *testing.T) {
	j := &jit{}
	names := resolve.New(nil, resolve.Options{})
	one, two := &module.Module{ID: 0, Path: "one", Err: mem.ErrUnmapped},
		&module.Module{ID: 1, Path: "two", Err: mem.ErrUnmapped}
	got := names.Frames([]unwind.Frame{{PC: 0x7000, Module: one}, {PC: 0x7000, Module: two}, {PC: 0x7000},
		{PC: 0x5004, Interrupted: true, Runtime: j, Site: 7}})
	for i, want := range []int{0, 1, -1, -1} {
		if len(got[i]) == 0 || got[i][len(got[i])-1].Module != want {
			t.Errorf("frame %d: got %+v, want module %d", i, got[i], want)
		}
	}
	if len(got[3]) != 2 || got[3][0].Func != "inner" || got[3][1].Func != "outer" {
		t.Errorf("frame of a JIT: got %+v, want inner and outer", got[3])
	}
	if j.asked != 1 {
		t.Errorf("the runtime was asked %d times, want once a Site", j.asked)
	}
}

// TestEqualStacks: stacks whose physical frames are the same memory share the named ones, and each has its own end.
func TestEqualStacks(t *testing.T) {
	set := module.NewSet(maps.NewTable(nil), module.Image{})
	frames := []unwind.Frame{{PC: 0x5004, Interrupted: true}, {PC: 0x7000}}
	w := resolve.Walked{Threads: []unwind.Stack{
		{Frames: frames, Stop: unwind.Root},
		{Frames: frames, Stop: unwind.BadCFA, Err: mem.ErrUnmapped},
		{Frames: frames[:1], Stop: unwind.Root},
		{Stop: unwind.NoContext},
	}}
	s := &snapshot.Snapshot{Maps: maps.NewTable(nil), Threads: make([]snapshot.Thread, len(w.Threads))}
	d := resolve.New(set, resolve.Options{}).Dump(s, w)
	a, b := d.Threads[0].Stack, d.Threads[1].Stack
	if len(a.Frames) != 2 || len(b.Frames) != 2 || &a.Frames[0] != &b.Frames[0] {
		t.Errorf("equal stacks do not share their frames: %+v, %+v", a, b)
	}
	if !a.Complete || b.Complete || b.Detail != mem.ErrUnmapped.Error() {
		t.Errorf("the ends: got %+v and %+v", a, b)
	}
	if n := len(d.Threads[2].Stack.Frames); n != 1 {
		t.Errorf("the beginning of a stack: got %d frames, want 1", n)
	}
	if n := len(d.Threads[3].Stack.Frames); n != 0 {
		t.Errorf("a thread without a stack: got %d frames", n)
	}
}
