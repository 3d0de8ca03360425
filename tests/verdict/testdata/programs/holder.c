/* Forty threads want a lock; who has it reads from a socket, and nobody answers. */
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t session = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t locked;
static int ends[2];

__attribute__((noinline)) static void fetch(int fd) {
	char c;
	if (recv(fd, &c, 1, 0) == 1) /* HERE */
		puts("fetched");
}

static void *holder(void *x) {
	pthread_mutex_lock(&session);
	pthread_barrier_wait(&locked);
	fetch(ends[0]);
	pthread_mutex_unlock(&session);
	return x;
}

static void *other(void *x) {
	pthread_mutex_lock(&session);
	pthread_mutex_unlock(&session);
	return x;
}

int main(void) {
	pthread_t t[41];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	pthread_barrier_init(&locked, 0, 2);
	pthread_create(&t[0], 0, holder, 0);
	pthread_barrier_wait(&locked);
	for (int i = 1; i < 41; i++)
		pthread_create(&t[i], 0, other, 0);
	puts("ready");
	fflush(stdout);
	for (int i = 1; i < 41; i++)
		pthread_join(t[i], 0);
}
