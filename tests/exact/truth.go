package exact

import "slices"

// point is the part of a thread's registers that the truth is kept from.
type point struct {
	pc, sp uint64
}

// entry is one frame below the innermost: a return address that a call pushed, or the place
// where a signal interrupted.
type entry struct {
	slot uint64 // where the return address is; the frame is gone when SP is above it
	addr uint64 // return address, or the interrupted PC
	// signal says that addr was interrupted, and that the frame above it is the restorer's;
	// frame is where the kernel saved the registers: SP at the handler's entry.
	signal bool
	frame  uint64
	sp     uint64 // interrupted SP
	// floating says that the function took its return address off the stack and holds it
	// elsewhere (vfork, sigsetjmp of musl): the frame stays until SP passes the slot's end.
	floating bool
	// bridge is another stack whose frames are below this place of this one, and stand for its address; nil mostly.
	bridge *bridge
}

// Truth is the true chain of frames of one thread. It is not safe for concurrent use.
type Truth struct {
	word   uint64 // bytes of a return address
	link   bool   // a call leaves its return address in a register: its slot is SP at the call
	cur    *strand
	parked *parked
	steps  uint64
	// jumped is the step of the last change of SP that left frames without returning from
	// them: longjmp, an exception that lands, a switch to another stack.
	jumped uint64
	// inJump says that since then control has not gone on yet.
	inJump bool
	// calls says of an address where SP changes stacks whether that is like a call: the caller
	// waits on the stack that is left. Go's runtime does this. nil stands for never.
	calls func(pc uint64) bool
	// callsBack says so of one that such a call has led to, and which goes back to where a goroutine waits, to run code
	// above its frames as if it had called it.
	callsBack func(pc uint64) bool
	// owner is whose stack the code at an address goes on with for good, 0 for other code: see goroutine.go. nil stands
	// for never.
	owner func(pc uint64) uint64
	// Odd counts returns to another address than the call left; thunks and landings do this.
	Odd int
}

// newTruth begins a chain at a thread's first instruction. The threads of a process share the stacks that are left.
func newTruth(at point, word uint64, shared *parked) *Truth {
	return &Truth{word: word, cur: &strand{base: at.sp, low: at.sp}, parked: shared}
}

// clone returns a copy for a child that goes on with a copy of the stack, or with the same one.
func (t *Truth) clone() *Truth {
	c := *t
	c.cur = t.cur.clone()
	c.parked = &parked{}
	for _, s := range t.parked.strands {
		c.parked.strands = append(c.parked.strands, s.clone())
	}
	return &c
}

// step informs the Truth that the instruction in was at before and that the thread is at
// after. An instruction that did not run (a signal came first) leaves before and after alike.
func (t *Truth) step(in instruction, before, after point) {
	t.steps++
	switch {
	case t.link && before == after: // it did not run
	case in.kind == call && t.link:
		t.inJump = false
		t.cur.push(entry{slot: before.sp, addr: before.pc + uint64(in.len)})
	case in.kind == ret && t.link:
		t.linkReturned(after)
	case in.kind == call && after.sp == before.sp-t.word:
		t.inJump = false
		if !in.reads {
			t.cur.push(entry{slot: after.sp, addr: before.pc + uint64(in.len)})
		}
	case in.kind == ret && after.sp > before.sp:
		t.returned(before, after)
	case in.kind == pop && after.sp == before.sp+t.word && t.cur.topSlot() == before.sp:
		t.cur.top().floating = true
	case after.sp != before.sp:
		t.moved(in, before, after)
	case in.kind == jump && t.cur.top() != nil && t.floats(t.cur.top(), after):
		t.cur.pop() // an exception that lands: its slot held the handler's address
		t.inJump = false
	default:
		t.settle(after)
		if owner := t.ownerAt(before.pc); owner != 0 && in.kind == jump {
			t.inJump = false
			t.goOn(owner, after)
		} else if t.inJump && in.kind == jump {
			t.inJump = false
			t.land(after.sp)
		}
	}
}

