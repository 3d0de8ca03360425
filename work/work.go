// Package work bounds what one run of fpstack may do for bytes that it does not trust: how much
// work all parsers together may take, and how much memory what they read may fill.
//
// A [Budget] is made once for a run and handed down to every reader of such bytes. Bounds of
// single files do not add up to one: a process may map thousands, each at its worst. The same
// check, made in every loop, serves a signal ([Budget.Stop]): all readers end soon after it.
//
// A reader that is refused returns what it has together with [Budget.Err], so that a person hears
// what is missing and why. It knows no clock: the same bytes are cut at the same place on every machine.
package work

import (
	"cmp"
	"errors"
	"sync/atomic"
)

// The reasons to end early, besides the one that is given to [Budget.Stop].
var (
	// ErrSpent says that reading would take more work than is allowed.
	ErrSpent = errors.New("it takes more work than one run may do")
	// ErrMemory says that what is read would take more memory than is allowed.
	ErrMemory = errors.New("it takes more memory than one run may hold")
)

// The budget of a run. A step is about a nanosecond of work on a machine of 2020. A byte of a file that
// is read takes one at the least, whatever is done with it: its page may be a hole that the kernel fills. The names of
// a program of 250 MB with lines and inlined calls take some hundred million.
const (
	Steps  = 2 << 30
	Memory = 384 << 20 // bytes
)

// Budget is what may yet be done. Nil allows everything. It may be used by several goroutines.
type Budget struct {
	above *Budget // what is taken here is taken there too; nil for that of a whole run
	steps atomic.Int64
	bytes atomic.Int64
	held  atomic.Int64 // bytes that were taken and not given back
	most  int64        // steps that there were at first
	aside atomic.Int64 // steps that above has set aside for this one
	kept  atomic.Int64 // of a run: steps that are to be set aside
	stop  atomic.Pointer[error]

	earned atomic.Int64 // of a run: all that Earn gave
	seen   atomic.Int64 // of a share: how much of that it has got
}

// New returns a Budget of so many steps and bytes, and half of the steps more for what shares set aside.
func New(steps, bytes int64) *Budget {
	b := &Budget{most: steps}
	b.steps.Store(steps)
	b.kept.Store(steps / keptPart)
	b.bytes.Store(bytes)
	return b
}

// Half of a run's steps comes on top, to be set aside for files: setAside for each, which suffices for the symbols
// of the C library in its debug file, and where there are hundreds an asidePart of what is kept still.
const (
	keptPart  = 2
	setAside  = 1 << 19
	asidePart = 256
)

// Share returns a Budget for one file: half of what b has now, taken from b as it is used, and a few
// steps that are set aside for it, so that other files cannot use up what is left. Share of nil is nil.
func (b *Budget) Share() *Budget {
	if b == nil {
		return nil
	}
	left := max(0, b.steps.Load())
	s := &Budget{above: b, most: left / 2}
	s.steps.Store(left / 2)
	s.bytes.Store(b.bytes.Load() / 2)
	s.seen.Store(b.run().earned.Load())
	if aside := min(setAside, b.kept.Load()/asidePart); aside > 0 && b.kept.Add(-aside) >= 0 {
		s.aside.Store(aside)
	}
	return s
}

// Stop makes every later question be refused with err as the reason.
func (b *Budget) Stop(err error) {
	if b != nil {
		b.stop.CompareAndSwap(nil, &err)
	}
}

// Spend takes n steps. It is false if they are not left, and then none are; and after Stop.
func (b *Budget) Spend(n int64) bool {
	if b.Stopped() != nil {
		return false
	}
	for at := b; at != nil; at = at.above {
		if !take(&at.steps, n, false) {
			at.catchUp()
			if !take(&at.steps, n, true) {
				return n > 0 && take(&b.aside, n, true) // last, as it is for when others have used up the rest
			}
		}
	}
	return true
}

// take takes n from what there is, or, if that is less, nothing, or all to no avail.
func take(from *atomic.Int64, n int64, all bool) bool {
	for {
		had := from.Load()
		switch {
		case had >= n:
			if from.CompareAndSwap(had, had-n) {
				return true
			}
		case !all || from.CompareAndSwap(had, 0):
			return false
		}
	}
}

// catchUp gives a share what its run has earned since its last check, and reports whether that was anything.
func (b *Budget) catchUp() bool {
	if b.above == nil {
		return false
	}
	all := b.run().earned.Load()
	more := all - b.seen.Swap(all)
	b.steps.Add(min(more, b.most))
	return more > 0
}

// Earn gives a run n steps back, up to what there was at first, and its shares too: a recording that
// goes on for hours meets new code all the time.
func (b *Budget) Earn(n int64) {
	if b == nil {
		return
	}
	b = b.run()
	b.earned.Add(n)
	if b.steps.Load() < b.most {
		b.steps.Add(n)
	}
}

// run is the Budget of the run that b is of.
func (b *Budget) run() *Budget {
	for b.above != nil {
		b = b.above
	}
	return b
}

// Hold takes n bytes for what is about to be kept. It is false, and takes none, if they are not left.
func (b *Budget) Hold(n int64) bool {
	for at := b; at != nil; at = at.above {
		at.held.Add(n)
		if at.bytes.Add(-n) >= 0 {
			continue
		}
		for back := b; back != at.above; back = back.above {
			back.give(n)
		}
		return false
	}
	return true
}

// Release gives back n bytes that Hold took.
func (b *Budget) Release(n int64) {
	for ; b != nil; b = b.above {
		b.give(n)
	}
}

func (b *Budget) give(n int64) {
	b.held.Add(-n)
	b.bytes.Add(n)
}

// ReleaseAll gives back all that Hold took from a share: the file that it is for is forgotten, and
// nobody releases what was held for it any more.
func (b *Budget) ReleaseAll() {
	if b != nil && b.above != nil {
		b.Release(b.held.Load())
	}
}

// Left is what may yet be taken, in steps and bytes.
func (b *Budget) Left() (steps, bytes int64) {
	return b.steps.Load() + b.aside.Load(), b.bytes.Load()
}

// Stopped is the reason that was given to Stop, nil if there was none.
func (b *Budget) Stopped() error {
	for ; b != nil; b = b.above {
		if why := b.stop.Load(); why != nil {
			return *why
		}
	}
	return nil
}

// Refusal is why Spend was false: as [Budget.Err], and ErrSpent where something has come back since.
func (b *Budget) Refusal() error { return cmp.Or(b.Err(), ErrSpent) }

// Err says why nothing more can be done: the reason given to Stop, or ErrSpent; nil if something can.
func (b *Budget) Err() error {
	if why := b.Stopped(); why != nil {
		return why
	}
	for ; b != nil; b = b.above {
		if b.aside.Load() > 0 {
			return nil
		}
		if b.steps.Load() <= 0 && (!b.catchUp() || b.steps.Load() <= 0) {
			return ErrSpent
		}
	}
	return nil
}
