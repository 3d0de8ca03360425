/* Two processes pass a token to and fro by two pipes, and keep it for a while. */
#include <stdio.h>
#include <unistd.h>

static void play(int in, int out) {
	char token;
	while (read(in, &token, 1) == 1) {
		usleep(900000);
		if (write(out, &token, 1) != 1)
			return;
	}
}

int main(void) {
	int there[2], back[2];
	if (pipe(there) || pipe(back) || write(there[1], "t", 1) != 1)
		return 1;
	puts("ready");
	fflush(stdout);
	if (fork() == 0)
		play(there[0], back[1]);
	else
		play(back[0], there[1]);
}
