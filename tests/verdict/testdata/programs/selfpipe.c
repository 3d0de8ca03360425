/* SIGCHLD writes to a pipe that the main loop reads. The child works, now and then. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2];

static void on_child(int s) {
	(void)s;
	if (write(ends[1], "c", 1) != 1)
		_exit(1);
}

int main(int argc, char **argv) {
	char c;
	if (pipe(ends))
		return 1;
	signal(SIGCHLD, on_child);
	pid_t pid = fork();
	if (pid == 0) {
		if (argc > 1)
			execvp(argv[1], argv + 1);
		for (;;) {
			clock_t until = clock() + CLOCKS_PER_SEC / 20;
			while (clock() < until)
				;
			usleep(300000);
		}
	}
	puts("ready");
	fflush(stdout);
	while (read(ends[0], &c, 1) != 1)
		;
	waitpid(pid, 0, 0);
}
