#include "textflag.h"

// invoke makes the call by the instruction at enter, where the handler finds it.
// func invoke(trap, a1, a2, a3, a4 uintptr) uintptr
TEXT ·invoke(SB),NOSPLIT,$0-48
	MOV	trap+0(FP), X17
	MOV	a1+8(FP), X10
	MOV	a2+16(FP), X11
	MOV	a3+24(FP), X12
	MOV	a4+32(FP), X13
	CALL	·enter(SB)
	MOV	X10, ret+40(FP)
	RET

TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	ECALL
	RET

// broken is where a thread goes on whose call was broken: -EINTR.
TEXT ·broken(SB),NOSPLIT|NOFRAME,$0
	MOV	$-4, X10
	RET

// handler is called by the kernel: signal, siginfo_t, ucontext_t, whose pc lies 176 bytes in.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	MOV	176(X12), X5
	MOV	$·enter(SB), X6
	BNE	X5, X6, done
	MOV	$·broken(SB), X6
	MOV	X6, 176(X12)
done:
	RET

DATA	·handlerPC+0(SB)/8, $·handler(SB)
GLOBL	·handlerPC(SB), NOPTR|RODATA, $8
