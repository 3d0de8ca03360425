/* intovfork MILLISECONDS: runs until SIGUSR1, then stands in vfork, where it cannot be stopped,
 * while its child sleeps. When the child has ended, it writes "D" and sleeps. */
#include "../../../testdata/live/live.h"

static volatile int go;

static void on_signal(int sig) {
	(void)sig;
	go = 1;
}

NOINLINE static void hold_parent(long ms) {
	pid_t child = vfork();
	if (child == 0) {
		struct timespec nap = {ms / 1000, ms % 1000 * 1000000};
		nanosleep(&nap, NULL);
		_exit(0);
	}
	if (child < 0)
		live_die("vfork");
}

int main(int argc, char **argv) {
	live_begin();
	signal(SIGUSR1, on_signal);
	live_say("R\n");
	while (!go)
		;
	hold_parent(live_number(argc, argv, 1, 3000));
	live_say("D\n");
	live_forever();
}
