package hotspot

import (
	"strings"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
)

// Frames of compiled code on arm64, those too that are not built yet or are gone.

// compiledARM64 leaves a frame of code that says how large its frames are.
func (s *step) compiledARM64(b *codecache.Blob) (regs.Registers, error) {
	if err := s.givenUp(b); err != nil {
		return regs.Registers{}, err
	}
	if s.interrupted {
		edge := s.methodEdge
		if b.Kind == codecache.Stub {
			edge = s.stubEdgeARM64
		}
		if next, done, err := edge(b); done || err != nil {
			return next, err
		}
	}
	if b.FrameSize < 2*wordSize {
		return s.framelessARM64()
	}
	sender := s.sp + mem.Addr(b.FrameSize)
	switch {
	case s.interrupted:
		before, _ := s.copied()
		if up := sender + mem.Addr(pushedBefore(before)); s.proved(up - wordSize) {
			sender = up
		}
	case s.leaf:
		if b.Kind == codecache.Stub {
			s.act.building = s.replaces(b)
		}
		sender += mem.Addr(unpushed(arm64.Words(s.r.code().UpTo(s.pc, s.r.port.behind))))
	}
	usual := s.returns(sender-wordSize) && (!s.leaf || b.Kind != codecache.Compiled || s.proved(sender-wordSize) ||
		s.returnsToHeap(sender-wordSize))
	if !s.interrupted && s.leaf && (!usual || b.Kind == codecache.Compiled && !s.leadsOn(sender)) {
		if up := s.savedARM64(sender); up != 0 {
			return s.leave(up-wordSize, up, up-2*wordSize, false)
		}
	}
	if usual {
		return s.leave(sender-wordSize, sender, sender-2*wordSize, false)
	}
	return regs.Registers{}, errCaller
}

// returnsToHeap reports whether the word at a may lead to what a virtual thread returns to whose older frames are in
// the heap: no call comes before that.
// Source: generate_cont_returnBarrier in stubGenerator_aarch64.cpp.
func (s *step) returnsToHeap(a mem.Addr) bool {
	ra, err := s.link(a)
	if err != nil || s.j.version < firstVirtual || s.j.interprets(ra) {
		return false
	}
	b, err := s.r.blobAt(s.v, s.j, ra)
	return err == nil && strings.Contains(b.Name, "ontinuation")
}

// pushedBefore is by how much the instructions before have lowered the stack pointer of a frame that is there, bytes:
// what is pushed for a call is taken off again behind it.
func pushedBefore(before []arm64.Inst) (n int64) {
	large := false // the record of a large frame was saved, and the rest comes
	for _, i := range before {
		if _, moves, ok := i.SavesRecord(); ok {
			n, large = 0, moves
			continue
		}
		_, adds := i.AddsSP()
		if i.IsJump() || large && (adds || addsRegister(i)) {
			n, large = 0, false
		} else if pushed, ok := i.Pushes(); ok {
			n += pushed
		} else if up, ok := raises(i); ok {
			n = max(0, n-up)
		}
	}
	return n
}

// raises is by how much i raises the stack pointer.
func raises(i arm64.Inst) (n int64, ok bool) {
	if n, ok = i.AddsSP(); !ok {
		n, ok = i.Pops()
	}
	return n, ok
}

// unpushed is how much code behind a call takes off the stack at once, bytes: what was pushed for the call. What takes
// the frame down is none of that.
// Source: MachCallRuntime in aarch64.ad, which leaves a trace for the JVM; emit_typecheck_helper in
// c1_LIRAssembler_aarch64.cpp.
func unpushed(code []arm64.Inst) (n int64) {
	for k, i := range code {
		more, ok := raises(i)
		if _, _, leaves := i.LoadsRecord(); !ok || more <= 0 || leaves || k+1 < len(code) && code[k+1] == popsRecord {
			return n
		}
		n += more
	}
	return n
}

