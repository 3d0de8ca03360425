package exact

import "slices"

// strand is one stack with the frames on it. A thread has several where it uses coroutines
// or an alternate signal stack.
type strand struct {
	base    uint64 // highest SP
	low     uint64 // SP when it was left
	next    uint64 // innermost return address then, 0 for none
	entries []entry
	late    bool    // it was found in use: what is outermost there is not known
	fresh   bool    // its first function has not been entered
	owner   uint64  // whose stack it is, 0 if nothing tells: see goroutine.go
	under   *strand // the stack that a signal interrupted to run its handler here
	// from is the stack that a function left to go on here as if it had called: the first depth
	// entries are below it, and stand for nothing meanwhile.
	from  *strand
	depth int
}

// parked are the stacks of a process that nobody runs on: another thread may go on there.
type parked struct{ strands []*strand }

func (s *strand) clone() *strand {
	if s == nil {
		return nil
	}
	c := *s
	c.entries = slices.Clone(s.entries)
	c.under = s.under.clone()
	c.from = s.from.clone()
	return &c
}

func (s *strand) push(e entry) { s.entries = append(s.entries, e) }
func (s *strand) pop()         { s.entries = s.entries[:len(s.entries)-1] }

// top returns the innermost entry, nil if there is none.
func (s *strand) top() *entry {
	if len(s.entries) == 0 {
		return nil
	}
	return &s.entries[len(s.entries)-1]
}

// topSlot returns the slot of the innermost entry, 0 if there is none.
func (s *strand) topSlot() uint64 {
	if e := s.top(); e != nil {
		return e.slot
	}
	return 0
}

// below returns the stack that the frames of s go on with, and the index of the last of them.
func (s *strand) below() (*strand, int) {
	if s.from != nil {
		return s.from, min(s.depth, len(s.entries))
	}
	return s.under, 0
}

// reach says that SP came to a place above all before, where it was not known how far the strand goes.
func (s *strand) reach(sp uint64) {
	if s.late {
		s.base = max(s.base, sp)
	}
}

// contains reports whether SP may go from one value to the other on this strand.
func (s *strand) contains(from, to uint64) bool { return from <= to && to <= s.base }

// dropBelow drops the frames that SP has left. One that floats stays while SP is within
// word bytes of its slot.
func (s *strand) dropBelow(sp, word uint64) {
	for len(s.entries) > 0 {
		e := s.top()
		if e.slot >= sp || (e.floating && word > 0 && sp == e.slot+word) {
			return
		}
		s.pop()
	}
}

// addresses appends the return addresses of the frames from the first on, innermost first.
func (s *strand) addresses(buf []uint64, first int) []uint64 {
	for _, e := range slices.Backward(s.entries[first:]) {
		if e.bridge != nil {
			buf = append(buf, e.bridge.addrs...)
		} else {
			buf = append(buf, e.addr)
		}
	}
	return buf
}

// lastSignal returns the index of the innermost signal entry, -1 if there is none.
func (s *strand) lastSignal() int {
	for i, e := range slices.Backward(s.entries) {
		if e.signal {
			return i
		}
	}
	return -1
}

// moveTo makes the strand that holds sp the current one, and makes a new one if none does.
// It is false if the current strand stays.
func (t *Truth) moveTo(sp uint64) bool {
	for s := t.cur.under; s != nil; s = s.under {
		if s.low <= sp && sp <= s.base {
			t.cur = s
			s.dropBelow(sp, 0)
			return true
		}
	}
	if i := t.findParked(sp); i >= 0 {
		s := t.parked.strands[i]
		t.parked.strands[i] = t.cur
		t.parked.settle(t.cur)
		t.cur = s
		s.dropBelow(sp, 0)
		return true
	}
	// The number of strands is bounded by what test programs make; the oldest is forgotten.
	const maxParked = 256
	if len(t.parked.strands) == maxParked {
		t.parked.strands = t.parked.strands[1:]
	}
	t.parked.strands = append(t.parked.strands, t.cur)
	t.parked.settle(t.cur)
	t.cur = freshStrand(sp)
	return true
}

// settle forgets what was thought to be other stacks where s is, which was found in use as they were.
func (p *parked) settle(s *strand) {
	p.strands = slices.DeleteFunc(p.strands, func(o *strand) bool {
		return o != s && o.late && s.late && o.low <= s.base && s.low <= o.base
	})
}

// freshBase is how far above its first SP a new stack may reach: a switch pops saved registers
// and the address of the first function.
const freshBase = 256

func freshStrand(sp uint64) *strand {
	return &strand{base: sp + freshBase, low: sp, late: true, fresh: true}
}

func (t *Truth) findParked(sp uint64) int {
	return slices.IndexFunc(t.parked.strands, func(s *strand) bool { return s.low <= sp && sp <= s.base })
}
