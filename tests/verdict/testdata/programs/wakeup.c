/* The signal came before the wait. Six workers wait for jobs, as they should. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER, more = PTHREAD_COND_INITIALIZER;
static int jobs;

static void *worker(void *x) {
	pthread_mutex_lock(&lock);
	while (!jobs)
		pthread_cond_wait(&more, &lock);
	return x;
}

__attribute__((noinline)) static void await_result(void) {
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&finished, &lock); /* HERE */
	pthread_mutex_unlock(&lock);
}

int main(void) {
	pthread_t t;
	for (int i = 0; i < 6; i++)
		pthread_create(&t, 0, worker, 0);
	pthread_cond_signal(&finished);
	puts("ready");
	fflush(stdout);
	await_result();
	puts("done");
}
