#include "textflag.h"

// invoke makes the call by the instruction at enter, where the handler finds it.
// func invoke(trap, a1, a2, a3, a4 uintptr) uintptr
TEXT ·invoke(SB),NOSPLIT,$0-48
	MOVV	trap+0(FP), R11
	MOVV	a1+8(FP), R4
	MOVV	a2+16(FP), R5
	MOVV	a3+24(FP), R6
	MOVV	a4+32(FP), R7
	CALL	·enter(SB)
	MOVV	R4, ret+40(FP)
	RET

TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	SYSCALL
	RET

// broken is where a thread goes on whose call was broken: -EINTR.
TEXT ·broken(SB),NOSPLIT|NOFRAME,$0
	MOVV	$-4, R4
	RET

// handler is called by the kernel: signal, siginfo_t, ucontext_t, whose pc lies 176 bytes in.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	MOVV	176(R6), R12
	MOVV	$·enter(SB), R13
	BNE	R12, R13, done
	MOVV	$·broken(SB), R13
	MOVV	R13, 176(R6)
done:
	RET

DATA	·handlerPC+0(SB)/8, $·handler(SB)
GLOBL	·handlerPC(SB), NOPTR|RODATA, $8
