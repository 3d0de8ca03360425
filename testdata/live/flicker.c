/* flicker: the main thread computes for some 50 us in compute, sleeps for as long in nap, and so on.
 *
 * Truth: main, then compute, or nap with the calls that it makes. Where it sleeps the innermost function is that of
 * libc which waits. */
#include "live.h"

static volatile unsigned long sink;

static NOINLINE void compute(void) {
	for (int i = 0; i < 50000; i++)
		sink++;
}

static NOINLINE void nap(void) {
	struct timespec t = {0, 50000};
	nanosleep(&t, NULL);
	sink++;
}

int main(void) {
	live_begin();
	live_ready();
	for (;;) {
		compute();
		nap();
	}
}
