#include "textflag.h"

#define SYS_write 1
#define SYS_exit_group 231
#define SYS_prlimit64 302
#define RLIMIT_AS 9

// enter is where the kernel begins the program: the stack is as execve left it, and there is nothing of Go yet. What it
// needs of memory lies in the 128 bytes below the stack pointer, which belong to the program by the ABI.
TEXT ·enter(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	XORL DI, DI
	MOVL $RLIMIT_AS, SI
	XORL DX, DX
	LEAQ -32(SP), R10 // the soft limit, the hard one
	MOVL $SYS_prlimit64, AX
	SYSCALL
	TESTQ AX, AX
	JNE  begin
	MOVQ -32(SP), AX
	CMPQ AX, $(850<<20)
	JCS  refuse
	CMPQ AX, $(1100<<20)
	JCS  begin
	CMPQ AX, $(1400<<20)
	JCC  begin

	MOVQ AX, ·lowered(SB)
	MOVQ $(900<<20), CX
	MOVQ CX, -32(SP)
	XORL DI, DI
	MOVL $RLIMIT_AS, SI
	LEAQ -32(SP), DX
	XORL R10, R10
	MOVL $SYS_prlimit64, AX
	SYSCALL

begin:
	JMP _rt0_amd64_linux(SB)

refuse:
	MOVL $2, DI
	MOVQ ·tooLittle(SB), SI
	MOVQ ·tooLittle+8(SB), DX
	MOVL $SYS_write, AX
	SYSCALL
	MOVL $2, DI
	MOVL $SYS_exit_group, AX
	SYSCALL
	INT  $3
