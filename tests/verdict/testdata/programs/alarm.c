/* A wait that a timer ends. */
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static sem_t due;

static void on_alarm(int s) {
	(void)s;
	sem_post(&due);
}

int main(void) {
	sem_init(&due, 0, 0);
	signal(SIGALRM, on_alarm);
	puts("ready");
	fflush(stdout);
	for (;;) {
		alarm(30);
		while (sem_wait(&due))
			;
	}
}
