#include "textflag.h"

// invoke makes the call by the instruction at enter, where the handler finds it.
// func invoke(trap, a1, a2, a3, a4 uintptr) uintptr
TEXT ·invoke(SB),NOSPLIT,$0-24
	MOVW	trap+0(FP), R7
	MOVW	a1+4(FP), R0
	MOVW	a2+8(FP), R1
	MOVW	a3+12(FP), R2
	MOVW	a4+16(FP), R3
	CALL	·enter(SB)
	MOVW	R0, ret+20(FP)
	RET

TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	SWI	$0
	RET

// broken is where a thread goes on whose call was broken: -EINTR.
TEXT ·broken(SB),NOSPLIT|NOFRAME,$0
	MOVW	$-4, R0
	RET

// handler is called by the kernel: signal, siginfo_t, ucontext_t, whose pc lies 92 bytes in.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	MOVW	92(R2), R3
	MOVW	$·enter(SB), R4
	CMP	R3, R4
	BNE	done
	MOVW	$·broken(SB), R4
	MOVW	R4, 92(R2)
done:
	RET

DATA	·handlerPC+0(SB)/4, $·handler(SB)
GLOBL	·handlerPC(SB), NOPTR|RODATA, $4
