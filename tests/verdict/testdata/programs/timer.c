/* A thread waits for another, whose timer of 40 seconds is running. */
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void *rotate(void *x) {
	uint64_t n;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(fd, 0, &(struct itimerspec){{40, 0}, {40, 0}}, 0);
	puts("ready");
	fflush(stdout);
	while (read(fd, &n, sizeof n) == sizeof n)
		;
	return x;
}

int main(void) {
	pthread_t t;
	pthread_create(&t, 0, rotate, 0);
	pthread_join(t, 0);
}
