/* One of three threads left before the barrier. */
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t phase;

static void *step(void *x) {
	if (x)
		return 0;
	pthread_barrier_wait(&phase); /* HERE */
	return x;
}

int main(void) {
	pthread_t t[3];
	pthread_barrier_init(&phase, 0, 3);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, step, i == 1 ? &t : 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
}
