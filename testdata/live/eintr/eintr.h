/* One way to block, and what ends it. */
#ifndef EINTR_H
#define EINTR_H

#include "../live.h"
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

/* A blocking call ends in this many milliseconds if nothing disturbs it. */
#define ASKED_MS 600

/* kind says what the kernel does after a stop, as measured on amd64:
 *   restart   the call goes on and its caller sees nothing
 *   eintr     the call returns EINTR (signal(7), "Interruption of system calls and
 *             library functions by stop signals")
 *   again     the call goes on with its full time limit anew
 *   short     the call returns what it has done so far */
struct blocker {
	const char *name;
	const char *kind;
	void (*prepare)(void); /* may be NULL */
	long (*block)(void);   /* as a system call: -1 and errno */
	void (*wake)(void);    /* from another thread after ASKED_MS; NULL: a time limit ends it */
};

extern const struct blocker file_blockers[], socket_blockers[], lock_blockers[], time_blockers[];

extern pthread_t blocked_thread; /* the thread that blocks: the main thread */

/* shared is what prepare makes for block and wake: two descriptors, both ends of
 * something. */
extern int shared[2];

static inline struct timespec asked_time(void) {
	struct timespec t = {ASKED_MS / 1000, ASKED_MS % 1000 * 1000000L};
	return t;
}

static inline struct timespec asked_deadline(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_nsec += ASKED_MS % 1000 * 1000000L;
	t.tv_sec += ASKED_MS / 1000 + t.tv_nsec / 1000000000L;
	t.tv_nsec %= 1000000000L;
	return t;
}

/* from_pthread turns the result of a pthread call into that of a system call. */
static inline long from_pthread(int code) {
	errno = code;
	return code == 0 ? 0 : -1;
}

static inline void make_pipe(void) {
	if (pipe(shared) != 0)
		live_die("pipe");
}

static inline void write_shared(void) { (void)!write(shared[1], "12345678", 8); }

#endif
