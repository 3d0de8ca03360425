/* Waits for a signal to reload, with a handler for it. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void on_hangup(int s) { (void)s; }

int main(void) {
	signal(SIGHUP, on_hangup);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
