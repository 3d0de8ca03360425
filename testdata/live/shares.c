/* shares: says how much CPU time four of its functions took, by the clock of its thread. */
#include "live.h"

static volatile unsigned long sink;
static char from[1 << 16], to[1 << 16];

NOINLINE static void numbers(void) {
	unsigned long v = sink;
	for (int i = 0; i < 300000; i++)
		v = v * 31 + (v >> 7) + (unsigned long)i;
	sink = v;
}

NOINLINE static void copies(void) {
	for (int i = 0; i < 40; i++) {
		memcpy(to + i, from, sizeof from - (size_t)i);
		__asm__ volatile("" ::: "memory");
	}
	sink += (unsigned long)to[99];
}

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

NOINLINE static void objects(void) {
	for (int i = 0; i < 20; i++) {
		int *some = malloc(64 * sizeof *some);
		for (int k = 0; k < 64; k++)
			some[k] = (k * 7919 + (int)sink) % 1009;
		qsort(some, 64, sizeof *some, by_number);
		sink += (unsigned long)some[0];
		free(some);
	}
}

NOINLINE static void failures(void) {
	for (int i = 0; i < 300; i++)
		sink += (unsigned long)(read(-1, to, 1) + close(-1));
}

static long long now(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void) {
	void (*const parts[])(void) = {numbers, copies, objects, failures};
	long long spent[4] = {0}, said = now(CLOCK_MONOTONIC);
	live_begin();
	for (;;) {
		for (int i = 0; i < 4; i++) {
			long long begin = now(CLOCK_THREAD_CPUTIME_ID);
			parts[i]();
			spent[i] += now(CLOCK_THREAD_CPUTIME_ID) - begin;
		}
		if (now(CLOCK_MONOTONIC) - said > 250000000) {
			char line[200];
			said = now(CLOCK_MONOTONIC);
			snprintf(line, sizeof line, "shares numbers %lld copies %lld objects %lld failures %lld\n", spent[0],
				 spent[1], spent[2], spent[3]);
			live_say(line);
		}
	}
}
