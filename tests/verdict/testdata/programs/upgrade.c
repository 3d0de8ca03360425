/* Two readers want to write. */
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;

static void *upgrade(void *x) {
	pthread_rwlock_rdlock(&table);
	pthread_barrier_wait(&both);
	pthread_rwlock_wrlock(&table); /* HERE */
	return x;
}

int main(void) {
	pthread_t t, u;
	pthread_barrier_init(&both, 0, 2);
	puts("ready");
	fflush(stdout);
	pthread_create(&t, 0, upgrade, 0);
	pthread_create(&u, 0, upgrade, 0);
	pthread_join(t, 0);
	pthread_join(u, 0);
}
