/* A parent waits for the end of a child that writes more than the pipe takes, which the parent reads later. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char text[200000];

__attribute__((noinline)) static void report(int fd) {
	if (write(fd, text, sizeof text) < 0) /* HERE */
		_exit(1);
}

__attribute__((noinline)) static void collect(pid_t pid) {
	waitpid(pid, 0, 0); /* HERE */
	puts("done");
}

int main(void) {
	int ends[2];
	if (pipe(ends))
		return 1;
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		report(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	puts("ready");
	fflush(stdout);
	collect(pid);
}
