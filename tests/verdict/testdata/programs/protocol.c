/* Client and server of a socket pair both wait for the other to begin. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void client(int fd) {
	char c;
	if (read(fd, &c, 1) == 1) /* HERE */
		puts("client");
}

__attribute__((noinline)) static void server(int fd) {
	char c;
	if (read(fd, &c, 1) == 1) /* HERE */
		puts("server");
}

int main(void) {
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	puts("ready");
	fflush(stdout);
	if (fork() == 0) {
		close(ends[0]);
		server(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	client(ends[0]);
	wait(0);
}
