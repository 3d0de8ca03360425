package hotspot

import (
	"encoding/binary"
	"strings"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
)

// onARM64 is what HotSpot does on arm64. A call leaves its return address in x30, and code has that until it calls;
// what is called keeps its record at the upper end of its frame. The interpreter has a stack pointer of its own, x20,
// for what Java pushes.
// Sources, in src/hotspot/cpu/aarch64: frame_aarch64.hpp; generate_call_stub in stubGenerator_aarch64.cpp;
// templateInterpreterGenerator_aarch64.cpp; MacroAssembler::build_frame and remove_frame. Encodings: Arm Architecture
// Reference Manual for A-profile, C6.2.
var onARM64 = port{
	arch:     regs.ARM64,
	method:   12,
	bytecode: 22,
	saved: map[regs.Reg]int{19: 9, 20: 10, 21: 11, 22: 12, 23: 13, 24: 14, 25: 15, 26: 16, 27: 17,
		28: 18},
	bcpSlot: func(version int) int {
		if version == oldest { // JDK 9 put the mirror of the class and a word in between
			return 7
		}
		return 9
	},
	resetsSP: true,
	shifted:  16, // src/hotspot/cpu/aarch64/gc/z
	before:   256, behind: 64,
	calls: func(code []byte) bool { return isCall(word(code)) }, maxCall: instruction,
	interpreted: (*step).interpretedARM64, frameless: (*step).framelessARM64,
	compiled: (*step).compiledARM64, wrapper: (*step).wrapperARM64, routine: (*step).routineARM64,
}

const instruction = 4 // bytes

func word(code []byte) uint32 { return binary.LittleEndian.Uint32(code) }

// The instructions that are told apart.

// isCall reports whether i is bl, blr or one that checks the address.
func isCall(i uint32) bool { return i>>26 == 0x25 || i&0xfefff000 == 0xd63f0000 }

// savesRecord reports whether i is stp x29, x30, [sp, #n]; before says that it moves the stack pointer by that.
func savesRecord(i uint32) (n int64, before, ok bool) {
	return pairOffset(i), i&(1<<23) != 0, i&0xff407fff == 0xa9007bfd
}

// loadsRecord reports whether i is ldp x29, x30, [sp, #n] or [sp], #n.
func loadsRecord(i uint32) bool { return i&0xfe407fff == 0xa8407bfd }

const (
	popsRecord = 0xa8c17bfd // ldp x29, x30, [sp], #16
	setsFP     = 0x910003fd // mov x29, sp
	ret        = 0xd65f03c0
)

// pairOffset is that of stp and ldp of 64 bits, bytes.
func pairOffset(i uint32) int64 { return int64(int32(i<<10)>>25) * wordSize }

// movesSP is by how much i raises the stack pointer: add or sub sp, sp, #n.
func addsSP(i uint32) (n int64, ok bool) {
	if i&0xbf8003ff != 0x910003ff {
		return 0, false
	}
	n = int64(i>>10&0xfff) << (12 * (i >> 22 & 1))
	if i>>30&1 == 1 {
		n = -n
	}
	return n, true
}

// addsRegister reports whether i is add sp, sp, x or sub sp, sp, x.
func addsRegister(i uint32) bool { return i&0xbfe0fc1f == 0x8b20601f && i>>5&31 == 31 }

// pops is by how much i, which loads registers, raises the stack pointer.
func popped(i uint32) (n int64, ok bool) {
	switch {
	case i&0x3fc003e0 == 0x28c003e0, i&0x3fc003e0 == 0x2cc003e0: // ldp of x, d or q, [sp], #n
		scale := []int64{4, 8, 16, 0}[i>>30]
		if i&(1<<26) == 0 {
			scale = []int64{4, 4, 8, 0}[i>>30]
		}
		return int64(int32(i<<10)>>25) * scale, true
	case i&0xffe00fe0 == 0xf84007e0, i&0xffe00fe0 == 0xfc4007e0: // ldr x, or d
		return int64(int32(i<<11) >> 23), true
	}
	return 0, false
}

// isJump reports whether no instruction follows i: b, br, ret and those that check the address.
func isJump(i uint32) bool {
	return i>>26 == 5 || i&0xfefff000 == 0xd61f0000 || i&0xfffff000 == 0xd65f0000
}

