package hotspot

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
	"github.com/fpstack/fpstack/vm/view"
)

const (
	// codeBefore and codeBehind are how much of the code around a PC is looked at, bytes.
	codeBefore = 64
	codeBehind = 32
)

// compiled leaves a frame of code that says how large its frames are. Above the saved frame pointer is the return
// address; the register itself is used for other things in between.
func (s *step) compiled(b *codecache.Blob) (regs.Registers, error) {
	if err := s.givenUp(b); err != nil {
		return regs.Registers{}, err
	}
	if s.interrupted {
		if next, done, err := s.compiledEdge(b); done || err != nil {
			return next, err
		}
	}
	if b.FrameSize < 2*wordSize {
		return s.frameless()
	}
	sender := s.sp + mem.Addr(b.FrameSize)
	if s.leaf && !s.interrupted {
		if b.Kind == codecache.Stub && s.alignsBelow(sender) {
			s.act.building = s.replacesFrames(b)
			return s.byFramePointer()
		}
		if up := s.popped(sender); up != 0 {
			return s.leave(up-wordSize, up, up-2*wordSize, false)
		}
	}
	usual := s.returns(sender - wordSize)
	if usual && (!s.leaf || b.Kind != codecache.Compiled || s.proved(sender-wordSize) && s.leadsOn(sender)) {
		return s.leave(sender-wordSize, sender, sender-2*wordSize, false)
	}
	if up := s.above(b, sender); up != 0 {
		return s.leave(up-wordSize, up, up-2*wordSize, false)
	}
	if usual {
		return s.leave(sender-wordSize, sender, sender-2*wordSize, false)
	}
	return regs.Registers{}, errCaller
}

// givenUp finds where the frame executes whose return address was replaced, if it was.
func (s *step) givenUp(b *codecache.Blob) error {
	if !s.atDeopt(b) {
		return nil
	}
	at, err := s.link(s.sp + mem.Addr(b.Code.OrigPC))
	if err != nil {
		return err
	}
	if at < b.Begin || at >= b.End {
		return errStack
	}
	s.act.at = at
	return nil
}

// atDeopt reports whether the return address of s was replaced: the method is to go on in the interpreter.
func (s *step) atDeopt(b *codecache.Blob) bool {
	return !s.interrupted && s.pc != 0 && b.Kind == codecache.Compiled &&
		(s.pc == b.Code.Deopt[0] || s.pc == b.Code.Deopt[1])
}

// compiledEdge leaves a frame that is not built yet, or is gone. done is false where it is complete.
func (s *step) compiledEdge(b *codecache.Blob) (next regs.Registers, done bool, err error) {
	if b.Kind == codecache.Stub {
		return s.stubEdge(b)
	}
	if depth, pushed, ok := s.prologue(b); ok {
		ra := s.sp + mem.Addr(depth)
		saved := mem.Addr(0)
		if pushed {
			saved = ra - wordSize
		}
		next, err = s.leave(ra, ra+wordSize, saved, false)
		return next, true, err
	}
	if s.pc < b.Complete && !s.osr(b) && !s.barrier(b) {
		return next, false, errCaller
	}
	before, code := around(s.v, s.pc)
	depth, ok := epilogue(code)
	if !ok && !toPoll(before, code) && !unwound(before, code) {
		return next, false, nil
	}
	saved := mem.Addr(0)
	if depth > 0 {
		saved = s.sp
	}
	next, err = s.leave(s.sp+mem.Addr(depth), s.sp+mem.Addr(depth)+wordSize, saved, false)
	return next, true, err
}

// osr reports whether pc is behind the entry by which the interpreter enters a loop: its frame is built there.
func (s *step) osr(b *codecache.Blob) bool { return b.EntryBCI >= 0 && s.pc >= b.Code.OSREntry }

