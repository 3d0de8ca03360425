package vm

import (
	"github.com/fpstack/fpstack/hang/waits"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// LockLister is a runtime that has locks of its own for which threads wait.
type LockLister interface {
	// Locks lists those that threads of s wait for. memory is that of the process as s shows it; the threads may run
	// again, or may never have been stopped. What it cannot read it leaves out.
	Locks(s *snapshot.Snapshot, memory mem.Reader) []waits.Lock
}

// Locks lists what the runtimes of the process know of locks of their own.
func (p *Process) Locks(s *snapshot.Snapshot) []waits.Lock {
	var all []waits.Lock
	for _, r := range p.all {
		if l, ok := r.(LockLister); ok {
			all = append(all, l.Locks(s, s.Reader(nil, p.image.Memory))...)
		}
	}
	return all
}
