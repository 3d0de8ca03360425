package cpython

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

// drawn is a memory of one range.
type drawn struct{ mem.Range }

func (d drawn) view() *view.View {
	v := view.Copied(nil, d.Range)
	return &v
}

// frame311 is a frame of 3.11 at a.
type frame311 struct {
	at, previous, code mem.Addr
	entry              bool
}

// cframe is a CFrame at a.
type cframe struct{ at, frame, previous mem.Addr }

// draw311 lays out frames from 0x1000 on and CFrames from 0x8000 on.
func draw311(t *testing.T, frames []frame311, cframes []cframe) drawn {
	t.Helper()
	d := drawn{mem.Range{Start: 0x1000, Data: make([]byte, 0x9000)}}
	put := func(a mem.Addr, v uint64) { order.PutUint64(d.Data[a-d.Start:], v) }
	for _, f := range frames {
		put(f.at+48, uint64(f.previous))
		put(f.at+32, uint64(f.code))
		if f.entry {
			d.Data[f.at-d.Start+68] = 1
		}
	}
	for _, c := range cframes {
		put(c.at+8, uint64(c.frame))
		put(c.at+16, uint64(c.previous))
	}
	return d
}

// TestCFrames walks chains of 3.11. 0x7000 is the state, with the CFrame that ends the list.
func TestCFrames(t *testing.T) {
	const state, root, entry = 0x7000, 0x7100, true
	whole := []frame311{{0x1000, 0x1100, 0xa0, false}, {0x1100, 0x1200, 0xb0, entry}, {0x1200, 0, 0xc0, entry}}
	lists := []cframe{{0x8000, 0x1000, 0x8100}, {0x8100, 0x1200, root}, {root, 0, 0}}
	for _, row := range []struct {
		name       string
		frames     []frame311
		cframes    []cframe
		codes      string
		groups     int
		cut, unset bool
	}{
		{"two calls", whole, lists, "[a0 b0 c0]", 2, false, false},
		{"the call in front is not set", whole,
			append([]cframe{{0x7f00, 0x1800, 0x8000}}, lists...), "[a0 b0 c0]", 2, false, false},
		{"what it leads to is not set either", whole[:2], []cframe{{0x7f00, 0x1800, 0x8000}, {0x8000, 0x1000, 0x8100}},
			"[]", 0, false, true},
		{"it leads to nothing", whole, []cframe{{0x7f00, 0x1800, 0xffff0000}}, "[]", 0, false, true},
		{"what is behind the second is not there", whole,
			[]cframe{{0x8000, 0x1000, 0x8100}, {0x8100, 0x1200, 0xffff0000}}, "[a0 b0 c0]", 2, true, false},
		{"CFrames in a circle", nil, []cframe{{0x8000, 0, 0x8000}}, "[]", 0, true, false},
		{"frames in a circle", []frame311{{0x1000, 0x1000, 0xa0, false}}, lists[:1], "", 0, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := object.Known(object.Version{Major: 3, Minor: 11})
			if err != nil {
				t.Fatal(err)
			}
			var c chain
			m := draw311(t, row.frames, row.cframes).view()
			c.walk(l, m, object.Thread{Addr: state, CFrame: row.cframes[0].at}, 0)
			var codes []mem.Addr
			for _, f := range c.frames {
				codes = append(codes, f.Code)
			}
			if got := fmt.Sprintf("%x", codes); row.codes != "" && got != row.codes || c.cut != row.cut ||
				c.unset != row.unset || row.groups != len(c.groups) {
				t.Errorf("frames %s in %d groups, cut %v, unset %v; want %s, %d, %v, %v", got, len(c.groups), c.cut,
					c.unset, row.codes, row.groups, row.cut, row.unset)
			}
		})
	}
}

