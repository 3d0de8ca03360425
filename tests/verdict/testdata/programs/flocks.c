/* Two processes, two locked files. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int *locked;

__attribute__((noinline)) static void update(const char *one, const char *other) {
	flock(open(one, O_RDWR | O_CREAT, 0600), LOCK_EX);
	__sync_fetch_and_add(locked, 1);
	while (*locked < 2)
		usleep(1000);
	flock(open(other, O_RDWR | O_CREAT, 0600), LOCK_EX); /* HERE */
	puts("updated");
}

int main(void) {
	locked = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	puts("ready");
	fflush(stdout);
	if (fork() == 0) {
		update("index", "data");
		_exit(0);
	}
	update("data", "index");
	wait(0);
}
