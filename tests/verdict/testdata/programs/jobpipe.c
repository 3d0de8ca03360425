/* Workers share a pipe of jobs; the parent, which writes to it, waits for connections. */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), jobs[2];
	char job[16];
	if (bind(fd, (void *)&at, sizeof at) || listen(fd, 8) || pipe(jobs))
		return 1;
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			for (;;)
				if (read(jobs[0], job, sizeof job) <= 0)
					_exit(0);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int one = accept(fd, 0, 0);
		if (write(jobs[1], "job", 3) != 3)
			return 1;
		close(one);
	}
}
