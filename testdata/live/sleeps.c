/* sleeps SECONDS: a thread each sleeps for 10 ms again and again in nanosleep, epoll_wait, poll, a futex
 * wait, recv with SO_RCVTIMEO and sigtimedwait.
 *
 * Truth: at the end it prints for each "NAME sleeps N eintr N median_us N": how often the
 * call was made, how often it failed with EINTR, and how long it took. */
#include "live.h"
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { SLEEP_MS = 10, MOST = 20000 };
static long long ends; /* CLOCK_MONOTONIC, ns */

static long long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static const struct timespec span = {0, SLEEP_MS * 1000000L};

/* Each waits once, for what never comes, and returns what the call does. */
NOINLINE static int sleep_nanosleep(int fd) {
	(void)fd;
	struct timespec left;
	return nanosleep(&span, &left);
}
NOINLINE static int sleep_epoll(int fd) {
	struct epoll_event event;
	return epoll_wait(fd, &event, 1, SLEEP_MS);
}
NOINLINE static int sleep_poll(int fd) {
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, SLEEP_MS);
}
NOINLINE static int sleep_futex(int fd) {
	(void)fd;
	static int word;
	return (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0);
}
NOINLINE static int sleep_recv(int fd) {
	char c;
	return (int)recv(fd, &c, 1, 0);
}
NOINLINE static int sleep_sigtimedwait(int fd) {
	(void)fd;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &span);
}

static int open_none(void) { return -1; }
static int open_epoll(void) { return epoll_create1(0); }
static int open_socket(void) {
	int pair[2];
	struct timeval limit = {0, SLEEP_MS * 1000};
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0)
		live_die("socketpair");
	return pair[0];
}

static struct way {
	const char *name;
	int (*wait)(int);
	int (*open)(void);
	pthread_t thread;
	long long took[MOST];
	int sleeps, eintr;
} ways[] = {
	{"nanosleep", sleep_nanosleep, open_none},
	{"epoll_wait", sleep_epoll, open_epoll},
	{"poll", sleep_poll, open_socket},
	{"futex", sleep_futex, open_none},
	{"recv", sleep_recv, open_socket},
	{"sigtimedwait", sleep_sigtimedwait, open_none},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void *run(void *arg) {
	struct way *w = arg;
	int fd = w->open();
	for (long long begin = now(); begin < ends && w->sleeps < MOST; begin = now()) {
		errno = 0;
		int got = w->wait(fd);
		if (got < 0 && errno == EINTR)
			w->eintr++;
		w->took[w->sleeps++] = now() - begin;
	}
	return NULL;
}

static int ascending(const void *a, const void *b) {
	long long x = *(const long long *)a, y = *(const long long *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	if (argc != 2) {
		fprintf(stderr, "usage: sleeps SECONDS\n");
		return 64;
	}
	live_begin();
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	ends = now() + atoi(argv[1]) * 1000000000LL;
	for (int i = 0; i < WAYS; i++)
		if ((errno = pthread_create(&ways[i].thread, NULL, run, &ways[i])) != 0)
			live_die("pthread_create");
	live_ready();
	for (int i = 0; i < WAYS; i++) {
		struct way *w = &ways[i];
		pthread_join(w->thread, NULL);
		qsort(w->took, w->sleeps, sizeof *w->took, ascending);
		printf("%s sleeps %d eintr %d median_us %lld\n", w->name, w->sleeps, w->eintr, w->took[w->sleeps / 2] / 1000);
	}
	return 0;
}
