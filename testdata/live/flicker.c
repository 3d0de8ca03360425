/* flicker [OFFSET]: the main thread computes for some 50 us in compute, sleeps for as long in nap, and so on. With OFFSET
 * a second thread reads at SIGUSR1 what its own file has there, where it is mapped, in touch.
 *
 * Truth: main, then compute, or nap with the calls that it makes. Where it sleeps the innermost function is that of
 * libc which waits. */
#include "live.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

static volatile char *mapped;

static volatile unsigned long sink;

static NOINLINE void compute(void) {
	for (int i = 0; i < 50000; i++)
		sink++;
}

static NOINLINE void nap(void) {
	struct timespec t = {0, 50000};
	nanosleep(&t, NULL);
	sink++;
}

static NOINLINE void touch(void) {
	*mapped;
	sink++;
}

static void *toucher(void *set) {
	int signal;
	sigwait(set, &signal);
	touch();
	return NULL;
}

static void map(long offset) {
	static sigset_t set;
	pthread_t thread;
	int fd = open("/proc/self/exe", O_RDONLY);
	mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, offset);
	if (mapped == MAP_FAILED)
		live_die("mmap");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, toucher, &set))
		live_die("pthread_create");
}

int main(int argc, char **argv) {
	live_begin();
	if (argc > 1)
		map(atol(argv[1]));
	live_ready();
	for (;;) {
		compute();
		nap();
	}
}