// savedARM64 is the caller's stack pointer where code has saved registers before the call that it is in, 0 if it has
// not: what takes them off again follows the call.
func (s *step) savedARM64(sender mem.Addr) mem.Addr {
	off := int64(0)
	for _, i := range arm64.Words(s.r.code().UpTo(s.pc, saveArea)) {
		if _, _, leaves := i.LoadsRecord(); leaves {
			return 0
		}
		more, ok := raises(i)
		if !ok || more <= 0 {
			continue
		}
		off += more
		up := sender + mem.Addr(off)
		if up <= s.sp || up-s.sp > maxFrame {
			return 0
		}
		if s.proved(up-wordSize) && s.leadsOn(up) {
			return up
		}
	}
	return 0
}

// methodEdge leaves a frame of a method that is not built yet, or is gone. done is false where it is complete.
func (s *step) methodEdge(b *codecache.Blob) (next regs.Registers, done bool, err error) {
	from := b.Code.Entry
	if s.osr(b) {
		from = b.Code.OSREntry
	}
	switch n := s.pc - from; {
	case s.pc <= from: // the check of the receiver comes before it
		next, err = s.atReturn(s.sp)
		return next, true, err
	case s.pc >= b.Complete && !s.osr(b), n > mem.Addr(s.r.port.before) && s.osr(b):
	case n > mem.Addr(s.r.port.before):
		return next, false, errCaller
	default:
		code, ok := s.v.Bytes(from, int(n))
		if !ok {
			return next, false, errCaller
		}
		next, done, err = s.inPrologue(arm64.Words(code))
		if done || err != nil || s.pc < b.Complete {
			return next, done, err
		}
	}
	before, behind := s.copied()
	if up, ok := taken(before, behind); ok {
		next, err = s.atReturn(s.sp + mem.Addr(up))
		return next, true, err
	}
	if len(behind) > 0 && behind[0] == popsRecord { // of a large frame the rest is gone
		next, err = s.leave(s.sp+wordSize, s.sp+2*wordSize, s.sp, false)
		return next, true, err
	}
	return next, false, nil
}

// atReturn leaves compiled code whose frame is not there, with that stack pointer of the caller.
func (s *step) atReturn(sp mem.Addr) (regs.Registers, error) {
	ra := s.linked()
	if !s.leadsTo(ra) {
		return regs.Registers{}, errCaller
	}
	return s.leaveTo(ra, sp, 0, false)
}

// inPrologue leaves a frame that the instructions of its method up to PC have not completed. done is false where they
// have.
func (s *step) inPrologue(code []arm64.Inst) (next regs.Registers, done bool, err error) {
	switch up, pushed, whole := buildsFrame(code); {
	case whole:
		return next, false, nil
	case pushed:
		next, err = s.leave(s.sp+wordSize, s.sp+2*wordSize, s.sp, false)
	default:
		next, err = s.atReturn(s.sp + mem.Addr(up))
	}
	return next, true, err
}

// buildsFrame executes what builds a frame: sub sp, sp, #n; stp x29, x30, [sp, #n-16], or of a large one stp x29, x30,
// [sp, #-16]!; sub sp. up is how far above SP the caller's stack pointer is while x30 has the return address; pushed
// says that the record is all that there is of the frame; whole that it is complete.
func buildsFrame(code []arm64.Inst) (up int64, pushed, whole bool) {
	for _, i := range code {
		if _, before, ok := i.SavesRecord(); ok {
			if pushed = before; !before {
				return 0, false, true
			}
			continue
		}
		n, ok := i.AddsSP()
		switch {
		case ok && n < 0 && !pushed:
			up -= n
		case ok && n < 0, pushed && addsRegister(i):
			return 0, false, true
		}
	}
	return up, pushed, false
}

// taken reports whether a frame was taken down and code is about to return, to poll, or to go on to a stub: ldp x29,
// x30, [sp, #n] was before. up is how far above SP the caller's stack pointer is.
func taken(before, behind []arm64.Inst) (up int64, ok bool) {
	const longest = 10
	if notesPoll(before, behind) {
		return 0, true
	}
	last := before[max(0, len(before)-longest):]
	k, moves := len(last)-1, false
	for ; ; k-- {
		if k < 0 || last[k].IsJump() || last[k].IsCall() {
			return 0, false
		}
		if up, moves, ok = last[k].LoadsRecord(); ok {
			break
		}
	}
	if moves {
		return 0, true
	}
	up += 2 * wordSize
	for _, i := range last[k+1:] {
		if n, ok := i.AddsSP(); ok {
			up -= n
		}
		if addsRegister(i) {
			return 0, false
		}
	}
	return up, up >= 0
}