// barrier reports whether pc is in what follows the prologue of b and is no part of it any more: the frame is there,
// and it is checked whether the method may be entered.
func (s *step) barrier(b *codecache.Blob) bool {
	n := s.pc - b.Code.Entry
	if s.pc <= b.Code.Entry || n > codeBefore {
		return false
	}
	code, ok := s.v.Bytes(b.Code.Entry, int(n)+len(checksEntry[0]))
	if !ok {
		return false
	}
	for i := 0; i <= int(n); i++ {
		if rest := code[i:]; has(rest, checksEntry[0]) || has(rest, checksEntry[1]) {
			_, pushed, ok := built(code[:i])
			return ok && pushed
		}
	}
	return false
}

// checksEntry begins the barrier at the entry of methods, from JDK 17 on: cmp dword [r15+d], imm32.
var checksEntry = [...]string{"\x41\x81\x7f", "\x41\x81\xbf"}

// prologue reports whether the frame of b is not complete at pc; depth is how far above the stack pointer the return
// address is then, bytes, and pushed that the frame pointer has been saved below it.
func (s *step) prologue(b *codecache.Blob) (depth int64, pushed, ok bool) {
	from := b.Code.Entry
	if s.osr(b) {
		from = b.Code.OSREntry
	} else if s.pc >= b.Complete {
		return 0, false, false
	}
	if s.pc <= from { // the check of the receiver comes before it
		return 0, false, true
	}
	const longest = codeBefore
	if s.pc-from > longest {
		return 0, false, false
	}
	code, got := s.v.Bytes(from, int(s.pc-from))
	if !got {
		return 0, false, false
	}
	return built(code)
}

// built executes the instructions by which compiled code builds its frame. ok is false if code holds something else, or
// the frame is complete.
// Source: MacroAssembler::verified_entry in src/hotspot/cpu/x86/macroAssembler_x86.cpp, C1_MacroAssembler::build_frame.
func built(code []byte) (depth int64, pushed, ok bool) {
	for len(code) > 0 {
		n := 0
		switch {
		case code[0] == 0x55: // push rbp
			depth, pushed, n = depth+wordSize, true, 1
		case has(code, "\x48\x8b\xec"), has(code, "\x48\x89\xe5"): // mov rbp, rsp
			n = 3
		case has(code, "\x48\x81\xec") && len(code) >= 7: // sub rsp, imm32
			depth, n = depth+int64(int32(binary.LittleEndian.Uint32(code[3:]))), 7
		case has(code, "\x48\x83\xec") && len(code) >= 4: // sub rsp, imm8
			depth, n = depth+int64(int8(code[3])), 4
		case code[0] == 0x9c: // pushf, of code that saves all registers
			depth, n = depth+wordSize, 1
		case stores(code) > 0: // mov [rsp+d], reg
			pushed, n = pushed || code[0] == 0x48 && code[2]>>3&7 == 5, stores(code) // rbp
		case has(code, "\x89\x84\x24") && len(code) >= 7: // mov [rsp-N], eax: is there stack enough?
			n = 7
		default:
			n = nop(code)
		}
		if n == 0 || depth < 0 || depth > maxFrame {
			return 0, false, false
		}
		code = code[n:]
	}
	return depth, pushed, true
}

// stores is the length of the instruction at the begin of code if that stores a register behind the stack pointer:
// mov [rsp], reg, mov [rsp+d8], reg or mov [rsp+d32], reg; else 0.
func stores(code []byte) int {
	if len(code) < 4 || code[0]&^4 != 0x48 || code[1] != 0x89 || code[3] != 0x24 {
		return 0
	}
	n := map[byte]int{0x04: 4, 0x44: 5, 0x84: 8}[code[2]&^0x38]
	if n > len(code) {
		return 0
	}
	return n
}

func has(code []byte, prefix string) bool {
	return len(code) >= len(prefix) && string(code[:len(prefix)]) == prefix
}

