// A thread waits in a system call of the C library: start -> worker -> pause, while the main
// thread waits for it in pthread_join.
#include <pthread.h>
#include <unistd.h>

__attribute__((noinline)) int worker(int n)
{
	n += write(1, "R", 1);
	n += pause();
	return n;
}

static void *start(void *p)
{
	worker(1);
	return p;
}

int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, start, 0);
	pthread_join(t, 0);
	return 0;
}
