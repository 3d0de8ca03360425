package hotspot

import (
	"bytes"
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
)

// scanned is how many words above the stack pointer are looked at for a call of a routine.
const scanned = 64

// frameless leaves code that pushes nothing, or a word or two.
func (s *step) frameless() (regs.Registers, error) {
	if s.interrupted {
		if sender, ok := s.movesArguments(); ok {
			return s.leaveTo(s.register(regs.AMD64RAX), sender, 0, false)
		}
	}
	for i := range 3 {
		if at := s.sp + mem.Addr(i*wordSize); s.returns(at) {
			return s.leave(at, at+wordSize, 0, false)
		}
	}
	if s.interrupted {
		sender := s.register(regs.AMD64R13)
		if at := sender - wordSize; at >= s.sp && at-s.sp < maxFrame && s.returns(at) {
			return s.leave(at, sender, 0, false)
		}
	} else if at := s.register(regs.AMD64R13); at >= s.sp && at-s.sp < maxFrame && s.proved(at) {
		return s.leave(at, at+wordSize, 0, false) // it has saved all registers below, to have its caller's call changed
	}
	return regs.Registers{}, errCaller
}

// movesArguments reports whether an adapter from compiled code to the interpreter has popped the return address, to
// make room for arguments, and not pushed it again: what is on the stack below the caller's stack pointer is left over
// from others.
// Source: gen_c2i_adapter in src/hotspot/cpu/x86/sharedRuntime_x86_64.cpp.
func (s *step) movesArguments() (sender mem.Addr, ok bool) {
	const longest, saves = 512, 3 // saves is how long the instruction is that takes the stack pointer to r13
	begins, pushes, ends := []byte("\x58\x4c\x8b\xec"), []byte("\x48\x89\x04\x24"), []byte("\xff\xe1")
	b, ok := s.r.code().Bytes(s.pc-longest, longest+saves)
	if rax := s.register(regs.AMD64RAX); !ok || !s.j.made(rax) || !s.j.made(rax-1) {
		return 0, false
	}
	if bytes.HasSuffix(b, begins) {
		return s.sp, true
	}
	b = b[:longest]
	if i := bytes.LastIndex(b, popsFrom25); i >= longest-2*len(popsFrom25)-len(room) && b[longest-1] != pushRAX {
		return s.register(regs.AMD64R11) + wordSize, true
	}
	i := bytes.LastIndex(b, begins)
	if i < 0 || bytes.Contains(b[i:], pushes) || bytes.Contains(b[i:], ends) {
		return 0, false
	}
	sender = s.register(regs.AMD64R13)
	return sender, sender >= s.sp && sender-s.sp < maxFrame
}

// popsFrom25 begins an adapter from the interpreter to compiled code, from JDK 25 on: mov r11, rsp; pop rax. Behind
// room for arguments that is aligned the return address is pushed again.
var popsFrom25 = []byte("\x4c\x8b\xdc\x58")

const pushRAX = 0x50

// savesAll bounds the begin of a stub, which may save all registers, bytes.
const savesAll = 160

// stubEdge leaves a stub with a frame, where that is not built yet or is gone.
func (s *step) stubEdge(b *codecache.Blob) (next regs.Registers, done bool, err error) {
	if s.replacesFrames(b) {
		return next, false, errReplaces
	}
	if next, done, err = s.exceptional(b); done || err != nil {
		return next, done, err
	}
	before, code := around(s.v, s.pc)
	// What resolves a call goes on to what is called, when its frame is gone.
	if _, ok := jump(code); ok && bytes.HasSuffix(before, popRBP) && s.proved(s.sp) {
		next, err = s.leave(s.sp, s.sp+wordSize, 0, false)
		return next, true, err
	}
	if depth, ok := epilogue(code); ok && s.returns(s.sp+mem.Addr(depth)) {
		saved := mem.Addr(0)
		if depth > 0 {
			saved = s.sp
		}
		next, err = s.leave(s.sp+mem.Addr(depth), s.sp+mem.Addr(depth)+wordSize, saved, false)
		return next, true, err
	}
	if s.chained(b) && !ended(before) {
		next, err = s.byFramePointer()
		return next, true, err
	}
	// Stubs of C1 say that their frame is complete from the begin on: what has run since decides.
	if n := s.pc - b.Begin; s.pc >= b.Begin && n <= savesAll {
		if run, ok := s.r.code().Bytes(b.Begin, int(n)); ok {
			depth, pushed, ok := built(run)
			if ra := s.sp + mem.Addr(depth); ok && s.returns(ra) {
				saved := mem.Addr(0)
				if pushed {
					saved = ra - wordSize
				}
				next, err = s.leave(ra, ra+wordSize, saved, false)
				return next, true, err
			}
		}
	}
	if s.pc < b.Complete {
		return next, false, errCaller
	}
	if at := s.called(b); at != 0 && s.beforeFrame(b) {
		next, err = s.leave(at, at+wordSize, 0, false)
		return next, true, err
	}
	return next, false, nil
}

