// Package view is the one way in which the rooms of runtimes read a target.
//
// A [View] lays what was copied while the threads stood still over the memory of the running process, takes what it
// reads from a budget, and knows of each byte whether it was copied. A parser gets a View, and no reader besides it:
// so a bound that ends early is an error that stays, and what was read late can be told from what was not.
//
// The caller provides the copies, the live memory and a share of the run's budget. A View is for one goroutine, and
// for one moment of its target: it keeps nothing of it but those.
package view

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/work"
)

// ErrNotCopied says that memory was wanted of the moment of a stop which was not copied then.
var ErrNotCopied = errors.New("it was not copied while the thread was stopped")

// View is memory of one target. Words are little-endian, 8 bytes wide.
type View struct {
	copied *mem.Overlay      // what was copied, over what is of the same moment; nil for none
	stop   *snapshot.Fetcher // reads what is not copied yet, and keeps it; nil outside of a stop
	from   Source            // in the place of all others; nil for none
	span   int               // how much is copied at the least, bytes
	live   mem.Reader        // the process as it runs; nil: what was not copied is not to be had
	fixed  bool              // what is read of live does not move: it is not late
	held   holder            // knows what of live was copied, and costs little; nil if nothing was
	budget *work.Budget
	bound  bool  // left is all that is left
	left   int64 // steps

	late    bool
	refused error
	fault   error
	buf     []byte
}

// Over is what was copied of a stopped thread, over live, of which nil reads nothing. copied is the memory that a walk
// gives to runtimes; one that is no [mem.Overlay] is taken for the moment of the stop as a whole.
func Over(copied, live mem.Reader, b *work.Budget) View {
	o, ok := copied.(*mem.Overlay)
	if !ok && copied != nil {
		o = mem.NewOverlay(copied)
		o.Still = true
	}
	return View{copied: o, live: live, budget: b}
}

// Copied is ranges that were copied, and nothing else.
func Copied(b *work.Budget, ranges ...mem.Range) View {
	return View{copied: mem.NewOverlay(nil, ranges...), budget: b}
}

// Alone is what v has of the stop, and nothing else.
func (v *View) Alone() View { return View{copied: v.copied, budget: v.budget} }

// Lasting is memory of the running process that does not move and is not freed while the process lives: nothing that
// is read of it is late. So is the memory of a walk, which notes itself what was not copied. What live says that it
// holds, as one that lies over copies does, is charged as copied.
func Lasting(live mem.Reader, b *work.Budget) View {
	held, _ := live.(holder)
	return View{live: live, fixed: true, held: held, budget: b}
}

// holder is memory of which some was copied.
type holder interface {
	// Holds reports whether the n bytes at a were copied.
	Holds(a mem.Addr, n int) bool
}

// Stopped is the memory of a thread that is stopped: what is read of it f copies and keeps, at least span bytes at
// once, within its own budget. Reading allocates nothing but what f does.
func Stopped(f *snapshot.Fetcher, span int) View { return View{stop: f, span: span} }

// Source gives memory of a stopped process in a way of its own, as where many objects are read by few calls.
type Source interface {
	// Bytes returns the n bytes at a, false if they are not to be had. They are valid until the next call, and not to
	// be changed.
	Bytes(a mem.Addr, n int) ([]byte, bool)
	// Err is why nothing is read any more, nil if something is.
	Err() error
}

// From is the memory that s gives, which bounds it: all of it is of the moment of the stop.
func From(s Source) View { return View{from: s} }

// Within bounds what is read from now on to so many steps of those that the budget has: for one stack, one list, one
// object, so that none uses up what is there for all. A step is about a nanosecond.
func (v *View) Within(steps int64) { v.bound, v.left = true, steps }

// Left is how many steps are left of those that Within gave.
func (v *View) Left() int64 { return v.left }

// perStep is how many copied bytes are looked at in about the time that it takes to find them; a read of the running
// process is a system call of some hundred nanoseconds.
const (
	perStep  = 64
	liveCost = 512
)

// Held reports whether the n bytes at a were copied while the target stood still.
func (v *View) Held(a mem.Addr, n int) bool {
	switch {
	case v.stop != nil:
		_, ok := v.stop.Bytes(a, n)
		return ok
	case v.from != nil:
		_, ok := v.from.Bytes(a, n)
		return ok
	}
	return v.copied != nil && v.copied.Holds(a, n)
}

// Around returns the copied range that holds a, false if none does. Its bytes stay.
func (v *View) Around(a mem.Addr) (mem.Range, bool) {
	if v.copied == nil {
		return mem.Range{}, false
	}
	return v.copied.Around(a)
}

// TakeLate reports whether something was read since it was asked last that was not copied while the target stood
// still, and may have moved or been freed since.
func (v *View) TakeLate() bool {
	late := v.late
	v.late = false
	return late
}

// Refused is why nothing is read any more, nil if something is: the budget is spent, or the run was ended. It stays.
func (v *View) Refused() error {
	switch {
	case v.stop != nil:
		return v.stop.Err()
	case v.from != nil:
		return v.from.Err()
	}
	return v.refused
}

// Fault is why the last read failed that did, nil if none did.
func (v *View) Fault() error { return v.fault }

// Spend takes n steps besides those of reading, for loops over what was read. It is false if they are not left: then
// nothing is read any more.
func (v *View) Spend(n int64) bool {
	switch {
	case v.refused != nil:
	case v.bound && v.left < n:
		v.refused = work.ErrSpent
	case !v.budget.Spend(n):
		v.refused = v.budget.Refusal()
	default:
		v.left -= n
		return true
	}
	v.fault = v.refused
	return false
}

