#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void refresh(void) {
	pthread_mutex_lock(&cache); /* HERE */
	puts("refreshed");
}

__attribute__((noinline)) static void lookup(void) {
	pthread_mutex_lock(&cache);
	refresh();
	pthread_mutex_unlock(&cache);
}

int main(void) {
	puts("ready");
	fflush(stdout);
	lookup();
	puts("done");
}
