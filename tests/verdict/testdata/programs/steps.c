/* A batch behind a limit: an item, then a pause of 25 seconds. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
	for (int i = 0;; i++) {
		printf("ready: item %d\n", i);
		fflush(stdout);
		sleep(25);
	}
}
