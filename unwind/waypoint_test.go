package unwind

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// guide is a runtime that knows no code, and places that the stack passes.
type guide struct {
	oneRuntime
	points []Waypoint
	asked  []mem.Addr // the stack pointer of the last frame each time
	read   mem.Addr   // what it reads for that; 0: nothing
}

func (g *guide) All() []Runtime { return []Runtime{g} }

func (g *guide) Region(mem.Addr) (Region, bool) { return Region{}, false }

func (g *guide) Waypoints(_ *snapshot.Thread, frames []Frame, m mem.Reader) []Waypoint {
	g.asked = append(g.asked, frames[len(frames)-1].SP)
	if g.read != 0 {
		m.ReadMem(make([]byte, 8), g.read)
	}
	return g.points
}

// point is a place at sp where code at pc goes on.
func point(sp, pc uint64) Waypoint {
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RSP, sp)
	r.Set(regs.AMD64RIP, pc)
	return Waypoint{Registers: r, Note: "of the test"}
}

// TestWaypoints: a walk that ends, or leaves a place out by a guess, goes on at the next place above it.
func TestWaypoints(t *testing.T) {
	const next = madeStack + 0x40
	for _, tc := range []struct {
		name   string
		points []Waypoint
		fp     uint64 // frame pointer; the record there has a caller behind a call, at madeBase+0x505
		mode   Mode
		want   string
	}{
		{"none", nil, 0, Auto, "0x20100(context) no rule"},
		{"one above", []Waypoint{point(next, madeBase+0x300)}, 0, Auto, "0x20100(context) 0x20300(waypoint) no rule"},
		{"two", []Waypoint{point(next, madeBase+0x300), point(next+16, madeBase+0x310)}, 0, Auto,
			"0x20100(context) 0x20300(waypoint) 0x20310(waypoint) no rule"},
		{"one below", []Waypoint{point(madeStack-8, madeBase+0x300)}, 0, Auto, "0x20100(context) no rule"},
		{"in another stack", []Waypoint{point(madeStack+0x1000, madeBase+0x300)}, 0, Auto, "0x20100(context) no rule"},
		{"no code", []Waypoint{point(next, 0x30000)}, 0, Auto, "0x20100(context) no rule"},
		{"without registers", []Waypoint{{Registers: regs.New(regs.AMD64)}}, 0, Auto, "0x20100(context) no rule"},
		{"left out by a guess", []Waypoint{point(next, madeBase+0x300)}, madeStack + 0x50, Auto,
			"0x20100(context) 0x20300(waypoint) no rule"},
		{"a guess that does not reach it", []Waypoint{point(next, madeBase+0x300)}, madeStack + 0x10, Auto,
			"0x20100(context) 0x20505(frame pointer) 0x20300(waypoint) no rule"},
		{"only frame pointers are followed", []Waypoint{point(next, madeBase+0x300)}, madeStack + 0x50,
			FramePointersOnly, "0x20100(context) 0x20505(frame pointer) root"},
	} {
		w, th := madeThread(0, 0, 0, madeBase+0x505, 0, 0, 0, 0, 0, 0, 0, madeBase+0x505)
		th.Registers.Set(regs.AMD64RBP, tc.fp)
		g := &guide{points: tc.points}
		w.Use(g)
		code := make([]byte, 0x1000)
		for i := range code {
			code[i] = 0x06 // no instruction
		}
		code[0x500] = 0xe8 // call
		memory := mem.NewOverlay(mem.NewOverlay(nil, mem.Range{Start: madeBase, Data: code}), th.Stack)
		s := w.Walk(th, memory, Options{Mode: tc.mode})
		if got := show(s); got != tc.want {
			t.Errorf("%s: got %s, want %s (%v)", tc.name, got, tc.want, s.Err)
		}
		if len(g.asked) > 1 {
			t.Errorf("%s: asked %d times", tc.name, len(g.asked))
		}
		for _, f := range s.Frames {
			if f.Origin == ByWaypoint && !strings.HasPrefix(f.Note, "of the test; frames before it are missing: ") {
				t.Errorf("%s: note %q", tc.name, f.Note)
			}
		}
	}
}

// TestWaypointsReadLate: places that rest on what was not copied say so.
func TestWaypointsReadLate(t *testing.T) {
	w, th := madeThread()
	w.Use(&guide{points: []Waypoint{point(madeStack+0x40, madeBase+0x300)}, read: 0x5000})
	base := mem.NewOverlay(nil, mem.Range{Start: 0x5000, Data: make([]byte, 8)})
	s := w.Walk(th, mem.NewOverlay(base, th.Stack), Options{})
	if !s.Late || len(s.Frames) != 2 || !strings.Contains(s.Frames[1].Note, "ran again") {
		t.Errorf("late %v, %+v", s.Late, s.Frames)
	}
}

// traveller is a guide with code of its own, from which it goes to another stack.
type traveller struct{ guide }

func (r *traveller) All() []Runtime { return []Runtime{r} }

func (r *traveller) Region(pc mem.Addr) (Region, bool) { return r.oneRuntime.Region(pc) }

// TestWaypointsOfEachStack: a runtime is asked once for each stack that a walk goes to.
func TestWaypointsOfEachStack(t *testing.T) {
	const other = madeStack + 0x1000
	_, th := madeThread()
	table := maps.NewTable([]maps.Mapping{{Start: madeBase, End: madeBase + 0x1000, Perm: maps.Read | maps.Exec},
		{Start: madeStack, End: madeStack + 0x100, Perm: maps.Read | maps.Write, Path: "[stack]"},
		{Start: other, End: other + 0x100, Perm: maps.Read | maps.Write}})
	w := NewWalker(module.NewSet(table, module.Image{}), nil)
	r := &traveller{guide{points: []Waypoint{point(madeStack+0x20, madeBase+0x200),
		point(madeStack+0x40, madeBase+0x300), point(other+0x20, madeBase+0x500)}}}
	r.words = -1
	r.cross = func(frames []Frame, _ *regs.Registers, _ mem.Reader) (Crossing, error) {
		if frames[len(frames)-1].PC != madeBase+0x300 {
			return Crossing{}, ErrDeclined
		}
		return Crossing{Registers: point(other, madeBase+0x400).Registers}, nil
	}
	w.Use(r)
	s := w.Walk(th, mem.NewOverlay(nil, th.Stack, mem.Range{Start: other, Data: make([]byte, 0x100)}), Options{})
	const want = "0x20100(context) 0x20200(waypoint) 0x20300(waypoint) 0x20400(runtime) 0x20500(waypoint) no rule"
	if got := show(s); got != want {
		t.Errorf("got %s, want %s (%v)", got, want, s.Err)
	}
	if want := []mem.Addr{madeStack, other}; !slices.Equal(r.asked, want) {
		t.Errorf("asked at %#x, want %#x", r.asked, want)
	}
}
