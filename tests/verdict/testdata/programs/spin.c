/* Waits for a flag that nobody sets. */
#include <pthread.h>
#include <stdio.h>

static volatile int ready;

__attribute__((noinline)) static void *progress(void *x) {
	while (!ready) /* HERE */
		__asm__ volatile("pause"); /* HERE */
	return x;
}

int main(void) {
	pthread_t t;
	puts("ready");
	fflush(stdout);
	pthread_create(&t, 0, progress, 0);
	pthread_join(t, 0);
}
