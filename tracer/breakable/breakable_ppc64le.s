#include "textflag.h"

// invoke makes the call by the instruction at enter, where the handler finds it.
// func invoke(trap, a1, a2, a3, a4 uintptr) uintptr
TEXT ·invoke(SB),NOSPLIT,$0-48
	MOVD	a1+8(FP), R3
	MOVD	a2+16(FP), R4
	MOVD	a3+24(FP), R5
	MOVD	a4+32(FP), R6
	MOVD	trap+0(FP), R9
	OR	R9, R9, R0
	CALL	·enter(SB)
	XOR	R0, R0	// Go's zero
	MOVD	R3, ret+40(FP)
	RET

TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	SYSCALL
	BVC	good
	NEG	R3, R3
good:
	RET

// broken is where a thread goes on whose call was broken: -EINTR.
TEXT ·broken(SB),NOSPLIT|NOFRAME,$0
	MOVD	$-4, R3
	RET

// handler is called by the kernel: signal, siginfo_t, ucontext_t, whose nip lies 488 bytes in.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	XOR	R0, R0
	MOVD	488(R5), R6
	MOVD	$·enter(SB), R7
	CMP	R6, R7
	BNE	done
	MOVD	$·broken(SB), R7
	MOVD	R7, 488(R5)
done:
	RET

DATA	·handlerPC+0(SB)/8, $·handler(SB)
GLOBL	·handlerPC(SB), NOPTR|RODATA, $8
