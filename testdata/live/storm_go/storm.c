#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "storm.h"
#include "_cgo_export.h"

static atomic_long sent, handled;
static atomic_int over, done, known;
static pthread_t targets[16];
static volatile unsigned long turns;

static void count(int sig) {
	(void)sig;
	for (volatile int i = 0; i < 200000; i++)
		; // so that it is often met
	atomic_fetch_add(&handled, 1);
}

void enroll(void) { targets[atomic_fetch_add(&known, 1)] = pthread_self(); }

void spinInC(void) {
	enroll();
	for (;;)
		turns++;
}

void sleepInC(void) {
	enroll();
	for (;;)
		pause();
}

void callGo(void) {
	enroll();
	for (;;) {
		goCalled();
		turns++;
	}
}

// storm sends each thread a SIGUSR1 after the other, and waits until that was handled; between them SIGPROF.
static void *storm(void *arg) {
	for (int i = 0; !atomic_load(&over); i++) {
		pthread_t to = targets[i % atomic_load(&known)];
		long n = atomic_fetch_add(&sent, 1) + 1;
		pthread_kill(to, SIGUSR1);
		pthread_kill(to, SIGPROF);
		while (atomic_load(&handled) < n)
			sched_yield();
	}
	atomic_store(&done, 1);
	return arg;
}

void startStorm(void) {
	struct sigaction a = {.sa_handler = count, .sa_flags = SA_ONSTACK | SA_RESTART};
	sigaction(SIGUSR1, &a, 0);
	pthread_t t;
	pthread_create(&t, 0, storm, 0);
}

long sentSoFar(void) { return atomic_load(&sent); }
long handledSoFar(void) { return atomic_load(&handled); }
int enrolled(void) { return atomic_load(&known); }

int endStorm(void) {
	atomic_store(&over, 1);
	for (int i = 0; i < 1000 && !atomic_load(&done); i++)
		usleep(10000);
	return atomic_load(&done);
}