// copied is the code before PC and from PC on.
func (s *step) copied() (before, behind []uint32) {
	p := s.r.port
	code, ok := s.v.Bytes(s.pc-mem.Addr(p.before), p.before+p.behind)
	if !ok {
		return nil, words(s.v.UpTo(s.pc, p.behind))
	}
	return words(code[:p.before]), words(code[p.before:])
}

func words(code []byte) []uint32 {
	out := make([]uint32, len(code)/instruction)
	for i := range out {
		out[i] = word(code[i*instruction:])
	}
	return out
}

// blobCode is the code of a piece that is never freed, nil if it cannot be read.
func (s *step) blobCode(start, end mem.Addr) *arm64.Code {
	const most = 256 << 10
	if end <= start || end-start > most {
		return nil
	}
	data, ok := s.r.code().Bytes(start, int(end-start))
	if !ok {
		return nil
	}
	return &arm64.Code{Start: uint64(start), Data: data, Budget: s.r.budget}
}

// linked is the return address in x30, without what signs it.
func (s *step) linked() mem.Addr {
	return mem.Addr(regs.StripPAC(uint64(s.register(regs.ARM64LR)), s.r.pac))
}

// senders are the registers in which the stack pointer of the caller is passed on, as adapters change it: x13 up to JDK
// 20, then x19; and x20 where the interpreter returns.
var senders = [...]regs.Reg{13, 19, 20}

// atLink leaves code whose caller is in the link register ra, with the frame pointer of now. The stack pointer of the
// caller is that of now, or one that was passed on: the one by which the caller's own frame leads on.
func (s *step) atLink(ra, saved mem.Addr) (regs.Registers, error) {
	if !s.j.made(ra) || !s.j.made(ra-1) {
		return regs.Registers{}, errCaller
	}
	if ra == s.j.returns || s.j.interprets(ra) {
		return s.leaveTo(ra, s.sp, saved, false)
	}
	for i := range 1 + len(senders) {
		sp := s.sp
		if i > 0 {
			sp = s.register(senders[i-1])
		}
		if sp >= s.sp && sp-s.sp < maxFrame && sp%(2*wordSize) == 0 && s.frameAt(ra, sp) {
			return s.leaveTo(ra, sp, saved, false)
		}
	}
	return regs.Registers{}, errCaller
}

// frameAt reports whether code that is returned to at ra has a frame at sp that leads on.
func (s *step) frameAt(ra, sp mem.Addr) bool {
	b, err := s.r.blobAt(s.v, s.j, ra)
	if err != nil || b.FrameSize < 2*wordSize {
		return false
	}
	up := sp + mem.Addr(b.FrameSize)
	return s.proved(up-wordSize) && s.leadsOn(up)
}

// byRow leaves a frame as a row says.
func (s *step) byRow(row *cfi.Row) (regs.Registers, error) {
	base, known := s.now.Get(regs.Reg(row.CFA.Reg))
	if row.CFA.Kind != cfi.Register || !known {
		return regs.Registers{}, errCaller
	}
	cfa := mem.Addr(int64(base) + row.CFA.N)
	if cfa < s.sp || cfa-s.sp > maxFrame {
		return regs.Registers{}, errStack
	}
	next := regs.New(s.now.Arch)
	value := func(reg regs.Reg, rule cfi.Rule) error {
		v, known := uint64(0), false
		switch rule.Kind {
		case cfi.Unspecified:
			v, known = s.now.Get(reg)
		case cfi.Register:
			v, known = s.now.Get(regs.Reg(rule.Reg))
		case cfi.Offset:
			w, err := s.v.Word(mem.Addr(int64(cfa) + rule.N))
			if err != nil {
				return err
			}
			v, known = w, true
		case cfi.Expression:
			base, off := savedAt(rule.Expr)
			if sp, ok := s.now.Get(base); ok {
				w, err := s.v.Word(mem.Addr(int64(sp) + off))
				if err != nil {
					return err
				}
				v, known = w, true
			}
		}
		if known {
			next.Set(reg, v)
		}
		return nil
	}
	for _, reg := range regs.ARM64.Callee {
		rule := cfi.Rule{}
		for i := range row.Regs {
			if row.Regs[i].Reg == uint64(reg) {
				rule = row.Regs[i].Rule
			}
		}
		if err := value(reg, rule); err != nil {
			return next, err
		}
	}
	if err := value(regs.ARM64LR, row.RA); err != nil {
		return next, err
	}
	link, known := next.Get(regs.ARM64LR)
	ra := mem.Addr(regs.StripPAC(link, s.r.pac))
	if !known || !s.leadsTo(ra) {
		return next, errCaller
	}
	next.Forget(regs.ARM64LR)
	next.Set(regs.ARM64PC, uint64(ra))
	next.Set(regs.ARM64SP, uint64(cfa))
	return next, nil
}

