/* A child posts the semaphore of its parent each 20 seconds. */
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
	sem_t *beat = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(beat, 1, 0);
	if (fork() == 0)
		for (;;) {
			sleep(20);
			sem_post(beat);
		}
	puts("ready");
	fflush(stdout);
	for (;;)
		sem_wait(beat);
}
