#include "textflag.h"

// invoke makes the call by the instruction at enter, where the handler finds it.
// func invoke(trap, a1, a2, a3, a4 uintptr) uintptr
TEXT ·invoke(SB),NOSPLIT,$0-48
	MOVD	trap+0(FP), R1
	MOVD	a1+8(FP), R2
	MOVD	a2+16(FP), R3
	MOVD	a3+24(FP), R4
	MOVD	a4+32(FP), R5
	CALL	·enter(SB)
	MOVD	R2, ret+40(FP)
	RET

TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	SYSCALL
	RET

// broken is where a thread goes on whose call was broken: -EINTR.
TEXT ·broken(SB),NOSPLIT|NOFRAME,$0
	MOVD	$-4, R2
	RET

// handler is called by the kernel: signal, siginfo_t, ucontext_t, whose PSW's address lies 48 bytes in.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	MOVD	48(R4), R1
	MOVD	$·enter(SB), R5
	CMPBNE	R1, R5, done
	MOVD	$·broken(SB), R5
	MOVD	R5, 48(R4)
done:
	RET

DATA	·handlerPC+0(SB)/8, $·handler(SB)
GLOBL	·handlerPC(SB), NOPTR|RODATA, $8
