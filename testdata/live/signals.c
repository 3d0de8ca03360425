/* signals raise|fault|nested: asleep in a signal handler on an alternate stack.
 *
 * Truth, from the inside out: pause, handler, the signal trampoline, then
 *   raise:   libc's raise and what it calls, inner, middle, outer, main
 *   fault:   inner at the very instruction that stored to address 8, middle, ...
 *   nested:  second_handler, trampoline, libc's raise, handler, trampoline, ...
 *            both handlers on the alternate stack */
#include "live.h"

/* staying never becomes 0; a compiler that knew it would drop the code behind. */
static volatile int staying = 1, sink;
static enum { RAISE, FAULT, NESTED } how;
static char alternate[64 * 1024];

NOINLINE static void sleep_here(void) {
	live_ready();
	while (staying) {
		pause();
		sink++;
	}
}

static void second_handler(int sig) {
	sink += sig;
	sleep_here();
}

static void handler(int sig) {
	sink += sig;
	if (how == NESTED)
		raise(SIGUSR2);
	else
		sleep_here();
	sink++;
}

NOINLINE static int inner(int *where) {
	if (how == FAULT)
		*(volatile int *)where = 1;
	else
		raise(SIGUSR1);
	return sink;
}

NOINLINE static int middle(int *where) { return inner(where) + sink; }
NOINLINE static int outer(int *where) { return middle(where) + sink; }

static void catch(int sig, void (*with)(int)) {
	struct sigaction action = {.sa_flags = SA_ONSTACK};
	action.sa_handler = with;
	if (sigaction(sig, &action, NULL) != 0)
		live_die("sigaction");
}

int main(int argc, char **argv) {
	const char *name = argc > 1 ? argv[1] : "raise";
	how = strcmp(name, "fault") == 0 ? FAULT : strcmp(name, "nested") == 0 ? NESTED : RAISE;
	live_begin();
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
	if (sigaltstack(&stack, NULL) != 0)
		live_die("sigaltstack");
	catch(SIGUSR1, handler);
	catch(SIGSEGV, handler);
	catch(SIGUSR2, second_handler);
	/* Address 8 comes through a volatile, lest the compiler sees the fault. */
	int *volatile nowhere = (int *)8;
	return outer(nowhere) + sink;
}
