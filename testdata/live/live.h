/* What every live target does: it ends with its parent, or after two minutes at
 * the latest, and it says when it is ready.
 *
 * "Ready" is one line on standard output, "R\n". A target with sleeping threads
 * writes it when the kernel says that they sleep; one whose only thread is to sleep
 * writes it just before, and the test waits for state S in /proc/PID/stat. */
#ifndef LIVE_H
#define LIVE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LIVE_LIMIT_SECONDS 120
#define NOINLINE __attribute__((noinline))

static inline void live_die(const char *what) {
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(3);
}

/* live_begin bounds the life of this process. PR_SET_PDEATHSIG fires on the end of
 * the parent's thread, so a test must not start a target from a thread that ends. */
static inline void live_begin(void) {
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		live_die("prctl(PR_SET_PDEATHSIG)");
	if (getppid() == 1 && getenv("LIVE_PARENT_IS_INIT") == NULL)
		exit(3); /* the parent was gone before the call above */
	alarm(LIVE_LIMIT_SECONDS);
}

/* live_say writes text whole; standard output is a pipe that a test reads. */
static inline void live_say(const char *text) {
	size_t left = strlen(text);
	while (left > 0) {
		ssize_t n = write(1, text, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(3);
		text += n;
		left -= (size_t)n;
	}
}

static inline void live_ready(void) { live_say("R\n"); }

/* live_forever sleeps until a signal ends the process. */
static inline void live_forever(void) {
	for (;;)
		pause();
}

static inline void live_sleep_us(long us) {
	struct timespec left = {us / 1000000, us % 1000000 * 1000};
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

static inline pid_t live_tid(void) { return (pid_t)syscall(SYS_gettid); }

/* live_state gives the letter of /proc/self/task/TID/stat, or '?'. The name in
 * parentheses may hold anything, so the last ')' counts. */
static inline char live_state(pid_t tid) {
	char path[64], text[512], *end;
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)tid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return '?';
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return '?';
	text[n] = 0;
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' ? end[2] : '?';
}

/* live_await_sleep returns when the kernel says that tid sleeps. */
static inline void live_await_sleep(pid_t tid) {
	for (int tries = 0; tries < 20000; tries++) {
		if (live_state(tid) == 'S')
			return;
		live_sleep_us(500);
	}
	fprintf(stderr, "thread %d does not fall asleep\n", (int)tid);
	exit(3);
}

/* live_number reads argument i, or gives fallback where there is none. */
static inline long live_number(int argc, char **argv, int i, long fallback) {
	return i < argc ? strtol(argv[i], NULL, 10) : fallback;
}

#endif
