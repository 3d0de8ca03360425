package exact

import "slices"

// Go's scheduler resumes a goroutine by a jump, and on another stack than the one that it has left if that was full or
// too large: the frames are the same there, each as far from the others. The memory that is left becomes the stack of
// another goroutine. So a strand that such a jump has led to has an owner, which tells it from others.

// ownerAt is t.owner of pc, 0 where there is none.
func (t *Truth) ownerAt(pc uint64) uint64 {
	if t.owner == nil {
		return 0
	}
	return t.owner(pc)
}

// goOn says that the owner of a stack goes on at a point, to which SP has been moved before.
func (t *Truth) goOn(owner uint64, at point) {
	slot := at.sp
	if !t.link {
		slot -= t.word
	}
	old := t.parked.take(owner)
	switch {
	case t.cur.owner == owner && t.cur.next == at.pc:
	case old != nil && old.next == at.pc && old.top() != nil:
		old.move(slot - old.top().slot)
		t.cur = old
	case t.cur.owner != 0: // of one that has ended
		t.cur = freshStrand(at.sp)
	}
	t.cur.owner = owner
	if e := t.cur.top(); e != nil && e.addr == at.pc && e.slot == slot {
		t.cur.pop() // the call that gave the thread away
	}
	t.parked.strands = slices.DeleteFunc(t.parked.strands, func(s *strand) bool {
		return s.owner != 0 && s.low <= t.cur.base && at.sp <= s.base
	})
}

// bridge stands on a goroutine's stack for the frames of C that called Go: they are on the thread's stack, above depth
// of its frames, and were called by the goroutine if called is set.
type bridge struct {
	addrs  []uint64 // innermost first
	depth  int
	called bool
}

// calledBack handles the way from C that Go has called, on the strand left, to Go on the goroutine's stack, and the way
// back.
func (t *Truth) calledBack(left *strand, after point) {
	switch {
	case t.cur.owner != 0 && left.owner == 0:
		_, first := left.below()
		t.cur.dropBelow(after.sp+1, 0)
		t.cur.push(entry{slot: after.sp, bridge: &bridge{
			addrs: left.addresses(nil, first), depth: left.depth, called: left.from == t.cur}})
	case t.cur.owner == 0 && left.owner != 0:
		for i, e := range slices.Backward(left.entries) {
			if e.bridge == nil {
				continue
			}
			left.entries = left.entries[:i]
			if e.bridge.called {
				t.cur.from, t.cur.depth = left, e.bridge.depth
			}
			return
		}
	}
}

// gaveUp handles the way of a goroutine that waits from its stack to the thread's, where the scheduler runs. If C
// called it, that is below on the thread's stack, and what called the C is below that.
func (t *Truth) gaveUp(left *strand) {
	for i, e := range slices.Backward(left.entries) {
		if e.bridge == nil {
			continue
		}
		if e.bridge.called {
			caller := left.clone() // which goes on as it is
			caller.entries = caller.entries[:i]
			t.cur.from, t.cur.depth = caller, e.bridge.depth
		}
		return
	}
}

// take removes the strand of that owner from those that nobody runs on, nil if there is none.
func (p *parked) take(owner uint64) *strand {
	i := slices.IndexFunc(p.strands, func(s *strand) bool { return s.owner == owner })
	if i < 0 {
		return nil
	}
	s := p.strands[i]
	p.strands = slices.Delete(p.strands, i, i+1)
	return s
}

// move says that the memory of s has gone elsewhere, so many bytes above.
func (s *strand) move(by uint64) {
	s.base, s.low = s.base+by, s.low+by
	for i := range s.entries {
		s.entries[i].slot += by
	}
}
