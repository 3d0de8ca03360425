// waits MODE: a process that sleeps in a known place until standard input says more. It writes
// the byte r to standard output when it is about to.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static void say(const char *text) { (void)!write(1, text, strlen(text)); }

// echo: reads a byte and writes it, again and again.
static void echo(void) {
	char b;
	while (read(0, &b, 1) == 1)
		(void)!write(1, &b, 1);
}

// epoll: waits without a limit, and says d for data, e for EINTR. SIGUSR1 is handled.
static void handler(int sig) { (void)sig; }

static void wait_epoll(int limit) {
	struct sigaction action = {.sa_handler = handler};
	sigaction(SIGUSR1, &action, NULL);
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(0);
	epoll_ctl(fd, EPOLL_CTL_ADD, 0, &event);
	for (;;) {
		char b;
		int n = epoll_wait(fd, &event, 1, limit);
		if (n < 0)
			say(errno == EINTR ? "e" : "?");
		else if (n == 0)
			say("t");
		else if (read(0, &b, 1) == 1)
			say("d");
		else
			return;
	}
}

// family: a child of the main thread and one of another thread. It writes their ids.
static int child(void) {
	int pid = fork();
	while (pid == 0)
		pause();
	return pid;
}

static void *parent(void *pid) {
	*(int *)pid = child();
	pause();
	return NULL;
}

static void family(void) {
	char line[64];
	volatile int other = 0;
	pthread_t t;
	int own = child();
	pthread_create(&t, NULL, parent, (void *)&other);
	while (other == 0)
		usleep(1000);
	snprintf(line, sizeof line, "%d %d\n", own, other);
	say(line);
	pause();
}

// vfork: a child that has the memory of its parent until it executes another program, when
// standard input says so. It writes its id.
static void begin_by_vfork(void) {
	char line[32], b;
	if (vfork() == 0) {
		snprintf(line, sizeof line, "%d\n", (int)getpid());
		say(line);
		(void)!read(0, &b, 1);
		execl("/bin/sleep", "sleep", "100", NULL);
		_exit(1);
	}
	pause();
}

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	say("r");
	if (!strcmp(mode, "echo"))
		echo();
	if (!strcmp(mode, "epoll"))
		wait_epoll(-1);
	if (!strcmp(mode, "epoll-limit"))
		wait_epoll(1000000);
	if (!strcmp(mode, "family"))
		family();
	if (!strcmp(mode, "vfork"))
		begin_by_vfork();
	return 0;
}
