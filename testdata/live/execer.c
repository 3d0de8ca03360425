/* execer leader|thread ROUNDS INTERVAL_US [EXTRA]: executes itself ROUNDS times,
 * from the main thread or from another, with EXTRA more threads asleep each time.
 *
 * It writes "R" once, before the first exec, and "D" after the last; then it
 * sleeps. The alarm and the parent-death signal of the first round stay (execve(2),
 * prctl(2)). */
#include "live.h"
#include <pthread.h>

static char **arguments;
static long rounds, interval_us;

static void again(void) {
	char left[32];
	live_sleep_us(interval_us);
	snprintf(left, sizeof left, "%ld", rounds - 1);
	arguments[2] = left;
	execv("/proc/self/exe", arguments);
	live_die("execv");
}

static void *exec_thread(void *unused) {
	again();
	return unused;
}

static void *sleeper(void *unused) {
	live_forever();
	return unused;
}

static void start(void *(*body)(void *)) {
	pthread_t t;
	errno = pthread_create(&t, NULL, body, NULL);
	if (errno != 0)
		live_die("pthread_create");
}

int main(int argc, char **argv) {
	if (argc < 4) {
		fprintf(stderr, "usage: execer leader|thread ROUNDS INTERVAL_US [EXTRA]\n");
		return 64;
	}
	arguments = argv;
	rounds = live_number(argc, argv, 2, 0);
	interval_us = live_number(argc, argv, 3, 1000);
	if (getenv("EXECER_STARTED") == NULL) {
		live_begin();
		setenv("EXECER_STARTED", "1", 1);
		live_ready();
	}
	if (rounds <= 0) {
		live_say("D\n");
		live_forever();
	}
	for (long i = live_number(argc, argv, 4, 2); i > 0; i--)
		start(sleeper);
	if (strcmp(argv[1], "thread") == 0) {
		start(exec_thread);
		live_forever();
	}
	again();
}
