/* parks A B: A threads sleep in work_a and B in work_b_, until the end.
 *
 * Truth: of the wall time of these threads work_a has A parts of A + B, whatever else the
 * machine does. The main thread sleeps in neither. */
#include "live.h"
#include <pthread.h>

static int never[2]; /* a pipe into which nobody writes */
static int parked;
static volatile int sink;

#define PARK(name)                                                                     \
	NOINLINE static void *name(void *none) {                                       \
		char c;                                                                \
		__atomic_add_fetch(&parked, 1, __ATOMIC_RELEASE);                      \
		while (read(never[0], &c, 1) < 0)                                      \
			sink += sizeof #name; /* no two of them become one */          \
		return none;                                                           \
	}
PARK(work_a)
PARK(work_b_)

int main(int argc, char **argv) {
	int a = (int)live_number(argc, argv, 1, 7), b = (int)live_number(argc, argv, 2, 3);
	live_begin();
	if (pipe(never) != 0)
		live_die("pipe");
	for (int i = 0; i < a + b; i++) {
		pthread_t t;
		if ((errno = pthread_create(&t, NULL, i < a ? work_a : work_b_, NULL)) != 0)
			live_die("pthread_create");
	}
	while (__atomic_load_n(&parked, __ATOMIC_ACQUIRE) < a + b)
		live_sleep_us(1000);
	live_ready();
	live_forever();
}
