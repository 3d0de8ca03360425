/* gaps DEPTH [CPU]: the main thread reads the clock again and again under DEPTH calls of descend, and adds up the
 * time between two readings where that is longer than a thread needs which nobody interrupts. Where CPU is given it
 * stays on that one.
 *
 * Truth: main, DEPTH times descend, watch. Every byte read from standard input is answered by a line with the ns
 * that were lost so far: in gaps as a look or an interrupt makes them, not in those in which another program ran. */
#include "live.h"
#include <pthread.h>
#include <sched.h>

/* usual is the longest time between two readings that is not lost, ns: reading takes some 30. From foreign on
 * the thread waited for its CPU. */
enum { usual = 1000, foreign = 500000 };

static volatile int staying = 1, sink;
static volatile unsigned long lost;

/* answer is asleep but for the moments in which it is asked. */
static void *answer(void *arg) {
	char c, line[64];
	(void)arg;
	while (read(0, &c, 1) == 1) {
		snprintf(line, sizeof line, "%lu\n", lost);
		live_say(line);
	}
	exit(0);
}

static unsigned long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000UL + (unsigned long)t.tv_nsec;
}

NOINLINE static void watch(void) {
	for (unsigned long last = now(), next; staying; last = next) {
		next = now();
		if (next - last > usual && next - last < foreign)
			lost += next - last;
	}
}

NOINLINE static int descend(long depth) {
	if (depth <= 1) {
		watch();
		return sink;
	}
	return descend(depth - 1) + sink;
}

int main(int argc, char **argv) {
	long depth = live_number(argc, argv, 1, 28), cpu = live_number(argc, argv, 2, -1);
	live_begin();
	alarm(1200);
	pthread_t t;
	if ((errno = pthread_create(&t, NULL, answer, NULL)) != 0)
		live_die("pthread_create");
	if (cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET((int)cpu, &set);
		if (sched_setaffinity(0, sizeof set, &set) != 0)
			live_die("sched_setaffinity");
	}
	live_ready();
	return descend(depth);
}