// savedAt reads the expression by which a row of code/arm64 says where a register is saved: DW_OP_breg and how far from
// that. Others give a register that is never known.
func savedAt(expr []byte) (base regs.Reg, off int64) {
	const breg0, short = 0x70, 0x40
	if len(expr) != 2 || expr[0] < breg0 || expr[0] >= breg0+32 || expr[1] >= 2*short {
		return regs.NoReg, 0
	}
	return regs.Reg(expr[0] - breg0), int64(expr[1]&(short-1)) - int64(expr[1]&short)
}

// leadsTo reports whether ra is in code of the JVM: what it made, or its own.
func (s *step) leadsTo(ra mem.Addr) bool {
	return s.j.made(ra) && s.j.made(ra-1) || s.r.m != nil && ra > s.r.m.Start() && ra < s.r.m.End()
}

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
		sender += mem.Addr(unpushed(words(s.r.code().UpTo(s.pc, s.r.port.behind))))
	}
	usual := s.returns(sender-wordSize) && (!s.leaf || b.Kind != codecache.Compiled || s.proved(sender-wordSize))
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

// pushedBefore is by how much the instructions before have lowered the stack pointer of a frame that is there, bytes:
// what is pushed for a call is taken off again behind it.
func pushedBefore(before []uint32) (n int64) {
	large := false // the record of a large frame was saved, and the rest comes
	for _, i := range before {
		if _, moves, ok := savesRecord(i); ok {
			n, large = 0, moves
			continue
		}
		switch moved, ok := addsSP(i); {
		case isJump(i), large && (ok || addsRegister(i)):
			n, large = 0, false
			continue
		case i&0xffc003e0 == 0xa98003e0: // stp xA, xB, [sp, #-n]!
			n -= pairOffset(i)
			continue
		case ok:
			n = max(0, n-moved)
			continue
		}
		if moved, ok := popped(i); ok {
			n = max(0, n-moved)
		}
	}
	return n
}

