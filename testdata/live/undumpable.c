/* undumpable: sleeps with the attribute of programs that keep secrets.
 *
 * Source: prctl(2), PR_SET_DUMPABLE. */
#include "live.h"

int main(void) {
	live_begin();
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		live_die("prctl(PR_SET_DUMPABLE)");
	live_ready();
	live_forever();
}
