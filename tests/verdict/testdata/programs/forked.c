/* A child of a fork wants a lock that another thread of its parent had. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t locked;

static void *logger(void *x) {
	pthread_mutex_lock(&log_lock);
	pthread_barrier_wait(&locked);
	for (;;)
		usleep(200000);
	return x;
}

__attribute__((noinline)) static void child_main(void) {
	pthread_mutex_lock(&log_lock); /* HERE */
	puts("child");
}

int main(void) {
	pthread_t t;
	pthread_barrier_init(&locked, 0, 2);
	pthread_create(&t, 0, logger, 0);
	pthread_barrier_wait(&locked);
	pid_t pid = fork();
	if (pid == 0) {
		child_main();
		_exit(0);
	}
	FILE *f = fopen("culprit", "w");
	fprintf(f, "%d\n", pid);
	fclose(f);
	puts("ready");
	fflush(stdout);
	waitpid(pid, 0, 0);
}
