/* Waits for a condition for a minute at most, in a thread that the first one joins. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flushed = PTHREAD_COND_INITIALIZER;

static void *flush(void *x) {
	for (;;) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 60;
		pthread_mutex_lock(&lock);
		pthread_cond_timedwait(&flushed, &lock, &until);
		pthread_mutex_unlock(&lock);
	}
	return x;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, flush, 0);
	puts("ready");
	fflush(stdout);
	pthread_join(t, 0);
}
