package hotspot

import (
	"encoding/binary"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
)

const (
	// maxUp is how many words above its place a return address is looked for where code has pushed some before a call.
	maxUp = 7
	// maxSaved is how many words C1 of JDK 8 saves at most: 16 registers, the state of the FPU and of 16 vectors.
	maxSaved = 112
	// saveArea is how many bytes of code behind a call are searched for what takes saved registers off the stack.
	saveArea = 1024
)

// above is the caller's stack pointer where code of b has saved registers out of line before the call that it is in,
// or pushed some words, 0 if it has not. What is left over of other frames may look like a return address, and code may
// have two ways to go on, which both take off what was saved: a place whose own frame leads on is preferred.
func (s *step) above(b *codecache.Blob, sender mem.Addr) (first mem.Addr) {
	leads := func(up mem.Addr) bool {
		if !s.proved(up - wordSize) {
			return false
		}
		if first == 0 {
			first = up
		}
		return s.leadsOn(up)
	}
	for _, n := range takenOff(s.r.code().UpTo(s.pc, saveArea)) { // code that is called from is not freed
		if leads(sender + mem.Addr(n)) {
			return sender + mem.Addr(n)
		}
	}
	for i := range maxUp {
		if up := sender + mem.Addr((i+1)*wordSize); leads(up) {
			return up
		}
	}
	if far := s.farPushed(b, sender); far != 0 {
		return far
	}
	return first
}

// takenOff is by how many bytes code has raised the stack pointer in all, after each time that it does, before it takes
// its frame down. What it is still to push, and to take off again, is not on the stack yet.
func takenOff(code []byte) (all []int64) {
	const popRBP = 0x5d
	raised := int64(0)
	for i := 0; i+7 <= len(code); i++ {
		if code[i] != 0x48 || code[i+2] != 0xc4 && code[i+2] != 0xec {
			continue
		}
		n, size := int64(0), 0
		switch code[i+1] {
		case 0x81: // add rsp, imm32; sub rsp, imm32
			n, size = int64(int32(binary.LittleEndian.Uint32(code[i+3:]))), 7
		case 0x83: // add rsp, imm8; sub rsp, imm8
			n, size = int64(int8(code[i+3])), 4
		default:
			continue
		}
		if code[i+2] == 0xec {
			n = -n
		}
		if n > 0 && i+size < len(code) && code[i+size] == popRBP {
			break
		}
		if raised += n; raised > maxFrame || raised < -maxFrame {
			break
		}
		if n > 0 && raised > 0 {
			all = append(all, raised)
		}
	}
	return all
}

// popped is the caller's stack pointer where code of C1 has pushed the arguments of the stub that it calls, as to check
// a cast, and takes them off again behind the call; 0 if it has not.
// Source: emit_typecheck_helper in src/hotspot/cpu/x86/c1_LIRAssembler_x86.cpp.
func (s *step) popped(sender mem.Addr) mem.Addr {
	n := pops(s.r.code().UpTo(s.pc, codeBehind))
	if up := sender + mem.Addr(n*wordSize); n > 0 && s.proved(up-wordSize) {
		return up
	}
	return 0
}

// pops is how many registers code begins to pop, but for the frame pointer, by which a frame ends.
func pops(code []byte) (n int) {
	const rbp = 5
	for len(code) > 0 {
		reg, size := operand(code, 0x58)
		if size == 0 || reg == rbp {
			break
		}
		n, code = n+1, code[size:]
	}
	return n
}

// farPushed is the caller's stack pointer where code of C1 in JDK 8 has saved all registers around a call of
// mathematics, 0 if it has not: the frame that it finds must lead on.
func (s *step) farPushed(b *codecache.Blob, sender mem.Addr) mem.Addr {
	const before = 9
	if !s.leaf || b.Kind != codecache.Compiled || b.Code.Level >= fullLevel || s.j.version >= before {
		return 0
	}
	for i := maxUp; i < maxSaved; i++ {
		if up := sender + mem.Addr((i+1)*wordSize); s.proved(up-wordSize) && s.leadsOn(up) {
			return up
		}
	}
	return 0
}

// proved reports whether the word at a is an address that code of the JVM may return to: a call comes before it, or it
// is one by which the interpreter is entered again, or the method is to go on there when it has been given up.
func (s *step) proved(a mem.Addr) bool {
	ra, err := s.link(a)
	switch {
	case err != nil || !s.j.made(ra) || !s.j.made(ra-1):
		return false
	case ra == s.j.returns:
		return true
	case s.j.interprets(ra):
		c := s.j.codelet(ra)
		return c != nil && strings.Contains(c.Name, "return entry")
	}
	b, err := s.r.blobAt(s.v, s.j, ra)
	if err != nil || ra <= b.Begin || ra >= b.End {
		return false
	}
	return b.Kind == codecache.Compiled && (ra == b.Code.Deopt[0] || ra == b.Code.Deopt[1]) || s.follows(ra)
}

// follows reports whether a call comes before ra, or may, as code cannot be read.
func (s *step) follows(ra mem.Addr) bool {
	p := s.r.port
	code, ok := s.r.code().Bytes(ra-mem.Addr(p.maxCall), p.maxCall)
	return !ok || p.calls(code)
}

// leadsOn reports whether the frame whose callee's return address is below up has a return address itself where it
// should be.
func (s *step) leadsOn(up mem.Addr) bool {
	ra, err := s.link(up - wordSize)
	if err != nil {
		return false
	}
	// The call stub and the interpreter have a frame pointer, which was saved below.
	if ra == s.j.returns || s.j.interprets(ra) {
		fp, err := s.v.Word(up - 2*wordSize)
		if saved := mem.Addr(fp); err != nil || saved <= up || saved-up > maxFrame || saved%wordSize != 0 {
			return false
		}
		return ra == s.j.returns || s.proved(mem.Addr(fp)+wordSize)
	}
	b, err := s.r.blobAt(s.v, s.j, ra)
	return err == nil && b.FrameSize >= 2*wordSize && s.proved(up+mem.Addr(b.FrameSize)-wordSize)
}
