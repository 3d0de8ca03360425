#include <semaphore.h>
#include <stdio.h>

static sem_t slots;

__attribute__((noinline)) static void take_slot(void) {
	while (sem_wait(&slots)) /* HERE */
		;
	puts("got one");
}

int main(void) {
	sem_init(&slots, 0, 0);
	puts("ready");
	fflush(stdout);
	take_slot();
}
