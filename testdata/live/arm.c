/* arm: a program for 32-bit arm that needs no library: a chain of calls that waits. */
#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE static void bottom(void) {
	register long number __asm__("r7") = 29; /* pause, arch/arm/tools/syscall.tbl */
	__asm__ volatile("svc 0" : : "r"(number) : "r0", "memory");
	sink++;
}

NOINLINE static void middle(int n) {
	bottom();
	sink += n;
}

NOINLINE static void top(int n) {
	middle(n + 1);
	sink += n;
}

void _start(void) {
	for (;;)
		top(1);
}
