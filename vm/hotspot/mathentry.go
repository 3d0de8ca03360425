package hotspot

import (
	"bytes"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
)

const (
	// mathEntryPoint is in the names of codelets that run a method of java.lang.Math without a frame: they call a
	// routine, take the return address from the stack, and go to the caller, whose stack pointer is in r13.
	// Source: generate_math_entry in src/hotspot/cpu/x86/templateInterpreterGenerator_x86_64.cpp.
	mathEntryPoint = "java_lang_math"
	// maxMathArguments bounds what such a method is passed, with what aligns it, bytes: fma has three numbers.
	maxMathArguments = 10 * wordSize
)

func isMathEntry(c *codecache.Codelet) bool {
	return c != nil && strings.Contains(c.Name, mathEntryPoint)
}

// mathEntry leaves such a codelet.
func (s *step) mathEntry() (regs.Registers, error) {
	s.act.entry = true
	sender, known := mem.Addr(0), false
	if r13, ok := s.now.Get(regs.AMD64R13); ok {
		sender, known = mem.Addr(r13), true
	}
	if s.interrupted {
		before, code := around(s.r.code(), s.pc)
		rax := s.register(regs.AMD64RAX)
		switch {
		case movesR13(code): // the return address is popped
			return s.leaveTo(rax, sender, 0, false)
		case len(before) >= 3 && movesR13(before[len(before)-3:]):
			return s.leaveTo(rax, s.sp, 0, false)
		}
	}
	// A call of C++ may have aligned the stack by a word.
	for i := range 2 {
		at := s.sp + mem.Addr(i*wordSize)
		ra, err := s.v.Word(at)
		switch {
		case err != nil:
			return regs.Registers{}, err
		case !s.returns(at):
		case known && sender > at && sender-at <= maxMathArguments:
			return s.leave(at, sender, 0, false)
		case s.j.interprets(mem.Addr(ra)): // it needs no stack pointer
			return s.leave(at, at+wordSize, 0, false)
		}
	}
	// JDK 8 saves what it has in registers first. An adapter has made room below r13 for one or two numbers.
	for _, room := range []mem.Addr{wordSize, 4 * wordSize, 6 * wordSize} {
		if at := sender - room; known && at >= s.sp && at-s.sp < maxFrame && s.proved(at) {
			return s.leave(at, sender, 0, false)
		}
	}
	return regs.Registers{}, errCaller
}

// movesR13 reports whether code begins with mov rsp, r13.
func movesR13(code []byte) bool {
	return bytes.HasPrefix(code, []byte("\x49\x8b\xe5")) || bytes.HasPrefix(code, []byte("\x4c\x89\xec"))
}

// keepsR13 lets next have r13 where an interrupted routine was called by such an entry, which counts on that.
func (s *step) keepsR13(next *regs.Registers) {
	pc, _ := next.PC()
	if r13, ok := s.now.Get(regs.AMD64R13); ok && s.interrupted && isMathEntry(s.j.codelet(mem.Addr(pc))) {
		next.Set(regs.AMD64R13, r13)
	}
}
