package hotspot

import (
	"bytes"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// Frames of the interpreter, from the frame pointer, in words.
// Source: src/hotspot/cpu/x86/frame_x86.hpp, src/hotspot/cpu/aarch64/frame_aarch64.hpp.
const (
	senderSP     = -1 * wordSize // the caller's stack pointer, which adapters make another than that of a call
	methodSlot   = -3 * wordSize
	fixedFrame   = 3 * wordSize // what is pushed before the method
	scannedWords = 32
)

// entryPoint is in the names of codelets by which methods are entered.
const entryPoint = "method entry point"

// interpreted leaves a frame of the interpreter.
func (s *step) interpreted() (regs.Registers, error) {
	if isMathEntry(s.j.codelet(s.pc)) {
		return s.mathEntry()
	}
	if s.interrupted {
		if next, done, err := s.interpreterEdge(); done || err != nil {
			return next, err
		}
	}
	next, err := s.builtFrame()
	if err != nil && !s.interrupted {
		if between, ok := s.betweenFrames(); ok {
			return between, nil
		}
	}
	return next, err
}

// betweenFrames leaves the code of the interpreter by which an exception goes on, when it asks the JVM who handles it:
// its frame is gone, and where it would have returned to is pushed, and above it the exception.
// Source: generate_throw_exception in src/hotspot/cpu/x86/templateInterpreterGenerator_x86.cpp.
func (s *step) betweenFrames() (regs.Registers, bool) {
	_, code := around(s.r.code(), s.pc)
	at := s.sp
	switch {
	case bytes.HasPrefix(code, takes): // a word that aligns the stack
		at += wordSize
	case !bytes.HasPrefix(code, []byte("\x48\x8b\xd8\x5a\x58\xff\xe3")): // mov rbx, rax; pop rdx; pop rax; jmp rbx
		return regs.Registers{}, false
	}
	if !s.proved(at) {
		return regs.Registers{}, false
	}
	s.act.entry = true
	next, err := s.leave(at, at+2*wordSize, 0, false)
	return next, err == nil
}

// builtFrame leaves a frame that is complete.
func (s *step) builtFrame() (regs.Registers, error) {
	if s.fp < s.sp || s.fp-s.sp > maxFrame || s.fp%wordSize != 0 {
		return regs.Registers{}, errStack
	}
	f := s.v.Fields(s.fp)
	sender, method, bcp := f.Addr(senderSP), f.Addr(methodSlot), f.Addr(-int64(s.j.bcpSlot))
	if f.Err != nil {
		return regs.Registers{}, f.Err
	}
	if s.r.port.resetsSP {
		ra, err := s.link(s.fp + wordSize)
		if err != nil {
			return regs.Registers{}, err
		}
		if s.j.interprets(ra) {
			sender = s.fp + 2*wordSize
		}
	}
	if sender <= s.fp || sender-s.fp > maxFrame || !s.returns(s.fp+wordSize) {
		return regs.Registers{}, errStack
	}
	s.act.method, s.act.bcp = method, bcp
	if s.interrupted { // the live one is in a register, except in calls of the JVM
		if live := s.register(s.r.port.bytecode); s.r.hasBytecode(s.j, method, live) {
			s.act.bcp = live
		}
	}
	return s.leave(s.fp+wordSize, sender, s.fp, false)
}

// interpreterEdge leaves a frame of the interpreter that is not built yet, or is gone. done is false where it is
// complete.
// Source: generate_normal_entry and generate_fixed_frame in templateInterpreterGenerator_x86.cpp; remove_activation in
// interp_masm_x86.cpp.
func (s *step) interpreterEdge() (next regs.Registers, done bool, err error) {
	before, code := around(s.r.code(), s.pc)
	if next, done, err = s.leaving(before, code); done || err != nil {
		return next, done, err
	}
	c := s.j.codelet(s.pc)
	if c == nil || !strings.Contains(c.Name, entryPoint) {
		return next, false, nil
	}
	rbx, sender := s.register(regs.AMD64RBX), s.register(regs.AMD64R13)
	top, err := s.v.Word(s.sp)
	switch {
	case err != nil:
		return next, false, err
	case s.fp >= s.sp && s.fp-s.sp < fixedFrame && s.returns(s.fp+wordSize): // the method is not pushed yet
		if s.fp > s.sp {
			w, err := s.v.Word(s.fp + mem.Addr(^uint64(wordSize-1)))
			if err != nil {
				return next, false, err
			}
			sender = mem.Addr(w)
		}
		s.act.method = rbx
		next, err = s.entered(s.fp+wordSize, sender, s.fp)
		return next, true, err
	case bytes.HasSuffix(before, pushRBP) && mem.Addr(top) == s.fp && s.returns(s.sp+wordSize): // push rbp was the last
		s.act.method = rbx
		next, err = s.entered(s.sp+wordSize, sender, 0)
		return next, true, err
	case s.entering(rbx, sender):
		s.act.method = rbx
		next, err = s.beforeEntry(sender)
		return next, true, err
	}
	return next, false, nil
}

// entered leaves a frame whose return address is at ra, for the caller's stack pointer as it was passed on.
func (s *step) entered(ra, sender, saved mem.Addr) (regs.Registers, error) {
	if sender <= ra || sender-ra > maxFrame {
		sender = ra + wordSize
	}
	return s.leave(ra, sender, saved, false)
}

// entering reports whether the method in rbx has no frame yet: what the frame pointer leads to is the caller's.
func (s *step) entering(rbx, r13 mem.Addr) bool {
	f := s.v.Fields(s.fp)
	method, sender := f.Addr(methodSlot), f.Addr(senderSP)
	passed := r13 >= s.sp && r13-s.sp < maxFrame // else r13 is in use for something else
	if f.Err == nil && method == rbx && (r13 == sender || !passed || s.r.hasBytecode(s.j, rbx, r13)) {
		return false
	}
	_, err := s.r.methodAt(s.j, rbx)
	return err == nil
}

// beforeEntry leaves a method that was called and has pushed nothing: its return address is below the caller's stack
// pointer, unless an adapter has pushed arguments since.
func (s *step) beforeEntry(sender mem.Addr) (regs.Registers, error) {
	if at := sender - wordSize; at >= s.sp && at-s.sp < maxFrame && s.returns(at) {
		return s.leave(at, sender, 0, false)
	}
	if rax := s.register(regs.AMD64RAX); s.j.made(rax) && s.j.made(rax-1) { // popped, to be pushed behind the locals
		return s.leaveTo(rax, max(sender, s.sp), 0, false)
	}
	for i := range scannedWords {
		if at := s.sp + mem.Addr(i*wordSize); s.proved(at) {
			return s.entered(at, sender, 0)
		}
	}
	return regs.Registers{}, errCaller
}

// leaving leaves a frame that is gone: what is left is to pop the return address and to jump there, the stack pointer
// of the caller being in a register: rbx, or r11 behind a native method.
func (s *step) leaving(before, code []byte) (next regs.Registers, done bool, err error) {
	sp, ra := s.sp, mem.Addr(0)
	reg, n := operand(code, 0x58)
	if n > 0 {
		w, err := s.v.Word(sp)
		if err != nil {
			return next, false, err
		}
		ra, sp, code = mem.Addr(w), sp+wordSize, code[n:]
	}
	if from, ok := movesSP(code); ok {
		sp, code = s.register(numbered[from]), code[3:]
	} else if _, ok = movesSP(before[max(0, len(before)-3):]); !ok || n > 0 {
		return next, false, nil
	}
	to, ok := jump(code)
	if !ok || n > 0 && to != reg {
		return next, false, nil
	}
	if n == 0 {
		ra = s.register(numbered[to])
	}
	if !s.j.made(ra) || !s.j.made(ra-1) {
		return next, false, nil
	}
	next, err = s.leaveTo(ra, sp, 0, false)
	return next, true, err
}

// pushRBP is the instruction by which a frame begins.
var pushRBP = []byte{0x55}

// movesSP is the register from which code begins by setting the stack pointer: mov rsp, reg.
func movesSP(code []byte) (reg int, ok bool) {
	if len(code) < 3 {
		return 0, false
	}
	switch rex, modRM := int(code[0]), int(code[2]); {
	case rex|1 == 0x49 && code[1] == 0x8b && modRM&^7 == 0xe0:
		return modRM&7 | rex&1<<3, true
	case rex|4 == 0x4c && code[1] == 0x89 && modRM&^0x38 == 0xc4:
		return modRM>>3&7 | rex&4<<1, true
	}
	return 0, false
}

// operand is the register of a one-byte instruction op+register, n its length; 0 if code is no such instruction.
func operand(code []byte, op byte) (reg, n int) {
	switch {
	case len(code) > 0 && code[0]&^7 == op:
		return int(code[0] & 7), 1
	case len(code) > 1 && code[0] == 0x41 && code[1]&^7 == op:
		return int(code[1]&7) + 8, 2
	}
	return 0, 0
}

// jump is the register that code jumps to.
func jump(code []byte) (reg int, ok bool) {
	switch {
	case len(code) >= 2 && code[0] == 0xff && code[1]&^7 == 0xe0:
		return int(code[1] & 7), true
	case len(code) >= 3 && code[0] == 0x41 && code[1] == 0xff && code[2]&^7 == 0xe0:
		return int(code[2]&7) + 8, true
	}
	return 0, false
}
