package golang

import (
	"github.com/fpstack/fpstack/mem"
)

// A goroutine that waits for a lock is in a queue at the semaphore of that. Since Go 1.26 it knows its entry there,
// which has the address of the semaphore: that is in the lock, at a place that the reason of the wait tells.
//
// Source: struct sudog in runtime/runtime2.go, (*semaRoot).queue in runtime/sema.go; struct Mutex in
// internal/sync/mutex.go, struct RWMutex in sync/rwmutex.go.
const (
	queuedBytes = 40 // of a sudog: g, next, prev, then the address twice
	queuedLive  = 24 // the address for the collector, 0 where it is hidden from that
	queuedAt    = 32
)

// semaphores are where the semaphore is in each lock, by the reason of the wait.
var semaphores = map[string]uint64{"sync.Mutex.Lock": 4, "sync.RWMutex.Lock": 8, "sync.RWMutex.RLock": 12}

// semaphore is where the entry of g is, if it waits for a lock and knows that.
func (g goroutine) semaphore() (at mem.Addr, ok bool) {
	_, ok = g.lockOffset()
	at = mem.Addr(g.word(g.l.g.waiting))
	return at, ok && at != 0
}

// lockOffset is where in the lock that g waits for its semaphore is.
func (g goroutine) lockOffset() (offset uint64, ok bool) {
	if g.state() != stateWaiting && g.state() != stateLeaked {
		return 0, false
	}
	if reason := int(g.b[g.l.g.reason]); reason < len(g.l.reasons) {
		offset, ok = semaphores[g.l.reasons[reason]]
	}
	return offset, ok
}

// lock is the address of the lock that g, the goroutine at that address, waits for; 0 if that is not known. What is no
// entry of g, as it was in the stop, has none.
func (s *listing) lock(at uint64, g goroutine) uint64 {
	queued, ok := g.semaphore()
	if !ok {
		return 0
	}
	b, ok := s.whole.Bytes(queued, queuedBytes)
	if !ok || order.Uint64(b) != at {
		return 0
	}
	address, live := order.Uint64(b[queuedAt:]), order.Uint64(b[queuedLive:])
	offset, _ := g.lockOffset()
	if live != 0 && live != address || address <= offset || address%4 != 0 {
		return 0
	}
	return address - offset
}
