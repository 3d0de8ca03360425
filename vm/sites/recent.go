// Package sites keeps what runtimes have found out of code and frames, within one bound, for as long as it is in use.
//
// A [Recent] is a map that forgets what was not asked for of late in place of refusing what is new, and a [Table]
// numbers what executes in frames on top of it. What they hold they take from a budget, and give back when they
// forget it. Both are for one goroutine at a time.
//
// Their keys are values that mean the same for as long as they are kept: an address alone never does, as other code or
// another object may lie there later. They hold the generation or the identity of what lies there besides.
package sites

import "github.com/fpstack/fpstack/work"

// Recent is a map of at most some bytes. It has two halves: when the newer one is full the older is forgotten, and what
// is asked for moves to the newer. So what was used since the last time is kept always.
type Recent[K comparable, V any] struct {
	most       int64 // of a half, bytes
	newer, old map[K]kept[V]
	size, aged int64 // of what they hold
	budget     *work.Budget
	forgotten  int
}

type kept[V any] struct {
	value V
	size  int64
}

// entrySize is about what an entry takes besides what the caller counts.
const entrySize = 64

// NewRecent returns an empty Recent of at most most bytes, which it takes from b.
func NewRecent[K comparable, V any](b *work.Budget, most int64) Recent[K, V] {
	return Recent[K, V]{most: most / 2, newer: map[K]kept[V]{}, budget: b}
}

// Get returns what was kept under k.
func (r *Recent[K, V]) Get(k K) (V, bool) {
	e, ok := r.newer[k]
	if !ok {
		if e, ok = r.old[k]; ok {
			delete(r.old, k)
			r.aged -= e.size
			r.size += e.size
			r.newer[k] = e
			r.turn()
		}
	}
	return e.value, ok
}

// Peek is Get that does not count as use: it changes nothing, so that several may call it at once while nobody calls
// another method.
func (r *Recent[K, V]) Peek(k K) (V, bool) {
	e, ok := r.newer[k]
	if !ok {
		e, ok = r.old[k]
	}
	return e.value, ok
}

// Keep keeps v under k; size is about how many bytes both take. Where the budget has no room for them the older half is
// forgotten, and what was kept under k before; then v is kept all the same if there is room now, or it is not.
func (r *Recent[K, V]) Keep(k K, v V, size int) (ok bool) {
	r.drop(k)
	n := int64(size) + entrySize
	if !r.budget.Hold(n) {
		r.forget()
		if !r.budget.Hold(n) {
			return false
		}
	}
	r.newer[k] = kept[V]{v, n}
	r.size += n
	r.turn()
	return true
}

// drop forgets what is kept under k.
func (r *Recent[K, V]) drop(k K) {
	if e, ok := r.newer[k]; ok {
		delete(r.newer, k)
		r.size -= e.size
		r.budget.Release(e.size)
	} else if e, ok := r.old[k]; ok {
		delete(r.old, k)
		r.aged -= e.size
		r.budget.Release(e.size)
	}
}

// turn makes the newer half the older one when it is full.
func (r *Recent[K, V]) turn() {
	if r.size <= r.most {
		return
	}
	r.forget()
	r.old, r.aged = r.newer, r.size
	r.newer, r.size = map[K]kept[V]{}, 0
}

// forget forgets the older half.
func (r *Recent[K, V]) forget() {
	r.forgotten += len(r.old)
	r.budget.Release(r.aged)
	r.old, r.aged = nil, 0
}

// Clear forgets all.
func (r *Recent[K, V]) Clear() {
	r.budget.Release(r.size + r.aged)
	r.newer, r.old, r.size, r.aged = map[K]kept[V]{}, nil, 0, 0
}

// Len is how many are kept.
func (r *Recent[K, V]) Len() int { return len(r.newer) + len(r.old) }

// Forgotten is how many were forgotten for want of room so far.
func (r *Recent[K, V]) Forgotten() int { return r.forgotten }
