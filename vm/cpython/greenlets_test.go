package cpython

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
)

// Where drawGreenlets puts what it draws.
const (
	greenType, greenCode      = 0x5000, 0x7f0000001000
	mainGreenlet, mainState   = 0x10000, 0x11000
	sleeps, sleepsState       = 0x10100, 0x11200
	ended, endedState         = 0x10200, 0x11400
	begins, beginsState       = 0x10300, 0x11600
	greenThread               = 0xaaaad0001800 // as far up as arm64 has memory
	frameObject, frame, outer = 0x12000, 0x12100, 0x12200
	entry, entryMoved, codeAt = 0x7ffff000, 0x13000, 0x14000
)

// drawGreenlets draws four greenlets of 3.13: the main one runs, one waits whose entry frame was moved away with its
// stack, one has ended and one has not begun.
func drawGreenlets(t *testing.T) (*greenlets, *snapshot.Snapshot) {
	t.Helper()
	var l *object.Layout
	for _, s := range samples(t) {
		if s.name == "3.13" {
			l = s.runtime.layout
		}
	}
	data := make([]byte, 0x8000)
	put := func(a mem.Addr, words ...uint64) {
		for i, w := range words {
			binary.LittleEndian.PutUint64(data[int(a)-0x10000+8*i:], w)
		}
	}
	implementation := func(object, state mem.Addr, stack ...uint64) {
		put(object, 1, greenType, 0, 0, uint64(state))
		put(state, greenCode, uint64(object), 0, 0, 0, 0, 0)
		put(state+7*8, stack...) // start, stop, copy, saved, previous, context, top frame
	}
	implementation(mainGreenlet, mainState, isActive, uint64(mainStop), 0, 0, 0, 0, 0)
	put(mainState+20*8, greenThread)
	thread := mem.Range{Start: greenThread, Data: make([]byte, 16)}
	putWords(thread, greenThread, mainGreenlet, mainGreenlet)
	implementation(sleeps, sleepsState, entry-0x100, entry+0x1000, entryMoved-0x100, 0x200, 0, 0, frameObject)
	implementation(ended, endedState, 0, entry+0x1000)
	implementation(begins, beginsState)
	put(frameObject+24, frame)
	for _, f := range []struct {
		at, previous mem.Addr
		code         uint64
		owner        byte
	}{{frame, entry, codeAt, 0}, {entryMoved, outer, 0, object.OwnedByCStack}, {outer, 0, codeAt, 0}} {
		put(f.at+mem.Addr(l.Frame.Previous), uint64(f.previous))
		put(f.at+mem.Addr(l.Frame.Code), f.code)
		data[int(f.at)-0x10000+l.Frame.Owner] = f.owner
	}
	table := maps.NewTable([]maps.Mapping{{Start: 0x10000, End: 0x18000, Perm: maps.Read | maps.Write},
		{Start: greenCode, End: greenCode + 0x1000, Inode: 1, Path: "/x/greenlet/_greenlet.cpython-313.so"}})
	r := bareRuntime(l)
	s := &snapshot.Snapshot{Maps: table}
	s.Whole = []mem.Range{{Start: 0x10000, Data: data}, thread}
	r.green = &greenlets{r: r, types: map[mem.Addr]string{greenType: greenletModule}}
	return r.green, s
}

// TestGreenletsDrawn: what was copied is enough to list the greenlets, which of them runs, and the frames of one that
// sleeps, through an entry frame that was moved away with a part of its stack.
func TestGreenletsDrawn(t *testing.T) {
	g, s := drawGreenlets(t)
	fibers, err := g.Fibers(s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint64]string{}
	for _, f := range fibers {
		got[f.ID] = f.Name + " " + f.State
	}
	want := map[uint64]string{mainGreenlet: "main 0x10000 running", sleeps: "0x10100 parked",
		begins: "0x10300 not started"}
	if len(got) != len(want) {
		t.Errorf("greenlets %v, want %v", got, want)
	}
	for id, text := range want {
		if got[id] != text {
			t.Errorf("greenlet %#x is %q, want %q", id, got[id], text)
		}
	}
	if n := len(g.parked.stacks[sleeps].frames); n != 2 || g.parked.stacks[sleeps].why != nil {
		t.Errorf("%d frames, %v; want 2", n, g.parked.stacks[sleeps].why)
	}
}

// TestGreenletsPartly: frames that were not copied are missing, with the reason, and so is a greenlet that was not.
func TestGreenletsPartly(t *testing.T) {
	g, s := drawGreenlets(t)
	s.Whole[0].Data = s.Whole[0].Data[:entryMoved-0x10000]
	g.known = []mem.Addr{mainGreenlet, sleeps, begins, ended, 0x20000}
	_, err := g.Fibers(s)
	if err == nil || !strings.Contains(err.Error(), "1 of 5 greenlets") {
		t.Errorf("error %v, want that one of five is left out", err)
	}
	if p := g.parked.stacks[sleeps]; len(p.frames) != 1 || p.why == nil {
		t.Errorf("%d frames, %v; want one, and why others are missing", len(p.frames), p.why)
	}
}

// FuzzGreenlets: whatever the memory holds, the list ends.
func FuzzGreenlets(f *testing.F) {
	f.Add(uint64(0), []byte{})
	f.Add(uint64(outer-0x10000), []byte{0, 0x12, 1})
	f.Add(uint64(sleepsState-0x10000+7*8), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	previous := entryMoved - 0x10000 + uint64(8) // of the entry frame, which becomes its own caller
	f.Add(previous, []byte{0, 0xf0, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, offset uint64, change []byte) {
		g, s := drawGreenlets(t)
		copy(s.Whole[0].Data[offset%uint64(len(s.Whole[0].Data)):], change)
		fibers, _ := g.Fibers(s)
		if len(fibers) > 5 {
			t.Errorf("%d greenlets of four", len(fibers))
		}
	})
}
