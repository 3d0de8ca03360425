#include "textflag.h"

// invoke makes the call by the instruction at enter, where the handler finds it.
// func invoke(trap, a1, a2, a3, a4 uintptr) uintptr
TEXT ·invoke(SB),NOSPLIT,$0-48
	MOVQ	trap+0(FP), AX
	MOVQ	a1+8(FP), DI
	MOVQ	a2+16(FP), SI
	MOVQ	a3+24(FP), DX
	MOVQ	a4+32(FP), R10
	CALL	·enter(SB)
	MOVQ	AX, ret+40(FP)
	RET

TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	SYSCALL
	RET

// broken is where a thread goes on whose call was broken: -EINTR.
TEXT ·broken(SB),NOSPLIT|NOFRAME,$0
	MOVQ	$-4, AX
	RET

// handler is called by the kernel: signal, siginfo_t, ucontext_t, whose rip is gregs[16].
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	LEAQ	·enter(SB), AX
	CMPQ	168(DX), AX
	JNE	done
	LEAQ	·broken(SB), AX
	MOVQ	AX, 168(DX)
done:
	RET

DATA	·handlerPC+0(SB)/8, $·handler(SB)
GLOBL	·handlerPC(SB), NOPTR|RODATA, $8
