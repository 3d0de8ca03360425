package tokio

import (
	"slices"
	"strings"

	"github.com/fpstack/fpstack/code/emulate"
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
	if i < 0 || d.writable(uint64(d.recent[i]), 1) {
		return
	}
	is, known := d.drops[pc]
	if !known {
		is = d.r.dropsWaker(pc)
		d.drops[pc] = is
	}
	table := d.recent[i] - dropWaker*wordSize
	w := waker{d.machine.R[emulate.RDI], d.functionAt(table + wakeByRef*wordSize)}
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

// pollWoken runs what polls task t after all of those were woken.
func (d *dry) pollWoken(t *task, wakers []waker) (way, error) {
	if err := d.begin(t, t.vtable.poll, t.state|stateNotified); err != nil {
		return way{trace: -1}, err
	}
	d.frees = true
	defer func() { d.frees = false }()
	for _, w := range wakers {
		d.call(w.wake, w.data)
		if _, err := d.run(); err != nil {
			return way{trace: -1}, err
		}
	}
	d.frees = false
	d.call(t.vtable.poll, uint64(t.at))
	d.most *= 1 + len(wakers)/4
	return d.polled()
}
