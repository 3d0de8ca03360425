//go:build linux

package tracer

import (
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

const rw = maps.Read | maps.Write

func TestWindow(t *testing.T) {
	table := maps.NewTable([]maps.Mapping{
		{Start: 0x10000, End: 0x18000, Perm: rw},                          // a small thread stack
		{Start: 0x100000, End: 0x900000, Perm: rw},                        // one of 8 MiB
		{Start: 0xc000000000, End: 0xc004000000, Perm: rw},                // an arena
		{Start: 0x7f0000000000, End: 0x7f0000010000, Perm: rw},            // a stack in two parts
		{Start: 0x7f0000010000, End: 0x7f0000020000, Perm: rw},            //
		{Start: 0x7f0000100000, End: 0x7f0000110000, Perm: rw, Inode: 42}, // a stack in a file
		{Start: 0x7ffd00000000, End: 0x7ffd00800000, Perm: rw, Path: "[stack]"},
	})
	for _, row := range []struct {
		name        string
		sp, tp      mem.Addr
		start, end  mem.Addr
		open, quick bool
	}{
		{"shallow", 0x17000, 0, 0x16f80, 0x18000, false, true},
		{"red zone below the mapping", 0x10010, 0, 0x10000, 0x18000, false, true},
		{"shallow in 8 MiB", 0x8f0000, 0, 0x8eff80, 0x900000, false, true},
		{"thread pointer ends it", 0x8f0000, 0x8f5abc, 0x8eff80, 0x8f5abc, false, true},
		{"deep below a thread pointer at the top", 0x110000, 0x8ff700, 0x10ff80, 0x8ff700, false, true},
		{"arena", 0xc000100000, 0, 0xc0000fff80, 0xc0000fff80 + openWindow, true, true},
		{"arena with a thread pointer far above", 0xc000100000, 0xc000800000, 0xc0000fff80, 0xc0000fff80 + openWindow,
			true, true},
		{"arena with a thread pointer below", 0xc000100000, 0xc000000010, 0xc0000fff80, 0xc0000fff80 + openWindow, true,
			true},
		{"two parts", 0x7f000000f000, 0x7f000001fa00, 0x7f000000ef80, 0x7f000001fa00, false, true},
		{"file", 0x7f000010f000, 0, 0x7f000010ef80, 0x7f0000110000, false, false},
		{"deep in the initial stack", 0x7ffd00001000, 0, 0x7ffd00000f80, 0x7ffd00800000, false, true},
		{"the initial stack has grown since", 0x7ffcffff0000, 0, 0x7ffcfffeff80, 0x7ffd00800000, false, true},
		{"far below the initial stack", 0x7ffcff000000, 0, 0x7ffcfeffff80, 0x7ffcfeffff80 + openWindow, true, false},
		{"in no mapping", 0x5000, 0, 0x4f80, 0x4f80 + openWindow, true, false},
		{"zero", 0, 0, 0, openWindow, true, false},
	} {
		w := windows{table: table, limit: 16 << 20, total: 64 << 20}
		got := w.find(row.sp, row.tp)
		if end := got.start + mem.Addr(got.size); got.start != row.start || end != row.end || got.open != row.open ||
			got.quick != row.quick {
			t.Errorf("%s: got [%#x, %#x) open %v quick %v, want [%#x, %#x) %v %v", row.name,
				got.start, end, got.open, got.quick, row.start, row.end, row.open, row.quick)
		}
		if w.total != 64<<20-got.size {
			t.Errorf("%s: %d bytes left of the total", row.name, w.total)
		}
	}
}

func TestWindowLimits(t *testing.T) {
	table := maps.NewTable([]maps.Mapping{{Start: 0x100000, End: 0x900000, Perm: rw, Path: "[stack]"}})
	w := windows{table: table, limit: 1 << 20, total: 3 << 19}
	for i, want := range []int{1 << 20, 1 << 19, 0} {
		if got := w.find(0x200000, 0); got.size != want {
			t.Errorf("stack %d: got %d bytes, want %d", i, got.size, want)
		}
	}
}

// TestWindowOfInitialStack: of the stack of the main thread is copied what lies below the program's arguments, and all
// of it where the place of those is not known or cannot be.
func TestWindowOfInitialStack(t *testing.T) {
	table := maps.NewTable([]maps.Mapping{{Start: 0x100000, End: 0x900000, Perm: rw, Path: "[stack]"}})
	for _, row := range []struct {
		name             string
		sp, initial, end mem.Addr
	}{
		{"unknown", 0x8f0000, 0, 0x900000},
		{"known", 0x8f0000, 0x8f8000, 0x8f8000 + arguments},
		{"near the end", 0x8f0000, 0x8fff80, 0x900000},
		{"of another program", 0x8f0000, 0xa00000, 0x900000},
		{"below the frames", 0x8f0000, 0x8e0000, 0x900000},
		{"the stack has grown since", 0xf0000, 0x8f8000, 0x8f8000 + arguments},
	} {
		w := windows{table: table, initial: row.initial, limit: 16 << 20, total: 64 << 20}
		got := w.find(row.sp, 0)
		if end := got.start + mem.Addr(got.size); end != row.end || got.open || got.top != row.end {
			t.Errorf("%s: got [%#x, %#x), top %#x, open %v, want the end %#x", row.name, got.start, end, got.top,
				got.open, row.end)
		}
	}
}
