/* A thread ends with a lock that it has. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *x) {
	pthread_mutex_lock(&journal);
	return x;
}

__attribute__((noinline)) static void append(void) {
	pthread_mutex_lock(&journal); /* HERE */
	puts("appended");
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, writer, 0);
	pthread_join(t, 0);
	puts("ready");
	fflush(stdout);
	append();
}
