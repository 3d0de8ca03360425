package waits

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/syscalls"
)

// Hold is what an edge of a deadlock rests on: the thread waits in its call, and the word has the owner.
type Hold struct {
	TID    int
	SP, PC mem.Addr // of the thread in its call
	Word   mem.Addr // in the memory of its process
	Owner  uint32   // what the word has
}

// HoldSize is the size of the word of a Hold, in bytes.
const HoldSize = 4

// Holds lists those of the deadlocks of g that process pid is part of: what is to be compared when its threads are
// stopped.
func (g *Graph) Holds(pid int) []Hold {
	var all []Hold
	for i := range g.Cycles {
		if g.Cycles[i].Kind != Deadlock {
			continue
		}
		for _, tid := range g.Cycles[i].Threads {
			t, w := g.Facts.Thread(tid), g.Of(tid)
			var b [HoldSize]byte
			if t.Process.PID != pid || w.word == 0 || t.Process.Memory.bytes(b[:], w.word) != known {
				continue
			}
			all = append(all, Hold{tid, t.First.Call.SP, t.First.Call.PC, w.word, u32(b[:])})
		}
	}
	return all
}

// ConfirmCall says where a thread was in the stop that the locks of its process were read in: in the call that it was
// blocked in before, its wait for a lock that is [Lock.Instant] goes on.
func (f *Facts) ConfirmCall(tid int, sp, pc mem.Addr) {
	if t := f.Thread(tid); t != nil {
		t.inCall = t.First.Blocked && t.First.Call.SP == sp &&
			InCall(t.Process.Arch, t.First.Call.PC, pc)
	}
}

// Confirm takes a Hold as it was when the threads were stopped: same says whether it was as before. The graph is to be
// joined again then: an edge that was another is none of a deadlock.
func (f *Facts) Confirm(h Hold, same bool) {
	t := f.Thread(h.TID)
	if t == nil {
		return
	}
	if t.confirmed = same; !same {
		t.move()
	}
}

// AtStop takes the call that a thread was blocked in when it was stopped, nil if it ran, and what was copied of its
// stack: if it is not the call that it was in before, nothing that was read of it holds any more. If it is, the thread
// may have made it anew meanwhile, from the same place: when it ends is as the stack says then. The graph is to be
// joined again.
func (f *Facts) AtStop(tid int, call *procfs.Syscall, stack mem.Range) {
	t := f.Thread(tid)
	switch {
	case t == nil || !t.First.Blocked || t.First.Refused:
		return
	case call == nil || !t.goesOn(*call):
		t.move()
		t.Moved = true
		return
	}
	times := call.Args[:]
	if IsFutex(t.Process.Arch, t.First.Call.Number) {
		times = times[3:] // words of locks are confirmed by themselves
	}
	const timespec = 16
	for _, a := range times {
		t.Process.Memory.patch(mem.Addr(a), timespec, stack)
	}
}

// goesOn reports whether call, of a stop, is the one that t was in before. One that an earlier stop interrupted is
// restart_syscall to /proc, and in the stop what it was at first.
func (t *Thread) goesOn(call procfs.Syscall) bool {
	before := t.First.Call
	if name, _ := syscalls.Name(t.Process.Arch, before.Number); name == "restart_syscall" {
		was, known := syscalls.Name(t.Process.Arch, call.Number)
		if known && (restarts[was] || was == name) {
			before.Number = call.Number
		}
	}
	return call == before
}

// move notes that a thread has left the call that it was in at the first reading.
func (t *Thread) move() { t.Last.HasCall, t.Last.Blocked = true, false }
