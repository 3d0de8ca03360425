// threads N DEPTH [SPIN]: N threads asleep below DEPTH frames each, SPIN more that run.
// Writes a byte to standard output when all stand there.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int depth;
static atomic_int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

__attribute__((noinline)) static int descend(int n) {
	volatile int keep = n;
	if (n > 0)
		return descend(n - 1) + keep;
	pthread_mutex_lock(&lock);
	ready++;
	for (;;)
		pthread_cond_wait(&never, &lock);
}

static void *sleeper(void *arg) { return (void *)(long)descend(depth); }

static void *spinner(void *arg) {
	ready++;
	for (volatile long i = 0;; i++)
		;
}

int main(int argc, char **argv) {
	int n = atoi(argv[1]), spin = argc > 3 ? atoi(argv[3]) : 0;
	depth = atoi(argv[2]);
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	size_t size = 256 << 10;
	if (depth > 1000)
		size += (size_t)depth * 128;
	pthread_attr_setstacksize(&attr, size);
	pthread_t t;
	for (int i = 0; i < n + spin; i++)
		if (pthread_create(&t, &attr, i < n ? sleeper : spinner, NULL)) {
			perror("pthread_create");
			return 1;
		}
	while (ready < n + spin)
		usleep(1000);
	usleep(50000);
	write(1, "r", 1);
	for (;;)
		pause();
}