// nops are the instructions that do nothing, as HotSpot makes them.
var nops = []string{"\x90", "\x66\x90", "\x0f\x1f\x00", "\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00\x00",
	"\x66\x0f\x1f\x44\x00\x00",
	"\x0f\x1f\x80\x00\x00\x00\x00", "\x0f\x1f\x84\x00\x00\x00\x00\x00", "\x66\x0f\x1f\x84\x00\x00\x00\x00\x00",
	"\x66\x66\x90", "\x66\x66\x66\x90"}

// nop is the length of the instruction that does nothing at the begin of code, 0 for none.
func nop(code []byte) int {
	for _, n := range nops {
		if has(code, n) {
			return len(n)
		}
	}
	return 0
}

// epilogue reports whether the frame is gone at the begin of code, but for the saved frame pointer: up to the return
// there are only checks. depth is how far above the stack pointer the return address is, bytes.
func epilogue(code []byte) (depth int, ok bool) {
	if has(code, "\x5d") { // pop rbp
		depth, code = wordSize, code[1:]
		if has(code, "\xe9") { // an exception goes on to the caller
			return depth, true
		}
	}
	const longest = 6
	for range longest {
		n := 0
		switch {
		case has(code, "\xc3"), has(code, "\xc2"):
			return depth, true
		case has(code, "\xc5\xf8\x77"): // vzeroupper
			n = 3
		case has(code, "\x49\x3b\x67"): // cmp rsp, [r15+d8]
			n = 4
		case has(code, "\x49\x3b\xa7"): // cmp rsp, [r15+d32]
			n = 7
		case has(code, "\x4d\x8b\x57"): // mov r10, [r15+d8]
			n = 4
		case has(code, "\x4d\x8b\x97"): // mov r10, [r15+d32]
			n = 7
		case has(code, "\x41\x85\x02"): // test [r10], eax
			n = 3
		case has(code, "\x85\x05"): // test [rip+d32], eax
			n = 6
		case has(code, "\x77"), has(code, "\x75"): // ja, jne
			n = 2
		case has(code, "\x0f\x87"), has(code, "\x0f\x85"):
			n = 6
		}
		if n == 0 || n > len(code) {
			return 0, false
		}
		code = code[n:]
	}
	return 0, false
}

// unwound reports whether code has taken its frame down, and jumps to a stub by which an exception goes on to the
// caller.
func unwound(before, code []byte) bool {
	const small, large, popRBP = 5, 8, "\x5d" // add rsp, imm8 and imm32, each with the pop
	n := len(before)
	return has(code, "\xe9") && n >= large && string(before[n-1:]) == popRBP &&
		(has(before[n-small:], "\x48\x83\xc4") || has(before[n-large:], "\x48\x81\xc4"))
}

// toPoll reports whether code behind a return is where a method goes that has taken its frame down and is to come to a
// safepoint: the place of the poll is noted in the thread, and the code of the JVM for that is next.
// Source: C2SafepointPollStub::emit and C1SafepointPollStub::emit_code in src/hotspot/cpu/x86.
func toPoll(before, code []byte) bool {
	const place, note, jump = 7, 7, "\xe9"
	switch {
	case has(code, "\x4c\x8d\x15"): // lea r10, [rip+d32]
		return len(code) > place && has(code[place:], "\x4d\x89\x97")
	case has(code, "\x4d\x89\x97"): // mov [r15+d32], r10
		return len(code) > note && has(code[note:], jump)
	}
	return has(code, jump) && len(before) >= note && has(before[len(before)-note:], "\x4d\x89\x97")
}

// around is the code before pc and from pc on, as much as is looked at.
func around(v *view.View, pc mem.Addr) (before, behind []byte) {
	code, ok := v.Bytes(pc-codeBefore, codeBefore+codeBehind)
	if !ok {
		return nil, v.UpTo(pc, codeBehind)
	}
	return code[:codeBefore], code[codeBefore:]
}
