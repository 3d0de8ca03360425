package dump

import (
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm"
)

// loops are the event loops that threads wait in.
type loops struct {
	finder   *vm.Loops
	byThread map[int]*profile.Loop
}

// look finds the loop of t, a thread of snap.
func (l *loops) look(snap *snapshot.Snapshot, t *snapshot.Thread) {
	loop := l.finder.Of(snap, t)
	if loop == nil {
		return
	}
	if l.byThread == nil {
		l.byThread = map[int]*profile.Loop{}
	}
	l.byThread[t.TID] = loop
}

// LoopDescriptors are the descriptors that event loops wait for which [Walk.Batch] has met.
func (w *Walk) LoopDescriptors() []int {
	var fds []int
	for _, loop := range w.loops.byThread {
		for i := range loop.Handles {
			if fd := loop.Handles[i].FD; fd >= 0 {
				fds = append(fds, fd)
			}
		}
	}
	return fds
}

// report puts the loops into d, with what whole says of their descriptors.
func (l *loops) report(d *profile.Dump, whole *snapshot.Snapshot) {
	for i := range d.Threads {
		t := &d.Threads[i]
		if t.Loop = l.byThread[t.TID]; t.Loop == nil {
			continue
		}
		for k := range t.Loop.Handles {
			h := &t.Loop.Handles[k]
			if h.FD >= 0 {
				h.File = whole.FDs[h.FD]
			}
		}
	}
}
