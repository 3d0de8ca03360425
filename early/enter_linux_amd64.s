#include "textflag.h"

#define SYS_write 1
#define SYS_rt_sigaction 13
#define SYS_fcntl 72
#define SYS_exit_group 231
#define SYS_prlimit64 302
#define RLIMIT_AS 9
#define F_GETFD 1
#define SIG_IGN 1

// enter is where the kernel begins the program: the stack is as execve left it, and there is nothing of Go yet. What it
// needs of memory lies in the 128 bytes below the stack pointer, which belong to the program by the ABI.
TEXT ·enter(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	XORL BX, BX // descriptors 0 to 2
	XORL R8, R8
descriptor:
	MOVL BX, DI
	MOVL $F_GETFD, SI
	MOVL $SYS_fcntl, AX
	SYSCALL
	TESTQ AX, AX
	JGE  open
	BTSQ BX, R8
open:
	INCL BX
	CMPL BX, $3
	JCS  descriptor
	MOVQ R8, ·closed(SB)

	MOVL $1, BX // signals 1 to 31
	XORL R8, R8
sig:
	MOVL BX, DI
	XORL SI, SI
	LEAQ -64(SP), DX // struct kernel_sigaction: the handler, flags, a restorer, a mask
	MOVL $8, R10
	MOVL $SYS_rt_sigaction, AX
	SYSCALL
	TESTQ AX, AX
	JNE  heeded
	CMPQ -64(SP), $SIG_IGN
	JNE  heeded
	BTSQ BX, R8
heeded:
	INCL BX
	CMPL BX, $32
	JCS  sig
	MOVQ R8, ·ignored(SB)

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