// land drops the frames that control has left for a place with that SP. Where a call pushes nothing, those of calls
// that were made there have it as their slot, and whoever made a call has a frame.
func (t *Truth) land(sp uint64) {
	if t.link {
		sp++
	}
	t.cur.dropBelow(sp, 0)
}

// returned handles ret and ret n.
func (t *Truth) returned(before, after point) {
	t.inJump = false
	if after.sp == before.sp+t.word && t.findParked(after.sp) < 0 {
		t.cur.reach(after.sp)
	}
	if !t.cur.contains(before.sp, after.sp) && t.moveTo(after.sp) {
		return
	}
	if e := t.cur.top(); e != nil && e.slot == before.sp && e.addr != after.pc {
		t.Odd++
	}
	t.cur.dropBelow(after.sp, 0)
}

// linkReturned handles the return of a function whose return address a register held: SP is what it was at the call.
func (t *Truth) linkReturned(after point) {
	t.inJump = false
	switch e := t.cur.top(); {
	case e != nil && e.slot == after.sp && e.addr == after.pc:
		t.cur.pop()
	case e != nil && e.slot == after.sp:
		t.Odd++
		t.cur.pop()
	default: // it goes on elsewhere: a context is resumed so
		t.land(after.sp)
	}
}

// moved handles any other change of SP.
func (t *Truth) moved(in instruction, before, after point) {
	if !t.leaves(in, before, after) {
		t.cur.reach(after.sp)
		t.settle(after)
		if e := t.cur.top(); e != nil && after.sp > e.slot && !t.floats(e, after) {
			jump := !t.isAdjustOverOne(in, after)
			t.cur.dropBelow(after.sp, t.word)
			if jump {
				t.jump()
			}
		}
		return
	}
	left := t.cur
	left.low, left.next = before.sp, 0
	if e := left.top(); e != nil {
		left.next = e.addr
	}
	t.jump()
	callsBack := t.callsBack != nil && t.callsBack(before.pc)
	if callsBack && left.from != nil {
		left.from.low = min(left.from.low, after.sp) // below what the goroutine has used
	}
	t.moveTo(after.sp)
	back := left.from == t.cur
	switch {
	case callsBack:
		t.calledBack(left, after)
	case back || t.cur == left || t.cur.owner != 0:
	case t.calls != nil && t.calls(before.pc):
		t.cur.from, t.cur.depth, t.cur.fresh = left, len(t.cur.entries), false
	default:
		t.gaveUp(left)
	}
	left.from = nil
}

// isAdjustOverOne reports whether SP just stepped over the innermost return address, as a return
// thunk does with the address that its inner call left.
func (t *Truth) isAdjustOverOne(in instruction, after point) bool {
	return in.kind == adjust && after.sp == t.cur.topSlot()+t.word
}

// leaves reports whether the change of SP goes to another stack. A short way down is growth of
// the same one, however it was computed; hand-written code moves SP by up to 10 KB so. A very short one is, whatever is
// known of what lies there: no stack is left so near to its end.
func (t *Truth) leaves(in instruction, before, after point) bool {
	const growth, align = 32 << 10, 256
	switch {
	case in.kind == adjust, in.kind == pop && after.sp == before.sp+t.word,
		after.sp == before.sp-t.word: // a push
		return false
	case after.sp > before.sp:
		return after.sp > t.cur.base
	case t.ownerAt(before.pc) != 0:
		return true
	case before.sp-after.sp < align:
		return false
	}
	return before.sp-after.sp > growth || t.findParked(after.sp) >= 0
}

func (t *Truth) jump() { t.jumped, t.inJump = t.steps, true }

// floats reports whether SP is right above the slot of an entry that floats.
func (t *Truth) floats(e *entry, at point) bool {
	return e.floating && at.sp == e.slot+t.word
}

