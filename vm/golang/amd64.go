package golang

import (
	"bytes"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/vm/view"
)

// amd64 is what runtime/asm_amd64.s does, and runtime/cgo/asm_amd64.s.
var amd64 = port{
	arch:       regs.AMD64,
	g:          regs.AMD64R14,
	callLength: 5,
	call: func(code []byte) (int64, bool) { // e8 and the distance from behind it
		return 5 + int64(int32(order.Uint32(code[1:]))), code[0] == 0xe8
	},
	resumed:   resumedAMD64,
	tlsReader: callC,
	tls:       (*Runtime).readsTLS,
	refers:    refersAMD64,
	calledC:   (*Runtime).calledCAMD64,
	keptAt:    keptAt,
	left:      8,
	entered:   []uint64{16, 64}, // 64 up to Go 1.21
	frame:     goFrame{sp: 0, fp: 24, ra: 32, size: 40},
	kept:      callFrame{fp: 0, ra: 8, size: 16, depth: 0, g: 1},
}

// resumedAMD64 reads PC from the gobuf that rbx points to until it is loaded too, for the jump that comes last.
func resumedAMD64(code []byte, now *regs.Registers, word func(mem.Addr) (uint64, error)) (regs.Registers, bool, error) {
	const jump = "\xff\xe3" // jmp rbx
	next := *now
	pc, ok := now.Get(regs.AMD64RBX)
	if !ok || len(code) < len(jump) {
		return next, false, nil
	}
	if string(code[:len(jump)]) != jump {
		saved, err := word(mem.Addr(pc) + bufPC*wordSize)
		if err != nil {
			return next, false, err
		}
		pc = saved
	}
	next.Set(regs.AMD64.PC, pc)
	return next, true, nil
}

// calledCAMD64 is where runtime.asmcgocall goes on behind the call of C that it made at sp.
func (r *Runtime) calledCAMD64(sp mem.Addr, v *view.View) (mem.Addr, bool) {
	pc, err := v.Word(sp - wordSize)
	return mem.Addr(pc), err == nil && r.name(mem.Addr(pc)-1) == callC
}

// keptAt is how far above SP runtime.asmcgocall keeps what it needs, by the code that it goes on with: up to Go 1.21
// "mov rdi, [rsp+48]" or "mov rsi, [rsp+40]", since then at SP.
func keptAt(code []byte) mem.Addr {
	code = code[:min(len(code), 32)]
	if bytes.Contains(code, []byte("\x48\x8b\x7c\x24\x30")) || bytes.Contains(code, []byte("\x48\x8b\x74\x24\x28")) {
		return 40
	}
	return 0
}

// refersAMD64 lists what instructions may refer to by rip, as they are not told from what is inside of them.
func refersAMD64(code []byte, at mem.Addr) (out []mem.Addr) {
	for i := 0; i+7 <= len(code); i++ { // REX, a move or LEA or comparison, a ModRM of RIP and 32 bits
		const ripMask, rip = 0xc7, 0x05
		if isREX(code[i]) && strings.IndexByte("\x8b\x8d\x89\x39\x3b\x87", code[i+1]) >= 0 &&
			code[i+2]&ripMask == rip {
			out = append(out, at+mem.Addr(i+7)+mem.Addr(int32(order.Uint32(code[i+3:]))))
		}
	}
	return out
}
