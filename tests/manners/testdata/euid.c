/* euid PROGRAM: prints "R", and after a byte on standard input executes PROGRAM, which is
 * this one with another owner and the setuid bit. Without PROGRAM it prints its effective
 * user id and ends. */
#include "../../../testdata/live/live.h"

int main(int argc, char **argv) {
	char line[32], byte;
	if (argc < 2) {
		snprintf(line, sizeof line, "euid %d\n", (int)geteuid());
		live_say(line);
		return 0;
	}
	live_begin();
	live_ready();
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	execl(argv[1], argv[1], (char *)NULL);
	live_die("execl");
}