// unpushed is how much code behind a call takes off the stack at once, bytes: what was pushed for the call. What takes
// the frame down is none of that.
// Source: MachCallRuntime in aarch64.ad, which leaves a trace for the JVM; emit_typecheck_helper in
// c1_LIRAssembler_aarch64.cpp.
func unpushed(code []uint32) (n int64) {
	for k, i := range code {
		more, ok := addsSP(i)
		if !ok {
			more, ok = popped(i)
		}
		if !ok || more <= 0 || loadsRecord(i) || k+1 < len(code) && code[k+1] == popsRecord {
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
	for _, i := range words(s.r.code().UpTo(s.pc, saveArea)) {
		more, ok := addsSP(i)
		if !ok {
			more, ok = popped(i)
		}
		switch {
		case loadsRecord(i):
			return 0
		case !ok || more <= 0:
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
		next, done, err = s.inPrologue(words(code))
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
func (s *step) inPrologue(code []uint32) (next regs.Registers, done bool, err error) {
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
func buildsFrame(code []uint32) (up int64, pushed, whole bool) {
	for _, i := range code {
		if _, before, ok := savesRecord(i); ok {
			if pushed = before; !before {
				return 0, false, true
			}
			continue
		}
		n, ok := addsSP(i)
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
func taken(before, behind []uint32) (up int64, ok bool) {
	const longest = 10
	if notesPoll(before, behind) {
		return 0, true
	}
	last := before[max(0, len(before)-longest):]
	k := len(last) - 1
	for ; ; k-- {
		switch {
		case k < 0 || isJump(last[k]) || isCall(last[k]):
			return 0, false
		case !loadsRecord(last[k]):
			continue
		}
		break
	}
	if last[k]&0xffc00000 == 0xa8c00000 { // it moved the stack pointer
		return 0, true
	}
	up = pairOffset(last[k]) + 2*wordSize
	for _, i := range last[k+1:] {
		if n, ok := addsSP(i); ok {
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
func notesPoll(before, behind []uint32) bool {
	all := append(append([]uint32{}, before[max(0, len(before)-4):]...), behind...)
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

func anyJump(code []uint32) bool {
	for _, i := range code {
		if isJump(i) {
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
	code := words(data)
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
	code := words(data)
	for at, i := range code {
		if i != takesDown {
			continue
		}
		own := at // the stub's own frame is taken down just before
		for k := at - 1; k >= max(0, at-near); k-- {
			if n, ok := addsSP(code[k]); ok && n > 0 {
				own = k
				break
			}
		}
		return s.pc > b.Begin+mem.Addr(own*instruction)
	}
	return false
}

// wrapperARM64 leaves code that calls a native method.
func (s *step) wrapperARM64(b *codecache.Blob) (regs.Registers, error) {
	switch {
	case b.FrameSize == 0: // it jumps on to what a method handle is of
		return s.framelessARM64()
	case s.interrupted:
		if next, done, err := s.methodEdge(b); done || err != nil {
			return next, err
		}
	}
	if s.fp >= s.sp && s.fp-s.sp < maxFrame && s.returns(s.fp+wordSize) {
		return s.byFramePointer()
	}
	return s.compiledARM64(b)
}

// framelessARM64 leaves an adapter, or another piece without a frame: what called is in x30. An adapter has a record
// while it calls C++, to have its caller's call changed.
// Source: gen_c2i_adapter in sharedRuntime_aarch64.cpp.
func (s *step) framelessARM64() (regs.Registers, error) {
	if !s.interrupted {
		return s.byFramePointer()
	}
	before, _ := s.copied()
	for k := len(before) - 1; k >= 0 && !isJump(before[k]); k-- {
		n, moves, ok := savesRecord(before[k])
		switch {
		case loadsRecord(before[k]):
			return s.atLink(s.linked(), 0)
		case before[k] == setsFP:
			return s.byFramePointer()
		case ok && moves && n == -2*wordSize && k == len(before)-1:
			return s.leave(s.sp+wordSize, s.sp+2*wordSize, s.sp, false)
		}
	}
	return s.atLink(s.linked(), 0)
}

// routineARM64 leaves a piece of assembly whose frame nobody describes: its instructions say where the caller is, from
// where it begins, or if there are many in one, from PC to where it returns.
func (s *step) routineARM64(b *codecache.Blob) (regs.Registers, error) {
	code := s.blobCode(b.Begin, b.End)
	if code == nil {
		return regs.Registers{}, errCaller
	}
	if _, _, called := code.CallBefore(uint64(s.pc)); s.interrupted || called {
		if next, ok := s.byCode(code, b); ok {
			return next, nil
		}
	}
	if s.interrupted {
		return regs.Registers{}, errCaller
	}
	return s.toEntry()
}

// byCode leaves b as its instructions say.
func (s *step) byCode(code *arm64.Code, b *codecache.Blob) (next regs.Registers, ok bool) {
	var row cfi.Row
	if !strings.HasPrefix(b.Name, "StubRoutines") {
		pc := uint64(s.pc)
		if !s.interrupted {
			pc-- // in the call
		}
		if row, ok = code.FromEntry(code.Start, code.End(), pc); ok {
			if next, err := s.byRow(&row); err == nil {
				return next, true
			}
		}
	}
	if row, ok = code.Forward(uint64(s.pc), !s.interrupted); !ok {
		return next, false
	}
	next, err := s.byRow(&row)
	return next, err == nil
}

// interpretedARM64 leaves a frame of the interpreter.
func (s *step) interpretedARM64() (regs.Registers, error) {
	c := s.j.codelet(s.pc)
	if isMathEntry(c) {
		return s.mathARM64(c)
	}
	data, ok := []byte(nil), false
	if c != nil && s.pc >= c.Start {
		data, ok = s.r.code().Bytes(c.Start, int(c.End-c.Start))
	}
	if !ok {
		return s.builtFrame()
	}
	code := words(data)
	at := min(int(s.pc-c.Start)/instruction, len(code))
	if link, ok := unlinked(code, at); ok {
		return s.leaveUnlinked(link)
	}
	if !strings.Contains(c.Name, entryPoint) {
		return s.builtFrame()
	}
	e, record := enters(code[:at])
	if e == entered {
		if record { // its own is below
			fp, err := s.v.Word(s.fp)
			if err != nil {
				return regs.Registers{}, err
			}
			s.fp = mem.Addr(fp)
		}
		return s.builtFrame()
	}
	s.act.method = s.register(s.r.port.method)
	switch {
	case record:
		ra, err := s.link(s.fp + wordSize)
		if err != nil || s.fp < s.sp {
			return regs.Registers{}, errStack
		}
		return s.atLink(ra, s.fp)
	case !s.interrupted:
		return regs.Registers{}, errStack
	case e == chained:
		return s.atLink(s.linked(), s.fp)
	}
	return s.atLink(s.linked(), 0)
}

// entry is how far a method has been entered.
type entry uint8

const (
	outside entry = iota // its caller is in x30, and the frame pointer is the caller's
	chained              // the frame pointer is its own
	entered              // its frame is there
)

// enters executes the code of an entry of the interpreter up to a place. record says that it has a record of its own
// there, for a barrier that calls C++: fast ways do that before the frame is built, native methods when it is.
// Source: generate_normal_entry, generate_fixed_frame and generate_Reference_get_entry.
func enters(code []uint32) (e entry, record bool) {
	offset := int64(0)
	for _, i := range code {
		switch n, before, ok := savesRecord(i); {
		case ok && before:
			offset = 0
		case ok:
			offset = n
		case i == setsFP:
			record = true
		case i == popsRecord:
			record = false
		case offset > 0 && i == setsFP|uint32(offset)<<10 && e == outside: // add x29, sp, #n
			e = chained
		case e == chained && i&0xffc003ff == 0xa90003ff: // stp xzr, x13, [sp, #n]: the caller's stack pointer
			e = entered
		}
	}
	return e, record
}

// unlinked reports whether a frame of the interpreter is gone at code[at]: ldp x29, x30, [sp], #16 was before, and what
// follows returns, or asks the JVM who handles an exception. link is how far above SP the return address is, below 0
// where x30 has it.
// Source: remove_activation in interp_masm_aarch64.cpp; generate_throw_exception.
func unlinked(code []uint32, at int) (link int64, ok bool) {
	const longest = 24
	from := at - 1
	for ; ; from-- {
		if from < max(0, at-longest) || isJump(code[from]) {
			return 0, false
		}
		if code[from] == popsRecord && from+1 < len(code) && restoresSP(code[from+1:]) {
			break
		}
	}
	link = -1
	for _, i := range code[from+1 : at] {
		if i&0xffc003e0 == 0xa98003e0 { // stp xA, xB, [sp, #-n]!
			if link >= 0 {
				link -= pairOffset(i)
			}
			if i>>10&31 == 30 {
				link = wordSize
			}
			continue
		}
		if moved, ok := popped(i); ok && link >= 0 {
			link = max(link-moved, -1)
		}
	}
	return link, true
}

// restoresSP reports whether code begins with what the interpreter does when it has taken its frame down: the caller's
// stack pointer is in x20. A return address that is signed may be checked before.
func restoresSP(code []uint32) bool {
	const and, mov = 0x927cee9f, 0x9100029f // and sp, x20, #-16; mov sp, x20
	for len(code) > 0 && code[0]&0xfffff01f == 0xd503201f {
		code = code[1:]
	}
	return len(code) > 0 && (code[0] == and || code[0] == mov)
}

// leaveUnlinked leaves a frame of the interpreter that is gone.
func (s *step) leaveUnlinked(link int64) (regs.Registers, error) {
	s.act.entry = true
	ra, err := s.linked(), error(nil)
	switch {
	case link >= 0:
		ra, err = s.link(s.sp + mem.Addr(link))
	case !s.interrupted:
		err = errCaller
	}
	if err != nil {
		return regs.Registers{}, err
	}
	return s.atLink(ra, 0)
}

// mathARM64 leaves a codelet that runs a method of java.lang.Math without a frame: before it calls a routine it keeps
// the return address in a register.
// Source: generate_math_entry.
func (s *step) mathARM64(c *codecache.Codelet) (regs.Registers, error) {
	s.act.entry = true
	data, ok := s.r.code().Bytes(c.Start, int(s.pc-c.Start))
	if !ok {
		return regs.Registers{}, errCaller
	}
	const keeps = 0xaa1e03e0 // mov x, x30
	for _, i := range words(data) {
		if reg := regs.Reg(i & 31); i&^31 == keeps {
			ra, known := s.now.Get(reg)
			if !known {
				return regs.Registers{}, errCaller
			}
			return s.atLink(mem.Addr(regs.StripPAC(ra, s.r.pac)), 0)
		}
	}
	if !s.interrupted {
		return regs.Registers{}, errCaller
	}
	return s.atLink(s.linked(), 0)
}