// TestEntryBeingMade: a frame on the stack is an entry frame, before it says so.
func TestEntryBeingMade(t *testing.T) {
	for _, s := range samples(t) {
		l := s.runtime.layout
		if l.Version.Minor < 13 {
			continue
		}
		d := drawn{mem.Range{Start: 0x1000, Data: make([]byte, 0x2000)}}
		put := func(a mem.Addr, v uint64) { order.PutUint64(d.Data[a-d.Start:], v) }
		const inner, entry, outer = 0x1000, 0x2000, 0x1200
		put(inner+mem.Addr(l.Frame.Previous), entry)
		put(inner+mem.Addr(l.Frame.Code), 0xa0)
		put(entry+mem.Addr(l.Frame.Previous), outer)
		put(outer+mem.Addr(l.Frame.Code), 0xb0)
		var c chain
		stack := mem.Range{Start: entry, Data: d.Data[entry-0x1000:]}
		c.walkOn(l, d.view(), object.Thread{Addr: 0x9000, Frame: inner}, stack)
		if len(c.frames) != 2 || len(c.groups) != 2 || c.groups[0].anchor != entry {
			t.Errorf("%s: %d frames in %d groups, want 2 in 2", s.name, len(c.frames), len(c.groups))
		}
	}
}

// TestShimsInACircle: a chain of entry frames alone that leads to itself ends.
func TestShimsInACircle(t *testing.T) {
	for _, s := range samples(t) {
		l := s.runtime.layout
		if l.Version.Minor < 13 {
			continue
		}
		d := drawn{mem.Range{Start: 0x1000, Data: make([]byte, l.Frame.Size)}}
		order.PutUint64(d.Data[l.Frame.Previous:], 0x1000)
		d.Data[l.Frame.Owner] = object.OwnedByCStack
		var c chain
		c.walk(l, d.view(), object.Thread{Addr: 0x9000, Frame: 0x1000}, 0)
		if !c.cut || len(c.frames) > 0 {
			t.Errorf("%s: %d frames, cut %v", s.name, len(c.frames), c.cut)
		}
	}
}

// TestCFrameThatBegins: in 3.10 a call that begins has put its CFrame in front before what that leads to is set: what
// lies there loses no frame, and each is in front of the call that runs it.
func TestCFrameThatBegins(t *testing.T) {
	for _, s := range samples(t) {
		if s.name != "3.10" {
			continue
		}
		s.known(s.runtime)
		native := s.calls(t, s.runtime)
		chains, _ := s.runtime.chainsOf(s.thread, s.runtime.stopped(s.thread, nil))
		front := chains[0].state.CFrame + mem.Addr(s.runtime.layout.CFrame.Previous)
		frame := uint64(chains[0].frames[0].Addr) // what may lie there
		for _, previous := range []uint64{0, 0xffff0000, frame} {
			th := *s.thread
			th.Stack.Data = slices.Clone(th.Stack.Data)
			th.Copied = slices.Clone(th.Copied)
			set := 0
			for _, r := range append([]*mem.Range{&th.Stack}, pointers(th.Copied)...) {
				if _, ok := r.Bytes(front, wordSize); ok {
					r.Data = slices.Clone(r.Data)
					order.PutUint64(r.Data[front-r.Start:], previous)
					set++
				}
			}
			stack := unwind.Stack{Frames: slices.Clone(native)}
			s.runtime.Identify(&th, &stack, nil)
			if got := s.shown(&stack); got != s.want || set == 0 {
				t.Errorf("%#x, set in %d ranges: frames\n%swant\n%s", previous, set, got, s.want)
			}
			python := false
			for i := range stack.Frames {
				f := &stack.Frames[i]
				if f.Note != "" || f.Gap {
					t.Errorf("%#x: frame %d says %q, gap %v", previous, i, f.Note, f.Gap)
				}
				if f.PC == 2 && !python {
					t.Errorf("%#x: no frame of Python in front of the call at %#x", previous, uint64(f.SP))
				}
				python = f.Site != 0
			}
		}
	}
}

func pointers(ranges []mem.Range) (out []*mem.Range) {
	for i := range ranges {
		out = append(out, &ranges[i])
	}
	return out
}
