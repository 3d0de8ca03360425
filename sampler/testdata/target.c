// target is what the live tests of package sampler record. It writes 'r' when it stands where
// its first argument says, and works until it is killed:
//
//	duty A B          spins A ms in work_a, B ms in work_b, and so on
//	burst             computes 1.5, 0.9 and 0.6 ms in burst_a, burst_b, burst_c, sleeps 7 ms
//	parked N          N threads wait on a condition, the main thread spins in work_a
//	churn             starts threads that spin 30 ms in work_a, one after the other
//	forks N           forks N children, vforks and execs N more; each spins 150 ms in work_b
//	exec PROGRAM ARG  spins 300 ms in work_a, then executes PROGRAM ARG
//	quick             ends at once
//	calls             computes some ten microseconds in work_between, then makes a short system call in work_call
//	callshare         writes the share of time that the calls of that take, and ends
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static const char *self;

static double now(clockid_t id) {
	struct timespec t;
	clock_gettime(id, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

// Each counts its own CPU time: what takes the CPU away does not change the shares.
#define WORK(name) \
	__attribute__((noinline)) void name(double ms) { \
		for (double end = now(CLOCK_THREAD_CPUTIME_ID) + ms; now(CLOCK_THREAD_CPUTIME_ID) < end;) \
			for (int i = 0; i < 2000; i++) sink += i; \
		__asm__ volatile("" ::: "memory"); \
	}
WORK(work_a)
WORK(work_b)
WORK(burst_a)
WORK(burst_b)
WORK(burst_c)

__attribute__((noinline)) void work_between(void) {
	for (int i = 0; i < 6000; i++) sink += i;
}

__attribute__((noinline)) void work_call(void) {
	sink += syscall(SYS_getppid);
}

static double least(int calls) {
	double best = 1e9;
	for (int n = 0; n < 200; n++) {
		double begin = now(CLOCK_THREAD_CPUTIME_ID);
		for (int i = 0; i < 50; i++) {
			work_between();
			if (calls) work_call();
		}
		double took = now(CLOCK_THREAD_CPUTIME_ID) - begin;
		if (took < best) best = took;
	}
	return best;
}

static void ready(void) {
	if (write(1, "r", 1) != 1) exit(2);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void *parked(void *unused) {
	pthread_mutex_lock(&lock);
	for (;;) pthread_cond_wait(&never, &lock);
	return unused;
}

static void *spinning(void *unused) {
	work_a(30);
	return unused;
}

static void start(void *(*f)(void *)) {
	pthread_t t;
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 10);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &a, f, NULL) != 0) exit(3);
}

static void child(int by_exec) {
	pid_t pid = by_exec ? vfork() : fork();
	if (pid == 0) {
		if (by_exec) {
			execl(self, self, "child", NULL);
			_exit(4);
		}
		work_b(150);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv) {
	const char *what = argc > 1 ? argv[1] : "";
	double x = argc > 2 ? atof(argv[2]) : 0, y = argc > 3 ? atof(argv[3]) : 0;
	self = argv[0];
	if (!strcmp(what, "child")) {
		work_b(150);
		return 0;
	}
	if (!strcmp(what, "callshare")) {
		double with = least(1);
		printf("%.6f\n", 1 - least(0) / with);
		return 0;
	}
	if (!strcmp(what, "parked"))
		for (int i = 0; i < x; i++) start(parked);
	ready();
	if (!strcmp(what, "quick")) return 0;
	if (!strcmp(what, "exec")) {
		work_a(300);
		execv(argv[2], argv + 2);
		return 5;
	}
	if (!strcmp(what, "forks")) {
		for (int i = 0; i < x; i++) child(0), child(1);
		return 0;
	}
	for (;;) {
		if (!strcmp(what, "duty")) {
			work_a(x);
			work_b(y);
		} else if (!strcmp(what, "burst")) {
			burst_a(1.5);
			burst_b(0.9);
			burst_c(0.6);
			usleep(7000);
		} else if (!strcmp(what, "calls")) {
			work_between();
			work_call();
		} else if (!strcmp(what, "churn")) {
			pthread_t t;
			pthread_create(&t, NULL, spinning, NULL);
			pthread_join(t, NULL);
		} else {
			work_a(100);
		}
	}
}
