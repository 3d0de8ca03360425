package hotspot

import (
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
	calls: func(code []byte) bool { return arm64.Word(code).IsCall() }, maxCall: instruction,
	interpreted: (*step).interpretedARM64, frameless: (*step).framelessARM64,
	compiled: (*step).compiledARM64, wrapper: (*step).wrapperARM64, routine: (*step).routineARM64,
}

const instruction = 4 // bytes

// popsRecord is ldp x29, x30, [sp], #16, and setsFP mov x29, sp.
const popsRecord, setsFP arm64.Inst = 0xa8c17bfd, 0x910003fd

// addsRegister reports whether i is add sp, sp, x or sub sp, sp, x.
func addsRegister(i arm64.Inst) bool { return i&0xbfe0fc1f == 0x8b20601f && i>>5&31 == 31 }

// copied is the code before PC and from PC on.
func (s *step) copied() (before, behind []arm64.Inst) {
	p := s.r.port
	code, ok := s.v.Bytes(s.pc-mem.Addr(p.before), p.before+p.behind)
	if !ok {
		return nil, arm64.Words(s.v.UpTo(s.pc, p.behind))
	}
	return arm64.Words(code[:p.before]), arm64.Words(code[p.before:])
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
	return s.r.unsigned(uint64(s.register(regs.ARM64LR)))
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
	ra := s.r.unsigned(link)
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
	for k := len(before) - 1; k >= 0 && !before[k].IsJump(); k-- {
		n, moves, ok := before[k].SavesRecord()
		_, _, leaves := before[k].LoadsRecord()
		switch {
		case leaves:
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
