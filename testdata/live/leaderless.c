/* leaderless N: the main thread ends, N threads live on, asleep in lives_on. It is ready once the kernel shows the
 * main thread as a zombie; the thread that says so sleeps in its own function.
 *
 * Truth: N threads of which lives_on is a frame, and a whole stack of each. */
#include "live.h"
#include <pthread.h>

static int never[2]; /* a pipe into which nobody writes */
static int parked;
static volatile int sink;

NOINLINE static void *lives_on(void *none) {
	char c;
	__atomic_add_fetch(&parked, 1, __ATOMIC_RELEASE);
	while (read(never[0], &c, 1) < 0)
		sink++;
	return none;
}

NOINLINE static void *reports(void *none) {
	(void)none;
	while (live_state(getpid()) != 'Z')
		live_sleep_us(1000);
	live_ready();
	live_forever();
	return NULL;
}

static void start(void *(*f)(void *)) {
	pthread_t t;
	if ((errno = pthread_create(&t, NULL, f, NULL)) != 0)
		live_die("pthread_create");
}

int main(int argc, char **argv) {
	int n = (int)live_number(argc, argv, 1, 4);
	live_begin();
	if (pipe(never) != 0)
		live_die("pipe");
	for (int i = 0; i < n; i++)
		start(lives_on);
	while (__atomic_load_n(&parked, __ATOMIC_ACQUIRE) < n)
		live_sleep_us(1000);
	start(reports);
	pthread_exit(NULL);
}