// replacesFrames reports whether a stub has taken down the frame of code that is given up, to build others in its
// place: what is on the stack is no frame until they are there.
// Source: generate_deopt_blob and generate_uncommon_trap_blob in src/hotspot/cpu/x86/sharedRuntime_x86_64.cpp.
func (s *step) replacesFrames(b *codecache.Blob) bool {
	const longest, near = 8 << 10, 16
	if s.pc < b.Begin || s.pc >= b.End || b.End-b.Begin > longest {
		return false
	}
	code, ok := s.r.code().Bytes(b.Begin, int(b.End-b.Begin))
	if !ok {
		return false
	}
	at := bytes.Index(code, []byte("\x48\x03\xe1")) // add rsp, rcx
	if other := bytes.Index(code, []byte("\x48\x01\xcc")); at < 0 || other >= 0 && other < at {
		at = other
	}
	if at < near {
		return false
	}
	// The stub's own frame is taken down just before: add rsp, imm.
	own := max(bytes.LastIndex(code[at-near:at], []byte("\x48\x83\xc4")),
		bytes.LastIndex(code[at-near:at], []byte("\x48\x81\xc4")), 0)
	return s.pc > b.Begin+mem.Addr(at-near+own)
}

// alignsBelow reports whether a stub whose frame ends at sender, or a word above as it has aligned the stack for a call
// of C++, has its frame pointer there.
func (s *step) alignsBelow(sender mem.Addr) bool {
	end := s.fp + 2*wordSize
	return (end == sender || end == sender+wordSize) && s.returns(s.fp+wordSize)
}

// popRBP is the last instruction that takes a frame down.
var popRBP = []byte{0x5d}

// called is where on the stack the return address is of a stub that has pushed some words at most, 0 if it is not
// there: behind a call of the stub.
func (s *step) called(b *codecache.Blob) mem.Addr {
	for i := range maxUp {
		at := s.sp + mem.Addr(i*wordSize)
		if w, err := s.v.Word(at); err == nil && s.calls(mem.Addr(w)) == b.Begin {
			return at
		}
	}
	return 0
}

// beforeFrame reports whether a stub of C1 has not come to its frame, as it first tries what needs none: the frame is
// built behind where it is.
// Source: Runtime1::generate_code_for in src/hotspot/cpu/x86/c1_Runtime1_x86.cpp, register_finalizer_id.
func (s *step) beforeFrame(b *codecache.Blob) bool {
	const longest = 512
	one, other := []byte("\x55\x48\x8b\xec"), []byte("\x55\x48\x89\xe5") // push rbp; mov rbp, rsp
	code, ok := s.r.code().Bytes(b.Begin, int(min(longest, b.End-b.Begin)))
	if !ok || s.pc < b.Begin {
		return false
	}
	at := bytes.Index(code, one)
	if i := bytes.Index(code, other); at < 0 || i >= 0 && i < at {
		at = i
	}
	return at >= 0 && s.pc <= b.Begin+mem.Addr(at)
}

// wrapper leaves code that calls a native method. Once it has a frame pointer that leads on.
func (s *step) wrapper(b *codecache.Blob) (regs.Registers, error) {
	switch {
	case b.FrameSize == 0: // it jumps on to what a method handle is of
		return s.frameless()
	case !s.interrupted:
		return s.compiled(b)
	}
	complete := s.fp == s.sp+mem.Addr(b.FrameSize)-2*wordSize && s.returns(s.fp+wordSize)
	if complete {
		return s.byFramePointer()
	}
	if s.pc < b.Complete && s.pc > b.Code.Entry && s.pc-b.Code.Entry <= codeBefore {
		if code, ok := s.v.Bytes(b.Code.Entry, int(s.pc-b.Code.Entry)); ok {
			if depth, pushed, ok := built(code); ok {
				ra, saved := s.sp+mem.Addr(depth), mem.Addr(0)
				if pushed {
					saved = ra - wordSize
				}
				return s.leave(ra, ra+wordSize, saved, false)
			}
		}
	}
	if s.returns(s.sp) {
		return s.leave(s.sp, s.sp+wordSize, 0, false)
	}
	if s.fp >= s.sp && s.fp-s.sp < maxFrame && s.returns(s.fp+wordSize) { // it saves arguments around a call
		return s.byFramePointer()
	}
	return regs.Registers{}, errCaller
}

// routine leaves a piece of assembly whose frame nobody describes: its caller is the one that called it, as the
// instruction before the return address says.
func (s *step) routine(b *codecache.Blob) (regs.Registers, error) {
	if at := s.calledAt(b); at != 0 {
		saved := mem.Addr(0)
		if s.fp == at-wordSize && s.fp >= s.sp {
			saved = s.fp
		}
		next, err := s.leave(at, at+wordSize, saved, false)
		s.keepsR13(&next)
		return next, err
	}
	if b.FrameSize < 0 {
		if next, done, err := s.unwinding(); done || err != nil {
			return next, err
		}
	}
	if s.interrupted {
		before, code := around(s.v, s.pc)
		_, gone := epilogue(code)
		begins := has(code, "\x55") && !bytes.HasSuffix(before, pushRBP)
		if begins || gone && !has(code, "\x5d") || s.native(s.sp) {
			return s.leave(s.sp, s.sp+wordSize, 0, true)
		}
		if s.fp >= s.sp && s.fp-s.sp < scanned*wordSize && s.native(s.fp+wordSize) {
			return s.leave(s.fp+wordSize, s.fp+2*wordSize, s.fp, true)
		}
		if bytes.HasSuffix(before, pushRBP) && s.native(s.sp+wordSize) {
			return s.leave(s.sp+wordSize, s.sp+2*wordSize, s.sp, true)
		}
	} else if w, err := s.v.Word(s.fp + wordSize); err == nil && int64(w) == -1 && s.fp >= s.sp {
		// The barrier at the entry of compiled code pushes a mark before its frame pointer.
		return s.leave(s.fp+2*wordSize, s.fp+3*wordSize, s.fp, false)
	}
	return s.toEntry()
}

