/* heldexec PROGRAM: the main thread computes; after a SIGUSR1 another executes PROGRAM, which may not end for long. */
#include "live.h"
#include <pthread.h>

static volatile unsigned long sink;

static void *execute(void *program) {
	sigset_t set;
	int sig;
	char *arguments[] = {program, NULL};
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	live_ready();
	if (sigwait(&set, &sig) != 0)
		live_die("sigwait");
	execv(program, arguments);
	live_die("execv");
	return NULL;
}

int main(int argc, char **argv) {
	pthread_t t;
	sigset_t set;
	if (argc != 2) {
		fprintf(stderr, "usage: heldexec PROGRAM\n");
		return 64;
	}
	live_begin();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if ((errno = pthread_create(&t, NULL, execute, argv[1])) != 0)
		live_die("pthread_create");
	for (;;)
		sink++;
}
