/* Four workers accept connections at one socket; their parent waits for their ends. */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(fd, (void *)&at, sizeof at) || listen(fd, 8))
		return 1;
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			for (;;)
				close(accept(fd, 0, 0));
	puts("ready");
	fflush(stdout);
	while (wait(0) > 0)
		;
}