// toEntry leaves what nothing else is known of by its frame pointer. What a virtual thread returns to whose older
// frames are in the heap is such.
func (s *step) toEntry() (regs.Registers, error) {
	s.act.heap = !s.interrupted
	if s.fp >= s.sp && s.fp-s.sp < maxFrame && s.fp%wordSize == 0 && s.returns(s.fp+wordSize) {
		return s.byFramePointer()
	}
	if s.act.heap {
		return s.overEntry()
	}
	return regs.Registers{}, errStack
}

// chained reports whether a piece of code has set the frame pointer by its first instructions, and has it.
func (s *step) chained(b *codecache.Blob) bool {
	const sets = 4
	code, ok := s.r.code().Bytes(b.Begin, sets)
	return ok && s.pc >= b.Begin+sets && (string(code) == "\x55\x48\x8b\xec" || string(code) == "\x55\x48\x89\xe5") &&
		s.fp >= s.sp && s.fp-s.sp < maxFrame && s.fp%wordSize == 0 && s.proved(s.fp+wordSize)
}

// ended reports whether a frame may have been taken down, by leave or pop rbp, just before.
func ended(before []byte) bool {
	const near = 16
	const leave, popRBP = 0xc9, 0x5d
	last := before[max(0, len(before)-near):]
	return bytes.IndexByte(last, leave) >= 0 || bytes.IndexByte(last, popRBP) >= 0
}

// calledAt is where on the stack the return address of a routine is, 0 if it is not found: behind a call of b, by the
// frame pointer if that leads to one. What is left over on the stack are calls of others that are in b, too: it is the
// call of what begins last before pc.
func (s *step) calledAt(b *codecache.Blob) (at mem.Addr) {
	if w, err := s.v.Word(s.fp + wordSize); err == nil && s.fp >= s.sp && s.fp-s.sp < maxFrame {
		if to := s.calls(mem.Addr(w)); to >= b.Begin && to < b.End { // it may have jumped back to where it is
			return s.fp + wordSize
		}
	}
	begins := mem.Addr(0)
	for i := range scanned {
		word := s.sp + mem.Addr(i*wordSize)
		w, err := s.v.Word(word)
		if err != nil {
			break
		}
		if to := s.calls(mem.Addr(w)); to >= b.Begin && to <= s.pc && to > begins {
			begins, at = to, word
		}
	}
	return at
}

// entryWords is how large the frame is from which a virtual thread is run, in words.
const entryWords = 32

// overEntry leaves a frame to which a virtual thread returns whose older frames are in the heap: the next on the stack
// is the one that runs it, of which nothing is left in registers, and its caller.
// Source: src/hotspot/share/runtime/continuationEntry.hpp.
func (s *step) overEntry() (regs.Registers, error) {
	for i := range mem.Addr(entryWords) {
		f := s.v.Fields(s.sp + i*wordSize)
		saved := f.Addr(0)
		at := f.At
		chained := f.Err == nil && saved > at && saved-at < maxFrame && saved%wordSize == 0
		if chained && s.proved(at+wordSize) {
			return s.leave(at+wordSize, at+2*wordSize, at, false)
		}
	}
	return regs.Registers{}, errStack
}

// native reports whether the word at a is an address in a file: of code that called this directly.
func (s *step) native(a mem.Addr) bool {
	w, err := s.v.Word(a)
	return err == nil && s.r.m != nil && mem.Addr(w) >= s.r.m.Start() && mem.Addr(w) < s.r.m.End()
}

// calls is what the call before the return address ra calls, 0 if there is none or that is not said.
func (s *step) calls(ra mem.Addr) mem.Addr {
	const near, far = 5, 13
	if !s.j.made(ra) || !s.j.made(ra-far) {
		return 0
	}
	code, ok := s.r.code().Bytes(ra-far, far)
	if !ok {
		return 0
	}
	if code[far-near] == 0xe8 { // call rel32
		return ra + mem.Addr(int64(int32(binary.LittleEndian.Uint32(code[far-near+1:]))))
	}
	if has(code, "\x49\xba") && bytes.HasSuffix(code, []byte("\x41\xff\xd2")) { // mov r10, imm64; call r10
		return mem.Addr(binary.LittleEndian.Uint64(code[2:]))
	}
	return 0
}
