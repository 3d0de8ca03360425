//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

const (
	// redZone is what a leaf function may use below SP without moving it.
	// Source: System V ABI AMD64, 3.2.2. Epilogues leave slots there on other architectures.
	redZone = 128
	// wholeWindow is the used part of a stack up to which it is copied without a question.
	wholeWindow = 256 << 10
	// openWindow is what is copied first where the upper end of a stack is not known: a
	// goroutine's or a fibre's stack in an arena, neighbouring stacks that the kernel shows
	// as one mapping, or a mapping made since the list was read.
	openWindow = 32 << 10
	// pageSize is the smallest page of any architecture; a hole begins at a multiple of it.
	pageSize = 4096
)

// window is the part of a stack that is to be copied.
type window struct {
	start mem.Addr
	size  int
	top   mem.Addr // upper end of the used part, or of the mapping if open; 0 unknown
	open  bool     // the used part may end before top
	quick bool     // its pages need nobody but the kernel
}

// windows says which part of a stack is in use.
type windows struct {
	table *maps.Table
	limit int // bytes of one stack
	total int // bytes of all stacks that may still be planned
}

// find returns the window of a stack pointer. tp is the thread pointer, 0 if unknown: C
// libraries put the thread's descriptor above its stack in the same mapping, so that the
// used part ends there even where the mapping goes on.
func (w *windows) find(sp, tp mem.Addr) window {
	win := window{start: sp - min(sp, redZone), size: openWindow, open: true}
	m := w.table.Find(sp)
	if m == nil {
		return w.bound(win, openWindow)
	}
	win.start = max(win.start, m.Start)
	win.top, win.quick = m.End, m.Inode == 0
	bounded := m.Path == "[stack]"
	if sp < tp && tp < m.End {
		win.top, bounded = min(m.End, (tp+pageSize)&^(pageSize-1)), true
	}
	used := uint64(win.top - win.start)
	win.open = !bounded && used > wholeWindow
	if win.open {
		return w.bound(win, openWindow)
	}
	return w.bound(win, used)
}

// bound cuts a window to the limits and counts it.
func (w *windows) bound(win window, want uint64) window {
	win.size = int(min(want, uint64(max(0, min(w.limit, w.total)))))
	w.total -= win.size
	return win
}
