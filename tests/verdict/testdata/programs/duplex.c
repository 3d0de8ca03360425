/* Both sides of two pipes write more than fits before they read. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[300000];

__attribute__((noinline)) static void send_all(int fd) {
	if (write(fd, block, sizeof block) < 0) /* HERE */
		_exit(1);
}

__attribute__((noinline)) static void exchange(int in, int out) {
	send_all(out);
	while (read(in, block, sizeof block) > 0)
		;
}

int main(void) {
	int up[2], down[2];
	if (pipe(up) || pipe(down))
		return 1;
	puts("ready");
	fflush(stdout);
	if (fork() == 0) {
		close(up[1]);
		close(down[0]);
		exchange(up[0], down[1]);
		_exit(0);
	}
	close(up[0]);
	close(down[1]);
	exchange(down[0], up[1]);
	wait(0);
}
