/* Two processes, two locks in memory that they share. */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	pthread_mutex_t a, b;
	pthread_barrier_t both;
} *s;

__attribute__((noinline)) static void take(pthread_mutex_t *one, pthread_mutex_t *other) {
	pthread_mutex_lock(one);
	pthread_barrier_wait(&s->both);
	pthread_mutex_lock(other); /* HERE */
	pthread_mutex_unlock(other);
}

int main(void) {
	pthread_mutexattr_t m;
	pthread_barrierattr_t b;
	s = mmap(0, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&m);
	pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
	pthread_barrierattr_init(&b);
	pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->a, &m);
	pthread_mutex_init(&s->b, &m);
	pthread_barrier_init(&s->both, &b, 2);
	puts("ready");
	fflush(stdout);
	if (fork() == 0) {
		take(&s->a, &s->b);
		_exit(0);
	}
	take(&s->b, &s->a);
	wait(0);
}
