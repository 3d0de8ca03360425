/* Four threads take two locks each, in one order, all the time, and sleep a little with them. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *x) {
	for (;;) {
		pthread_mutex_lock(&a);
		pthread_mutex_lock(&b);
		usleep(2000);
		pthread_mutex_unlock(&b);
		pthread_mutex_unlock(&a);
	}
	return x;
}

int main(void) {
	pthread_t t;
	for (int i = 0; i < 4; i++)
		pthread_create(&t, 0, work, 0);
	puts("ready");
	fflush(stdout);
	pthread_join(t, 0);
}
