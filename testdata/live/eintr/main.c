/* eintr [NAME...]: blocks in one system call after the other (all, or those named),
 * and says how each came back. eintr --list prints names and kinds.
 *
 *   block NAME KIND ASKED_MS              just before it blocks
 *   done NAME RESULT ERRNO ELAPSED_MS     after
 *
 * A test reads "block", waits until the main thread is in state S, stops it as often
 * as it likes, and compares "done" with KIND (see eintr.h). A call that this kernel
 * does not have says "absent NAME ERRNO" instead of "done". "R" comes first of all. */
#include "eintr.h"
#include <sys/wait.h>

pthread_t blocked_thread;
int shared[2];

static const struct blocker *const groups[] = {file_blockers, socket_blockers, lock_blockers, time_blockers};

static void *wake_later(void *blocker) {
	live_sleep_us(ASKED_MS * 1000L);
	((const struct blocker *)blocker)->wake();
	return NULL;
}

static long now_ms(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

static void run(const struct blocker *b) {
	char line[160];
	pthread_t waker;
	shared[0] = shared[1] = -1;
	if (b->prepare != NULL)
		b->prepare();
	snprintf(line, sizeof line, "block %s %s %d\n", b->name, b->kind, ASKED_MS);
	live_say(line);
	long begin = now_ms();
	if (b->wake != NULL)
		pthread_create(&waker, NULL, wake_later, (void *)b);
	errno = 0;
	long result = b->block();
	int code = result < 0 ? errno : 0;
	long took = now_ms() - begin;
	if (b->wake != NULL)
		pthread_join(waker, NULL);
	if (code == ENOSYS || code == EPERM || code == EOPNOTSUPP)
		snprintf(line, sizeof line, "absent %s %d\n", b->name, code);
	else
		snprintf(line, sizeof line, "done %s %ld %d %ld\n", b->name, result, code, took);
	live_say(line);
	for (int i = 0; i < 2; i++)
		if (shared[i] >= 0)
			close(shared[i]);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static int named(const struct blocker *b, int argc, char **argv) {
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], b->name) == 0)
			return 1;
	return argc < 2;
}

static void on_wake(int sig) { (void)sig; }

int main(int argc, char **argv) {
	int list = argc > 1 && strcmp(argv[1], "--list") == 0;
	live_begin();
	blocked_thread = pthread_self();
	/* SIGUSR2 wakes those calls that only a handled signal ends; SIGUSR1 stays
	 * blocked for those that wait for a signal. */
	struct sigaction action = {.sa_handler = on_wake};
	sigaction(SIGUSR2, &action, NULL);
	sigset_t waited;
	sigemptyset(&waited);
	sigaddset(&waited, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &waited, NULL);
	if (!list)
		live_ready();
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
		for (const struct blocker *b = groups[g]; b->name != NULL; b++) {
			if (list)
				printf("%s %s\n", b->name, b->kind);
			else if (named(b, argc, argv))
				run(b);
		}
	return 0;
}
