package hotspot

import (
	"bytes"

	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/hotspot/codecache"
)

// Stubs by which an exception leaves a method are jumped to, when the frame of that is gone: no call leads there. The
// address that the method would have returned to is in rdx before it is pushed, and when it was popped.
const (
	pushRDX = 0x52
	popRDX  = 0x5a
)

var (
	room  = []byte("\x48\x83\xec\x08") // sub rsp, 8
	takes = []byte("\x48\x83\xc4\x08") // add rsp, 8
)

// exceptional leaves the stub that looks for who handles an exception in compiled code, where its frame is not built
// yet or is gone.
// Source: OptoRuntime::generate_exception_blob in src/hotspot/cpu/x86/runtime_x86_64.cpp.
func (s *step) exceptional(b *codecache.Blob) (next regs.Registers, done bool, err error) {
	const longest = 256
	code, ok := s.r.code().Bytes(b.Begin, int(min(longest, b.End-b.Begin)))
	n := int64(s.pc - b.Begin)
	if !ok || len(code) == 0 || code[0] != pushRDX || n < 0 || n >= int64(len(code)) {
		return next, false, nil
	}
	end := int64(bytes.Index(code, append(bytes.Clone(takes), popRDX)))
	rdx := s.register(regs.AMD64RDX)
	switch popped := end + int64(len(takes)); {
	case end < 0:
	case (n == 0 || n > popped) && s.j.made(rdx):
		next, err = s.leaveTo(rdx, s.sp, 0, false)
		return next, true, err
	case n == 1 || n == popped:
		next, err = s.leave(s.sp, s.sp+wordSize, 0, false)
		return next, true, err
	}
	return next, false, nil
}

// unwinding leaves the stub by which an exception leaves code of C1, which has no frame: a word may align the stack.
// Source: Runtime1::generate_unwind_exception in src/hotspot/cpu/x86/c1_Runtime1_x86.cpp.
func (s *step) unwinding() (next regs.Registers, done bool, err error) {
	before, code := around(s.r.code(), s.pc)
	at := s.sp
	switch rdx := s.register(regs.AMD64RDX); {
	case s.interrupted && bytes.HasSuffix(before, []byte{popRDX}) && s.j.made(rdx):
		next, err = s.leaveTo(rdx, s.sp, 0, false)
		return next, true, err
	case bytes.HasPrefix(code, takes), s.interrupted && bytes.HasSuffix(before, room):
		at += wordSize
	}
	if !s.proved(at) {
		return next, false, nil
	}
	next, err = s.leave(at, at+wordSize, 0, false)
	return next, true, err
}
