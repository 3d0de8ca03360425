#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *deposit(void *x) {
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&b); /* HERE */
	return x;
}

static void *withdraw(void *x) {
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&a); /* HERE */
	return x;
}

int main(void) {
	pthread_t t, u;
	puts("ready");
	fflush(stdout);
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&t, 0, deposit, 0);
	pthread_create(&u, 0, withdraw, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
}
