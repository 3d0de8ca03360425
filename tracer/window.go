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
	table   *maps.Table
	initial mem.Addr // memory.initial
	limit   int      // bytes of one stack
	total   int      // bytes of all stacks that may still be planned
}

// find returns the window of a stack pointer. tp is the thread pointer, 0 if unknown: C
// libraries put the thread's variables and its descriptor above its stack in the same mapping, so that the
// used part ends there even where the mapping goes on.
func (w *windows) find(sp, tp mem.Addr) window {
	win := window{start: sp - min(sp, redZone), size: openWindow, open: true}
	m := w.table.Find(sp)
	if m == nil {
		if m = w.grown(sp); m == nil {
			return w.bound(win, openWindow)
		}
	} else {
		win.start = max(win.start, m.Start)
	}
	win.quick = m.Inode == 0
	var known bool
	win.top, known = w.upperEnd(m, sp, tp)
	used := uint64(win.top - win.start)
	win.open = !known && used > wholeWindow
	if win.open {
		return w.bound(win, openWindow)
	}
	return w.bound(win, used)
}

// maxGrowth is how far the initial stack may have grown down since the mappings were read. It
// is the usual limit of its size, and the kernel keeps more than that free below it.
const maxGrowth = 8 << 20

// grown is the initial stack if sp lies in what it has grown by since, else nil.
func (w *windows) grown(sp mem.Addr) *maps.Mapping {
	m := w.table.FindFrom(sp)
	if m == nil || m.Path != "[stack]" || m.Start-sp > maxGrowth {
		return nil
	}
	return m
}

// arguments is what is copied of a program's arguments, bytes: where its first function finds how many there are. The
// environment above them belongs to no frame.
const arguments = 256

// maxParts bounds the mappings that are taken for one stack.
const maxParts = 64

// upperEnd returns where the stack in mapping m ends, and whether that is known: at the
// thread pointer, or with the initial stack. A thread pointer far away, with more mapping
// above it, is only a bound: a Go program may have it in the arena of its stacks. One
// stack may show as several mappings, where a part of it is locked, named or served by
// userfaultfd.
func (w *windows) upperEnd(m *maps.Mapping, sp, tp mem.Addr) (top mem.Addr, known bool) {
	for part, n := m, 0; part != nil && n < maxParts; part, n = w.table.Find(part.End), n+1 {
		switch {
		case part.Inode != 0 && part != m || part.Perm&maps.Write == 0:
			return m.End, false
		case sp < tp && part.Contains(tp):
			end := min(part.End, (tp+pageSize)&^(pageSize-1)) // of the descriptor
			return tp, part.End-end <= pageSize || end-sp <= wholeWindow
		case part.Path == "[stack]" && sp < w.initial && w.initial < part.End:
			return min(part.End, w.initial+arguments), true
		case part.Path == "[stack]":
			return part.End, true
		}
	}
	return m.End, false
}

// bound cuts a window to the limits and counts it.
func (w *windows) bound(win window, want uint64) window {
	win.size = int(min(want, uint64(max(0, min(w.limit, w.total)))))
	w.total -= win.size
	return win
}
