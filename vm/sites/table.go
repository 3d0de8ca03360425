package sites

import (
	"errors"
	"fmt"
	"math"

	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// Table numbers what executes in the frames of a runtime: K is what makes two of them one, V what names it. A number is
// never given twice. What was not met or named of late is forgotten, and gets another number when it is met again; who
// has kept the old one gets no name for it any more.
type Table[K comparable, V any] struct {
	numbers Recent[K, unwind.Site]
	named   Recent[unwind.Site, V]
	last    unwind.Site
	refused int
}

// NewTable returns an empty Table of at most most bytes, which it takes from b.
func NewTable[K comparable, V any](b *work.Budget, most int64) *Table[K, V] {
	return &Table[K, V]{numbers: NewRecent[K, unwind.Site](b, most/4),
		named: NewRecent[unwind.Site, V](b, most-most/4)}
}

// Find returns the number of k, false if it has none, or has lost it.
func (t *Table[K, V]) Find(k K) (unwind.Site, bool) {
	n, ok := t.numbers.Get(k)
	if !ok {
		return 0, false
	}
	if _, ok = t.named.Get(n); !ok { // forgotten
		return 0, false
	}
	return n, true
}

// Add numbers k, which Find does not know, and keeps what names it; size is about how many bytes both take. It returns
// 0 if there is no room or no number left: [Table.Err] tells it then.
func (t *Table[K, V]) Add(k K, v V, size int) unwind.Site {
	if t.last == math.MaxUint32 {
		t.refused++
		return 0
	}
	n := t.last + 1
	if !t.named.Keep(n, v, size) || !t.numbers.Keep(k, n, size) {
		t.refused++
		return 0
	}
	t.last = n
	return n
}

// Get returns what names n, false if that was forgotten or never known.
func (t *Table[K, V]) Get(n unwind.Site) (V, bool) { return t.named.Get(n) }

// Set replaces what names n, which Get knows.
func (t *Table[K, V]) Set(n unwind.Site, v V, size int) { t.named.Keep(n, v, size) }

// Unlink makes k one that Find does not know: what is met there later is another. Its number keeps what names it.
func (t *Table[K, V]) Unlink(k K) { t.numbers.drop(k) }

// ErrNoRoom says that frames are not named for want of memory.
var ErrNoRoom = errors.New("no room for more names")

// Err says how many frames could not be numbered, nil for none.
func (t *Table[K, V]) Err() error {
	if t.refused == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d frames were left without", ErrNoRoom, t.refused)
}
