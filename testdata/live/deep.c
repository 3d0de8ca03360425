/* deep DEPTH: one thread asleep under DEPTH (100,000) calls of descend.
 *
 * The recursion runs on a thread of its own, whose stack is as large as it needs;
 * the main thread's is limited by whoever starts the test. */
#include "live.h"
#include <pthread.h>

/* staying never becomes 0; a compiler that knew it would drop the code behind. */
static volatile int staying = 1, sink;
static volatile pid_t sleeper;

NOINLINE static void bottom(void) {
	sleeper = live_tid();
	while (staying) {
		pause();
		sink++;
	}
}

NOINLINE static int descend(long depth) {
	if (depth <= 1) {
		bottom();
		return sink;
	}
	return descend(depth - 1) + sink;
}

static void *thread_main(void *depth) {
	sink += descend(*(long *)depth);
	return NULL;
}

int main(int argc, char **argv) {
	long depth = live_number(argc, argv, 1, 100000);
	live_begin();
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1024 * 1024 + (size_t)depth * 128);
	pthread_t t;
	errno = pthread_create(&t, &attr, thread_main, &depth);
	if (errno != 0)
		live_die("pthread_create");
	while (sleeper == 0)
		live_sleep_us(200);
	live_await_sleep(sleeper);
	live_ready();
	live_forever();
}
