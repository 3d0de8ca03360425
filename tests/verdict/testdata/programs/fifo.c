#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

__attribute__((noinline)) static int open_control(const char *path) {
	int fd = open(path, O_RDONLY); /* HERE */
	printf("opened %d\n", fd);
	return fd;
}

int main(void) {
	mkfifo("control", 0600);
	puts("ready");
	fflush(stdout);
	return open_control("control");
}
