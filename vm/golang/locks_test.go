package golang

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// TestLockOfAGoroutine: the lock is known by the entry of the goroutine in the queue of its semaphore, where that was
// copied in the stop and is its own; of what is hidden from the collector too. Of other waits there is none.
func TestLockOfAGoroutine(t *testing.T) {
	const at, queued, semaphore = 0xc000100000, 0xc000200000, 0xc000300004
	l := forms["go1.26"].layout()
	l.reasons = []string{"", "sync.Mutex.Lock", "sync.RWMutex.RLock", "chan receive"}
	for _, row := range []struct {
		name                     string
		reason                   byte
		waiting, of, live, where uint64
		want                     uint64
	}{
		{"a mutex", 1, queued, at, semaphore, semaphore, semaphore - 4},
		{"hidden from the collector", 1, queued, at, 0, semaphore, semaphore - 4},
		{"a reader", 2, queued, at, semaphore + 8, semaphore + 8, semaphore - 4},
		{"a channel", 3, queued, at, semaphore, semaphore, 0},
		{"another's entry", 1, queued, at + 8, semaphore, semaphore, 0},
		{"an older release, with a time there", 1, queued, at, semaphore, 12345, 0},
		{"no entry", 1, 0, at, semaphore, semaphore, 0},
		{"one that was not copied", 1, queued + 0x1000, at, semaphore, semaphore, 0},
	} {
		b := make([]byte, l.g.size())
		order.PutUint32(b[l.g.state:], stateWaiting)
		b[l.g.reason] = row.reason
		order.PutUint64(b[l.g.waiting:], row.waiting)
		entry := make([]byte, queuedBytes)
		order.PutUint64(entry, row.of)
		order.PutUint64(entry[queuedLive:], row.live)
		order.PutUint64(entry[queuedAt:], row.where)
		whole := view.Copied(work.New(1<<20, 1<<20), mem.Range{Start: queued, Data: entry})
		s := listing{whole: &whole}
		if got := s.lock(at, goroutine{l, b}); got != row.want {
			t.Errorf("%s: %#x, want %#x", row.name, got, row.want)
		}
	}
}
