/* manystacks SECONDS: computes under a stack that is another one all the time: 24 calls,
 * each of one of sixteen functions chosen at random, held for a millisecond.
 *
 * Truth: nearly every sample is a stack that was not met before. */
#include "live.h"
#include <stdint.h>

static volatile unsigned long sink;
static uint64_t state = 88172645463325252ULL;

static uint64_t chance(void) { /* xorshift64, Marsaglia 2003 */
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void call(int depth);

#define STEP(n)                                                                        \
	NOINLINE static void step_##n(int depth) {                                     \
		call(depth - 1);                                                       \
		sink += n;                                                             \
	}
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15)
static void (*const steps[])(int) = {step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7,
	step_8, step_9, step_10, step_11, step_12, step_13, step_14, step_15};

static long long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

NOINLINE static void call(int depth) {
	if (depth > 0) {
		steps[chance() % 16](depth);
		sink++;
		return;
	}
	long long until = now() + 1000000;
	while (now() < until)
		for (int i = 0; i < 1000; i++)
			sink++;
}

int main(int argc, char **argv) {
	long seconds = live_number(argc, argv, 1, 5);
	live_begin();
	alarm((unsigned)seconds + 60);
	live_ready();
	for (long long end = now() + seconds * 1000000000LL; now() < end;)
		call(24);
	return 0;
}
