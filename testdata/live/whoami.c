/* whoami [PROGRAM]: prints "R", waits for a line on standard input and executes PROGRAM, which is
 * a copy of this one with the setuid bit. Without an argument it prints "euid N" and waits for the
 * end of standard input.
 *
 * Truth: a setuid program that a tracer of another user watches gets no other euid
 * (execve(2)). */
#include "live.h"

static void await_line(void) {
	char c;
	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

int main(int argc, char **argv) {
	if (argc > 1) {
		live_begin();
		live_ready();
		await_line();
		execl(argv[1], argv[1], (char *)NULL);
		live_die("execl");
	}
	char line[32];
	snprintf(line, sizeof line, "euid %d\n", (int)geteuid());
	live_say(line);
	alarm(LIVE_LIMIT_SECONDS);
	char buf[64];
	while (read(0, buf, sizeof buf) > 0)
		;
	return 0;
}
