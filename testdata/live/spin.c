/* spin DEPTH PARKED [CPU]: the main thread computes under DEPTH calls of descend, PARKED
 * others sleep. Where CPU is given the main thread stays on that one.
 *
 * Truth: main, DEPTH times descend, grind. Every byte read from standard input is answered
 * by a line with the number of rounds of grind so far. */
#include "live.h"
#include <pthread.h>
#include <sched.h>

static volatile int staying = 1, sink;
static volatile unsigned long rounds;

static void *park(void *arg) {
	__atomic_store_n((pid_t *)arg, live_tid(), __ATOMIC_RELEASE);
	while (staying)
		pause();
	return NULL;
}

/* answer is asleep but for the moments in which it is asked. */
static void *answer(void *arg) {
	char c, line[64];
	(void)arg;
	while (read(0, &c, 1) == 1) {
		snprintf(line, sizeof line, "%lu\n", rounds);
		live_say(line);
	}
	exit(0);
}

NOINLINE static void grind(void) {
	unsigned long v = 1;
	while (staying) {
		for (int i = 0; i < 100; i++)
			v = v * 6364136223846793005UL + 1442695040888963407UL;
		sink = (int)v;
		rounds++;
	}
}

NOINLINE static int descend(long depth) {
	if (depth <= 1) {
		grind();
		return sink;
	}
	return descend(depth - 1) + sink;
}

int main(int argc, char **argv) {
	long depth = live_number(argc, argv, 1, 28), parked = live_number(argc, argv, 2, 0);
	long cpu = live_number(argc, argv, 3, -1);
	live_begin();
	alarm(1200); /* some recordings take ten minutes */
	pid_t *slots = calloc((size_t)parked + 1, sizeof *slots);
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_t t;
	for (long i = 0; i < parked; i++)
		if ((errno = pthread_create(&t, &attr, park, &slots[i])) != 0)
			live_die("pthread_create");
	for (long i = 0; i < parked; i++) {
		pid_t tid;
		while ((tid = __atomic_load_n(&slots[i], __ATOMIC_ACQUIRE)) == 0)
			live_sleep_us(100);
		live_await_sleep(tid);
	}
	if ((errno = pthread_create(&t, &attr, answer, NULL)) != 0)
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
