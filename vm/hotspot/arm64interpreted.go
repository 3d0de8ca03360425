package hotspot

import (
	"strings"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
)

// Frames of the interpreter on arm64, those too that are not built yet or are gone.

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
	code := arm64.Words(data)
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
func enters(code []arm64.Inst) (e entry, record bool) {
	offset := int64(0)
	for _, i := range code {
		n, before, saves := i.SavesRecord()
		to, sets := i.SetsFP()
		switch {
		case saves && before:
			offset = 0
		case saves:
			offset = n
		case sets && to == 0:
			record = true
		case i == popsRecord:
			record = false
		case sets && to == offset && e == outside:
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
func unlinked(code []arm64.Inst, at int) (link int64, ok bool) {
	const longest = 24
	from := at - 1
	for ; ; from-- {
		if from < max(0, at-longest) || code[from].IsJump() {
			return 0, false
		}
		if code[from] == popsRecord && from+1 < len(code) && restoresSP(code[from+1:]) {
			break
		}
	}
	link = -1
	for _, i := range code[from+1 : at] {
		if n, ok := i.Pushes(); ok {
			if link >= 0 {
				link += n
			}
			if i>>10&31 == 30 {
				link = wordSize
			}
			continue
		}
		if moved, ok := i.Pops(); ok && link >= 0 {
			link = max(link-moved, -1)
		}
	}
	return link, true
}

// restoresSP reports whether code begins with what the interpreter does when it has taken its frame down: the caller's
// stack pointer is in x20. A return address that is signed may be checked before.
func restoresSP(code []arm64.Inst) bool {
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
	for _, i := range arm64.Words(data) {
		if reg := regs.Reg(i & 31); i&^31 == keeps {
			ra, known := s.now.Get(reg)
			if !known {
				return regs.Registers{}, errCaller
			}
			return s.atLink(s.r.unsigned(ra), 0)
		}
	}
	if !s.interrupted {
		return regs.Registers{}, errCaller
	}
	return s.atLink(s.linked(), 0)
}
