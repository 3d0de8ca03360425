/* Waits by sigsuspend for the end of a child that sleeps. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void on_child(int s) { ended = s; }

int main(void) {
	sigset_t block, before;
	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, &before);
	signal(SIGCHLD, on_child);
	if (fork() == 0) {
		sleep(40);
		_exit(0);
	}
	puts("ready");
	fflush(stdout);
	while (!ended)
		sigsuspend(&before);
}
