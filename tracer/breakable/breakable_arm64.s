#include "textflag.h"

// invoke makes the call by the instruction at enter, where the handler finds it.
// func invoke(trap, a1, a2, a3, a4 uintptr) uintptr
TEXT ·invoke(SB),NOSPLIT,$0-48
	MOVD	trap+0(FP), R8
	MOVD	a1+8(FP), R0
	MOVD	a2+16(FP), R1
	MOVD	a3+24(FP), R2
	MOVD	a4+32(FP), R3
	CALL	·enter(SB)
	MOVD	R0, ret+40(FP)
	RET

TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	SVC
	RET

// broken is where a thread goes on whose call was broken: -EINTR.
TEXT ·broken(SB),NOSPLIT|NOFRAME,$0
	MOVD	$-4, R0
	RET

// handler is called by the kernel: signal, siginfo_t, ucontext_t, whose pc lies 440 bytes in.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	MOVD	440(R2), R3
	MOVD	$·enter(SB), R4
	CMP	R3, R4
	BNE	done
	MOVD	$·broken(SB), R4
	MOVD	R4, 440(R2)
done:
	RET

DATA	·handlerPC+0(SB)/8, $·handler(SB)
GLOBL	·handlerPC(SB), NOPTR|RODATA, $8