// Bytes returns the n bytes at a, false if they are not to be had: then [View.Fault] says why. They are valid until the
// next read, and not to be changed.
func (v *View) Bytes(a mem.Addr, n int) ([]byte, bool) {
	switch {
	case n < 0 || n > maxRead:
		v.fault = errLong
		return nil, false
	case v.stop != nil:
		return v.fetch(a, n)
	case v.from != nil:
		b, ok := v.from.Bytes(a, n)
		if !ok {
			v.fault = ErrNotCopied
		}
		return b, ok
	case !v.Spend(1 + int64(n)/perStep):
		return nil, false
	case v.copied != nil:
		if b, ok := v.copied.Bytes(a, n); ok {
			return b, true
		}
	}
	if cap(v.buf) < n {
		v.buf = make([]byte, n, max(n, 64))
	}
	if b := v.buf[:n]; v.fill(b, a) {
		return b, true
	}
	return nil, false // not what an earlier read has left
}

// Near returns a View of the n bytes at a, read at once, for several fields of one object: where they are not to be had
// that is v.
func (v *View) Near(a mem.Addr, n int) *View {
	b, ok := v.Bytes(a, n)
	if !ok {
		return v
	}
	near := Copied(nil, mem.Range{Start: a, Data: bytes.Clone(b)})
	return &near
}

// UpTo returns the bytes at a, n of them or as many as can be read without much ado: where not all can it tries less,
// up to where a page ends. They are valid as those of [View.Bytes] are.
func (v *View) UpTo(a mem.Addr, n int) []byte {
	const page = 4096
	for n > 0 && v.Refused() == nil {
		if b, ok := v.Bytes(a, n); ok {
			return b
		}
		half := a + mem.Addr(n/2)
		if end := (half + page - 1) &^ (page - 1); end < a+mem.Addr(n) {
			half = end
		} else if half = (a + mem.Addr(n) - 1) &^ (page - 1); half < a {
			break
		}
		n = int(half - a)
	}
	return nil
}

// maxRead bounds one read, bytes.
const maxRead = 64 << 20

var errLong = errors.New("it is too long to be read at once")

// fill reads what no single range holds.
func (v *View) fill(b []byte, a mem.Addr) bool {
	from := v.live
	switch {
	case v.copied != nil && v.copied.Holds(a, len(b)):
		from = v.copied
	case v.live == nil:
		v.fault = &mem.FaultError{Addr: a, Len: len(b), Err: ErrNotCopied}
		return false
	case (v.held == nil || !v.held.Holds(a, len(b))) && !v.Spend(liveCost+int64(len(b))):
		return false
	case !v.fixed:
		v.late = true
	}
	if _, err := from.ReadMem(b, a); err != nil {
		v.fault = err
		return false
	}
	return true
}

func (v *View) fetch(a mem.Addr, n int) ([]byte, bool) {
	b, ok := v.stop.Bytes(a, n)
	if !ok {
		v.stop.Fetch(snapshot.Want{Addr: a, Len: max(n, v.span)})
		if b, ok = v.stop.Bytes(a, n); !ok {
			v.fault = ErrNotCopied
		}
	}
	return b, ok
}

// ReadMem implements [mem.Reader]: all of b, or nothing.
func (v *View) ReadMem(b []byte, a mem.Addr) (int, error) {
	had, ok := v.Bytes(a, len(b))
	if !ok {
		return 0, v.fault
	}
	return copy(b, had), nil
}

// Uint reads an unsigned integer of 1, 2, 4 or 8 bytes.
func (v *View) Uint(a mem.Addr, size int) (uint64, error) {
	b, ok := v.Bytes(a, size)
	if !ok {
		return 0, v.fault
	}
	return decode(b), nil
}

// Word reads a word.
func (v *View) Word(a mem.Addr) (uint64, error) { return v.Uint(a, wordSize) }

const wordSize = 8

func decode(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// Words reads n words. The list is the caller's. It is all of them, or an error.
func (v *View) Words(a mem.Addr, n int) ([]uint64, error) {
	if n < 0 || n > maxRead/wordSize {
		return nil, errLong
	}
	b, ok := v.Bytes(a, n*wordSize)
	if !ok {
		return nil, v.fault
	}
	return WordsOf(b), nil
}

// WordsOf are the words of b, as many as it has whole.
func WordsOf(b []byte) []uint64 {
	out := make([]uint64, len(b)/wordSize)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[i*wordSize:])
	}
	return out
}

// Text reads the bytes at a up to a NUL, at most most of them: then whole is false. An error comes with what was read
// before it.
func (v *View) Text(a mem.Addr, most int) (text string, whole bool, err error) {
	const piece = 64 // no page ends within one
	var out []byte
	for len(out) <= most {
		b, ok := v.Bytes(a, piece-int(a%piece))
		if !ok {
			return string(out), false, v.fault
		}
		for i, c := range b {
			switch {
			case c == 0:
				return string(append(out, b[:i]...)), true, nil
			case len(out)+i == most:
				return string(append(out, b[:i]...)), false, nil
			}
		}
		out = append(out, b...)
		if a += mem.Addr(len(b)); a == 0 {
			return string(out), false, io.ErrUnexpectedEOF
		}
	}
	return string(out), false, nil
}
