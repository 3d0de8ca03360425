#include "textflag.h"

// invoke makes the call by the instruction at enter, where the handler finds it.
// func invoke(trap, a1, a2, a3, a4 uintptr) uintptr
TEXT ·invoke(SB),NOSPLIT,$0-24
	MOVL	trap+0(FP), AX
	MOVL	a1+4(FP), BX
	MOVL	a2+8(FP), CX
	MOVL	a3+12(FP), DX
	MOVL	a4+16(FP), SI
	CALL	·enter(SB)
	MOVL	AX, ret+20(FP)
	RET

TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	INT	$0x80
	RET

// broken is where a thread goes on whose call was broken: -EINTR.
TEXT ·broken(SB),NOSPLIT|NOFRAME,$0
	MOVL	$-4, AX
	RET

// handler is called by the kernel: signal, siginfo_t, ucontext_t on the stack; eip lies 76 bytes into the last.
TEXT ·handler(SB),NOSPLIT|NOFRAME,$0
	MOVL	12(SP), DX
	LEAL	·enter(SB), AX
	CMPL	76(DX), AX
	JNE	done
	LEAL	·broken(SB), AX
	MOVL	AX, 76(DX)
done:
	RET

DATA	·handlerPC+0(SB)/4, $·handler(SB)
GLOBL	·handlerPC(SB), NOPTR|RODATA, $4
