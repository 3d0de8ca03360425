/* churn WIDTH: WIDTH makers create and join short-lived threads without end, so
 * that at any moment some threads are being born and some are dying.
 *
 * On SIGTERM it prints "churned N", the number of threads that lived, and exits 0.
 * The counter stands still while the whole process is stopped. */
#include "live.h"
#include <pthread.h>

static long lived;

static void *short_life(void *us) {
	long wait = (long)us;
	if (wait > 0)
		live_sleep_us(wait);
	__atomic_add_fetch(&lived, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *maker(void *seed) {
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (unsigned long i = (unsigned long)seed;; i++) {
		pthread_t t;
		/* EAGAIN is a limit of the machine, not a fault of this program. */
		if (pthread_create(&t, &attr, short_life, (void *)(i % 5 * 40)) == 0)
			pthread_join(t, NULL);
		else
			live_sleep_us(1000);
	}
	return NULL;
}

int main(int argc, char **argv) {
	long width = live_number(argc, argv, 1, 4);
	live_begin();
	sigset_t term;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	for (long i = 0; i < width; i++) {
		pthread_t t;
		errno = pthread_create(&t, NULL, maker, (void *)i);
		if (errno != 0)
			live_die("pthread_create");
	}
	while (__atomic_load_n(&lived, __ATOMIC_RELAXED) < width)
		live_sleep_us(200);
	live_ready();
	/* A stop ends sigwaitinfo with EINTR (signal(7)); sigwait goes on by itself. */
	int sig;
	while (sigwait(&term, &sig) != 0)
		;
	char line[64];
	snprintf(line, sizeof line, "churned %ld\n", __atomic_load_n(&lived, __ATOMIC_RELAXED));
	live_say(line);
	return 0;
}
