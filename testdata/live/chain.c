/* chain FILE...: maps each file to be executed and calls through the function that each has at
 * 0x1000 (package hostile), so that the stack has a frame in all of them. Then it writes "R" and
 * sleeps. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "live.h"

typedef void step(void **rest);

static void stay(void **rest) {
	(void)rest;
	live_ready();
	live_forever();
}

static void *map(const char *file) {
	struct stat st;
	int fd = open(file, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		live_die(file);
	char *at = mmap(NULL, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		live_die(file);
	close(fd);
	return at + 0x1000;
}

int main(int argc, char **argv) {
	live_begin();
	void **list = calloc(argc, sizeof *list);
	if (list == NULL)
		live_die("calloc");
	for (int i = 1; i < argc; i++)
		list[i - 1] = map(argv[i]);
	list[argc - 1] = (void *)stay;
	((step *)list[0])(list);
}
