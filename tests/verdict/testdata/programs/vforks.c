#include <stdio.h>
#include <unistd.h>

int main(void) {
	puts("ready");
	fflush(stdout);
	if (vfork() == 0) {
		pause(); /* HERE */
		_exit(0);
	}
}
