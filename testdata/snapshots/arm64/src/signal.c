// _start -> main_ -> alpha -> beta -> victim, an instruction in victim traps, and the handler
// -> inner -> spin. victim calls nothing: LR holds its caller. The instruction stands at the
// symbol "trapped". With ALTSTACK the handler runs on another stack, below the first.
#include "target.h"

// struct sigaction of the kernel, arch/arm64: no restorer, so that the vDSO's trampoline is used.
struct action { void (*handler)(int); word flags; void (*restorer)(void); word mask; };
struct stack { void *sp; int flags; word size; };

enum { SIGILL = 4, SA_ONSTACK = 0x08000000 };

OUTLINE int tick(int n) { after(); return n + stop; }

OUTLINE int spin(int n)
{
	ready();
	while (!stop)
		;
	return n;
}

OUTLINE int inner(int n)
{
	int kept = tick(n);
	return spin(n) + kept;
}

// The handler keeps values in registers that it must save: its frame record is not at the top
// of its frame.
OUTLINE void handler(int signal)
{
	int first = tick(signal), second = tick(first);
	stop = inner(signal) + first + second;
}

OUTLINE int victim(int n)
{
	__asm__ volatile(".globl trapped\ntrapped: udf #0" ::: "memory");
	return n;
}

OUTLINE int beta(int n) { int got = victim(n + 1); after(); return got; }
OUTLINE int alpha(int n) { int got = beta(n + 1); after(); return got; }

OUTLINE int main_(void)
{
	struct action a = { .handler = handler };
#ifdef ALTSTACK
	static char room[16384] __attribute__((aligned(16)));
	struct stack s = { .sp = room, .size = sizeof room };
	call(NR_sigaltstack, (word)&s, 0, 0, 0);
	a.flags = SA_ONSTACK;
#endif
	call(NR_rt_sigaction, SIGILL, (word)&a, 0, 8);
	int got = alpha(1);
	after();
	return got;
}
START;
