// Dies by a signal, or waits for one, in the way that its argument names; another thread sleeps, one computes.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long asleep;

static void *sleeper(void *at)
{
	pthread_barrier_wait(at);
	asleep = syscall(SYS_gettid);
	for (;;)
		pause();
}

static void *computer(void *at)
{
	pthread_barrier_wait(at);
	for (volatile unsigned n = 0;; n++)
		;
}

// settle waits until the sleeper is in its call.
static void settle(void)
{
	char path[64], text[64] = "";
	for (int i = 0; i < 10000 && atoi(text) != SYS_pause; i++) {
		usleep(1000);
		snprintf(path, sizeof path, "/proc/self/task/%ld/syscall", asleep);
		FILE *f = fopen(path, "r");
		if (f) {
			if (!fgets(text, sizeof text, f))
				text[0] = 0;
			fclose(f);
		}
	}
}

// fall writes to p, n calls deep.
NOINLINE static int fall(int n, volatile int *p)
{
	if (n == 0)
		return *p = 1;
	int r = fall(n - 1, p);
	return r + 1;
}

static void handler(int signal)
{
	(void)signal;
	fall(2, (int *)8);
}

// overflow uses up the stack.
NOINLINE static int overflow(int n)
{
	volatile char room[200];
	room[0] = (char)n;
	return overflow(n + 1) + room[0];
}

static void *overflower(void *unused)
{
	return unused + overflow(0);
}

NOINLINE static int die(const char *how)
{
	if (!strcmp(how, "null"))
		return fall(3, (int *)16);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "handler")) {
		signal(SIGUSR1, handler);
		return raise(SIGUSR1);
	}
	if (!strcmp(how, "overflow"))
		return overflow(0);
	if (!strcmp(how, "overflow-thread")) {
		pthread_t t;
		pthread_create(&t, NULL, overflower, NULL);
		return pthread_join(t, NULL);
	}
	puts("R");
	fflush(stdout);
	return pause();
}

int main(int argc, char **argv)
{
	pthread_barrier_t start;
	pthread_t t;
	pthread_barrier_init(&start, NULL, 3);
	pthread_create(&t, NULL, sleeper, &start);
	pthread_create(&t, NULL, computer, &start);
	pthread_barrier_wait(&start);
	settle();
	return die(argc > 1 ? argv[1] : "wait") + 1;
}
