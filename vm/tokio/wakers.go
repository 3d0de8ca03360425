package tokio

import (
	"errors"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// Futures in a set, as FuturesUnordered, are polled only after they were woken, each by a waker of its own. A task that
// waits for a set is dropped first, as that gives each waker back; then all are woken, and then the task is polled: in
// the overlay. Source: struct RawWakerVTable of Rust's library; waker.rs of the crate futures-task.

// waker is what wakes a future of a set.
type waker struct {
	data uint64
	wake mem.Addr // the function
}

const (
	// Words of a table of functions of a waker.
	wakeByRef = 2
	dropWaker = 3
	// maxWakers bounds those of one task.
	maxWakers = 16
	// recentReads is how many of the last reads are looked at for where the address of a function came from.
	recentReads = 8
)

// dropped looks whether a function that is called, by an address that was read, drops a waker of a set.
func (d *dry) dropped() {
	pc := mem.Addr(d.machine.PC)
	i := slices.IndexFunc(d.recent[:], func(at mem.Addr) bool { return at != 0 && d.functionAt(at) == pc })
	if i >= 0 {
		d.found(d.recent[i]-dropWaker*wordSize, d.machine.Argument(0))
	}
}

// left looks for a waker of a set in an object of which an atomic operation has just changed the state at a: before
// tokio 1.50 the receiver of a oneshot channel leaves its own to the sender. The compiler puts a field of two words
// before one of one word.
func (d *dry) left(a mem.Addr) {
	first, ok := d.moment.Peek(a - 2*wordSize)
	second, is := d.moment.Peek(a - wordSize)
	for range 2 { // a waker may have its table before its object or behind
		if ok && is && d.isTable(mem.Addr(first)) && d.isShared(second) {
			d.found(mem.Addr(first), second)
		}
		first, second = second, first
	}
}

// isShared reports whether a is an object behind counts of its references, as Arc of Rust's library has them: what
// was an object may be left in memory that is used again.
func (d *dry) isShared(a uint64) bool {
	const maxCount = 1 << 16
	if a < 2*wordSize || a%wordSize != 0 || !d.writable(a, wordSize) {
		return false
	}
	strong, ok := d.moment.Peek(mem.Addr(a) - 2*wordSize)
	weak, is := d.moment.Peek(mem.Addr(a) - wordSize)
	return ok && is && strong-1 < maxCount && weak-1 < maxCount
}

// isTable reports whether a is where the linker puts tables of functions.
func (d *dry) isTable(a mem.Addr) bool {
	for _, s := range d.tables {
		if s.Holds(a) {
			return true
		}
	}
	return false
}

// found takes a waker of those functions, if it is one of a set.
func (d *dry) found(table mem.Addr, data uint64) {
	if d.writable(uint64(table), 1) {
		return
	}
	drop := d.functionAt(table + dropWaker*wordSize)
	is, known := d.drops[drop]
	if !known {
		is = drop != 0 && d.r.dropsWaker(drop)
		d.drops[drop] = is
	}
	w := waker{data, d.functionAt(table + wakeByRef*wordSize)}
	switch {
	case !is || d.functionAt(table) == 0 || w.wake == 0 || slices.Contains(d.wakers, w):
	case len(d.wakers) == maxWakers:
		d.unwoken = true
	default:
		d.wakers = append(d.wakers, w)
	}
}

// functionAt is the function whose address is at a, 0 for none.
func (d *dry) functionAt(a mem.Addr) mem.Addr {
	w, ok := d.moment.Peek(a)
	if !ok || !d.r.isCode(mem.Addr(w)) {
		return 0
	}
	return mem.Addr(w)
}

// dropsWaker reports whether the function at a drops a waker that is an object with a count of references.
func (r *Runtime) dropsWaker(a mem.Addr) bool {
	found, err := r.symbols.Lookup([]module.Vaddr{r.vaddr(a)})
	if err != nil || found[0] == nil {
		return false
	}
	name := found[0].Name
	return strings.Contains(name, "drop_arc_raw") ||
		strings.Contains(name, "raw_waker") && strings.Contains(name, "drop_waker")
}

// pollWoken runs what polls task t after all of those were woken that can be; it is false if one cannot.
func (d *dry) pollWoken(t *task, wakers []waker) (w way, all bool, err error) {
	if err := d.begin(t, t.vtable.poll, t.state|stateNotified); err != nil {
		return way{trace: -1}, true, err
	}
	d.frees = true
	for i, w := range wakers {
		d.call(w.wake, w.data)
		if _, err := d.run(); err != nil {
			d.frees = false
			if errors.Is(err, d.r.budget.Refusal()) {
				return way{trace: -1}, true, err
			}
			out, _, err := d.pollWoken(t, append(wakers[:i:i], wakers[i+1:]...))
			return out, false, err
		}
	}
	d.frees = false
	d.call(t.vtable.poll, uint64(t.at))
	d.most *= 1 + len(wakers)/4
	w, err = d.polled()
	return w, true, err
}
