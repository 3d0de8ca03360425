/* threads N DEPTH: N threads, each asleep under DEPTH calls of descend.
 *
 * Truth: every one of them has, from the inside out, libc's pause, bottom, DEPTH
 * times descend, thread_main and libc's start of a thread. The main thread sleeps
 * in await_end, called by main. */
#include "live.h"
#include <pthread.h>

static pid_t *sleepers;
/* staying never becomes 0; a compiler that knew it would drop the code behind. */
static volatile int staying = 1, sink;

NOINLINE static void bottom(void) {
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
	/* The addition keeps this from becoming a jump or a loop. */
	return descend(depth - 1) + sink;
}

static long depth_wanted;

static void *thread_main(void *slot) {
	__atomic_store_n((pid_t *)slot, live_tid(), __ATOMIC_RELEASE);
	sink += descend(depth_wanted);
	return NULL;
}

NOINLINE static void await_end(void) {
	while (staying) {
		pause();
		sink++;
	}
}

int main(int argc, char **argv) {
	long n = live_number(argc, argv, 1, 4);
	depth_wanted = live_number(argc, argv, 2, 10);
	live_begin();
	sleepers = calloc((size_t)n, sizeof *sleepers);
	if (sleepers == NULL)
		live_die("calloc");

	pthread_attr_t attr;
	pthread_attr_init(&attr);
	/* 128 bytes a frame is more than any compiler here takes for descend. */
	pthread_attr_setstacksize(&attr, 64 * 1024 + (size_t)depth_wanted * 128);
	for (long i = 0; i < n; i++) {
		pthread_t t;
		errno = pthread_create(&t, &attr, thread_main, &sleepers[i]);
		if (errno != 0)
			live_die("pthread_create");
	}
	for (long i = 0; i < n; i++) {
		pid_t tid;
		while ((tid = __atomic_load_n(&sleepers[i], __ATOMIC_ACQUIRE)) == 0)
			live_sleep_us(100);
		live_await_sleep(tid);
	}
	live_ready();
	await_end();
	return sink;
}