// settle brings an entry that floats to rest: its address was pushed again, or control went there.
func (t *Truth) settle(at point) {
	e := t.cur.top()
	if e == nil || !e.floating {
		return
	}
	switch {
	case at.sp <= e.slot:
		e.floating = false
	case at.pc == e.addr:
		t.cur.pop()
	}
}

// begun gives the Truth the word at SP when a fresh stack's first function is entered: if
// it is an address of code, that function will return there (makecontext does this).
func (t *Truth) begun(at point, word uint64, isCode bool) {
	t.cur.fresh = false
	if isCode {
		t.cur.push(entry{slot: at.sp, addr: word})
		t.cur.late = false
	}
}

// signal informs the Truth that the kernel entered a handler at the point at, having interrupted
// the thread at from; restorer is the address that the handler will return to.
func (t *Truth) signal(from, at point, restorer uint64) {
	const frameMax = 64 << 10 // xsave area with AMX: 11 KB
	t.inJump = false
	sig := entry{slot: from.sp - 1, addr: from.pc, signal: true, frame: at.sp, sp: from.sp}
	if at.sp < from.sp && from.sp-at.sp < frameMax {
		t.cur.push(sig)
	} else {
		t.cur.low = from.sp
		sig.slot = ^uint64(0) // on another stack: SP says nothing of the end
		t.cur = &strand{base: at.sp + frameMax, low: at.sp, under: t.cur, entries: []entry{sig}}
	}
	t.cur.push(entry{slot: at.sp, addr: restorer})
}

// linkRoom is what a handler takes on the stack to make the interrupted code call something, where a register has the
// return address: for what that register had.
// Source: sigctxt.pushCall in runtime/signal_arm64.go of the Go distribution.
const linkRoom = 16

// sigreturn informs the Truth that the kernel ended the innermost handler. pushed is where a function returns to that
// is entered there, for a handler that made its interrupted code call something.
func (t *Truth) sigreturn(after point, pushed uint64) {
	t.steps++
	for s := t.cur; s != nil; s = s.under {
		i := s.lastSignal()
		if i < 0 {
			continue
		}
		t.cur = s
		s.entries = s.entries[:i+1]
		e := *s.top()
		s.pop()
		if e.slot == ^uint64(0) && s.under != nil {
			t.cur = s.under
		}
		switch {
		case e.addr != pushed:
		case t.link && after.sp == e.sp-linkRoom:
			t.cur.push(entry{slot: e.sp, addr: pushed}) // when that returns SP is as it was
		case !t.link && after.sp == e.sp-t.word:
			t.cur.push(entry{slot: after.sp, addr: pushed})
		}
		if after.sp > t.cur.base {
			t.moveTo(after.sp)
		}
		if t.cur.dropBelow(after.sp, 0); after.pc != e.addr {
			t.land(after.sp) // the handler has changed where it leads
		}
		return
	}
}

// entering reports whether the instruction that just ran entered the first function of a fresh stack.
func (t *Truth) entering(in instruction) bool {
	return t.cur.fresh && (in.kind == ret || in.kind == jump)
}

// chain appends the true addresses to buf, innermost first.
func (t *Truth) chain(buf []uint64, pc uint64) []uint64 {
	buf = append(buf, pc)
	for s := t.cur; s != nil; {
		next, last := s.below()
		buf = s.addresses(buf, last)
		s = next
	}
	return buf
}

// begunLate reports whether the outermost frames of the chain are not known: SP came to that stack from elsewhere, and
// who waits there began before.
func (t *Truth) begunLate() bool {
	for s := t.cur; ; {
		next, _ := s.below()
		if next == nil {
			return s.late
		}
		s = next
	}
}

// signals calls f for each handler that runs, innermost first, until f returns true, and tells
// whether it did.
func (t *Truth) signals(f func(frame, pc, sp uint64) bool) bool {
	for s := t.cur; s != nil; s = s.under {
		for _, e := range slices.Backward(s.entries) {
			if e.signal && f(e.frame, e.addr, e.sp) {
				return true
			}
		}
	}
	return false
}