// notesPoll reports whether code is what a method goes to that has taken its frame down and is to come to a safepoint:
// adr x8, place; str x8, [x28, #n]; b or a jump through x8.
// Source: C2SafepointPollStub::emit and C1SafepointPollStub::emit_code in src/hotspot/cpu/aarch64.
func notesPoll(before, behind []arm64.Inst) bool {
	all := append(append([]arm64.Inst{}, before[max(0, len(before)-4):]...), behind...)
	at := len(all) - len(behind)
	for k := max(0, at-4); k <= at && k+2 < len(all); k++ {
		adr := all[k]&0x9f00001f == 0x10000008
		if adr && all[k+1]&0xffc003ff == 0xf9000388 { // str x8, [x28, #n]
			if jump := all[k+2]; jump>>26 == 5 || jump&0x9f00001f == 0x90000008 {
				return !anyJump(all[k:at])
			}
		}
	}
	return false
}

func anyJump(code []arm64.Inst) bool {
	for _, i := range code {
		if i.IsJump() {
			return true
		}
	}
	return false
}

// stubEdgeARM64 leaves a stub with a frame, where that is not built yet or is gone.
func (s *step) stubEdgeARM64(b *codecache.Blob) (next regs.Registers, done bool, err error) {
	if s.replaces(b) {
		return next, false, errReplaces
	}
	if code := s.blobCode(b.Begin, b.End); code != nil {
		next, done = s.byCode(code, b)
	}
	if at := s.polled(b); done && at != 0 {
		next.Set(regs.ARM64PC, uint64(at))
	}
	return next, done, nil
}

// polled is where a method is that has met a safepoint, whose stub was come to by a signal and has not noted that
// itself: the JVM has, in the thread. x30 is left over.
// Source: SharedRuntime::generate_handler_blob in sharedRuntime_aarch64.cpp.
func (s *step) polled(b *codecache.Blob) mem.Addr {
	const longest, notes = 2 << 10, 0xf90007b4 // str x20, [x29, #8]
	if s.pc < b.Begin || s.pc >= b.End || b.End-b.Begin > longest {
		return 0
	}
	data, ok := s.r.code().Bytes(b.Begin, int(b.End-b.Begin))
	if !ok {
		return 0
	}
	code := arm64.Words(data)
	for k := 1; k < len(code); k++ {
		loads := code[k-1]
		if code[k] != notes || loads&0xffc003ff != 0xf9400394 { // ldr x20, [x28, #n]
			continue
		}
		at, err := s.v.Word(s.register(thread) + mem.Addr(loads>>10&0xfff*wordSize))
		if err != nil || s.pc > b.Begin+mem.Addr(k*instruction) {
			return 0
		}
		return mem.Addr(at)
	}
	return 0
}

// thread is the register of the JavaThread.
const thread regs.Reg = 28

// replaces reports whether a stub has taken down the frame of code that is given up, to build others in its place: what
// is on the stack is no frame until they are there.
// Source: generate_deopt_blob and generate_uncommon_trap_blob in sharedRuntime_aarch64.cpp.
func (s *step) replaces(b *codecache.Blob) bool {
	const longest, near = 8 << 10, 24
	const takesDown = 0x8b2263ff // add sp, sp, x2
	if s.pc < b.Begin || s.pc >= b.End || b.End-b.Begin > longest {
		return false
	}
	data, ok := s.r.code().Bytes(b.Begin, int(b.End-b.Begin))
	if !ok {
		return false
	}
	code := arm64.Words(data)
	for at, i := range code {
		if i != takesDown {
			continue
		}
		own := at // the stub's own frame is taken down just before
		for k := at - 1; k >= max(0, at-near); k-- {
			if n, ok := code[k].AddsSP(); ok && n > 0 {
				own = k
				break
			}
		}
		return s.pc > b.Begin+mem.Addr(own*instruction)
	}
	return false
}
