/* A reader that has the write end itself never sees the end. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];

static void *drain(void *x) {
	char c[64];
	while (read(ends[0], c, sizeof c) > 0) /* HERE */
		;
	return x;
}

int main(void) {
	pthread_t t;
	if (pipe(ends) || write(ends[1], "x", 1) != 1)
		return 1;
	puts("ready");
	fflush(stdout);
	pthread_create(&t, 0, drain, 0);
	pthread_join(t, 0);
}
