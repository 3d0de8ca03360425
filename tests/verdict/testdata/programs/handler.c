/* A signal handler takes the lock of the code that it interrupted. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

static pthread_mutex_t stats = PTHREAD_MUTEX_INITIALIZER;

static void on_signal(int s) {
	(void)s;
	pthread_mutex_lock(&stats); /* HERE */
	pthread_mutex_unlock(&stats);
}

__attribute__((noinline)) static void count(void) {
	pthread_mutex_lock(&stats);
	raise(SIGUSR1);
	pthread_mutex_unlock(&stats);
}

int main(void) {
	signal(SIGUSR1, on_signal);
	puts("ready");
	fflush(stdout);
	count();
	puts("done");
}
