package vm

import (
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/waits"
)

// LockLister is a runtime that has locks of its own for which threads wait, or knows for the ends of which threads
// others wait.
type LockLister interface {
	// Locks lists those that threads of s wait for. stack is that of a thread as it was walked, nil for none. It may
	// read the image: the threads may run again, or may never have been stopped. What it cannot read it leaves out.
	Locks(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) []waits.Lock
}

// Locks lists what the runtimes of the process know of locks of their own; see [LockLister].
func (p *Process) Locks(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) []waits.Lock {
	var all []waits.Lock
	for _, r := range p.all {
		if l, ok := r.(LockLister); ok {
			all = append(all, l.Locks(s, stack)...)
		}
	}
	return all
}

// LockHolder is a runtime of which one thread runs at a time: the one that has its lock.
type LockHolder interface {
	// CopyHolder makes it copy with each thread who has the lock.
	CopyHolder()
	// HoldsLock reports whether t had it when it was copied.
	HoldsLock(t *snapshot.Thread) bool
}

// HoldsLock reports whether t had the lock of a runtime when it was copied.
func (p *Process) HoldsLock(t *snapshot.Thread) bool {
	for _, r := range p.all {
		if h, ok := r.(LockHolder); ok && h.HoldsLock(t) {
			return true
		}
	}
	return false
}
