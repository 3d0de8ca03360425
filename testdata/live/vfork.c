/* vfork MILLISECONDS: the parent stands in vfork while its child sleeps.
 *
 * "R" comes from the child, so the parent is in state D by then and cannot be
 * stopped. When the child has ended, the parent writes "D" and sleeps. */
#include "live.h"

NOINLINE static void hold_parent(long ms) {
	pid_t child = vfork();
	if (child == 0) {
		struct timespec nap = {ms / 1000, ms % 1000 * 1000000};
		(void)!write(1, "R\n", 2);
		nanosleep(&nap, NULL);
		_exit(0);
	}
	if (child < 0)
		live_die("vfork");
}

int main(int argc, char **argv) {
	live_begin();
	hold_parent(live_number(argc, argv, 1, 3000));
	live_say("D\n");
	live_forever();
}
