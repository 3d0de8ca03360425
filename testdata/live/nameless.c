/* nameless: code that the process writes and that nobody names, in three mappings: one with a name ([anon:code]), one
 * without, and one of a memfd that is called made.
 *
 * Truth: the main thread sleeps in pause, called by leaf, below inner and outer of each mapping:
 * leaf <- memfd at 0x240, 0x200 <- no name at 0x140, 0x100 <- [anon:code] at 0x40, 0 <- main. Each has a frame pointer.
 * After "R" it says the start of the mapping without a name, and 0 if the kernel took the name of the other. */
#include "live.h"
#include <stdint.h>
#include <sys/mman.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

typedef void code(void);
static volatile int staying = 1, turns;

NOINLINE static void leaf(void) {
	while (staying) {
		pause();
		turns++;
	}
}

/* push rbp; mov rbp,rsp; mov rax,imm64; call rax; pop rbp; ret */
static void put(unsigned char *at, code *callee) {
	static const unsigned char bytes[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d,
		0xc3};
	memcpy(at, bytes, sizeof bytes);
	memcpy(at + 6, &callee, sizeof callee);
}

/* two writes inner, which calls callee, and outer, which calls that. */
static code *two(unsigned char *page, size_t offset, code *callee) {
	put(page + offset + 0x40, callee);
	put(page + offset, (code *)(page + offset + 0x40));
	return (code *)(page + offset);
}

static unsigned char *map(int fd) {
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	/* Pages around it keep it from being one with the next. */
	unsigned char *all = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED ||
	    mmap(all + 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, flags | MAP_FIXED, fd, 0) == MAP_FAILED)
		live_die("mmap");
	return all + 4096;
}

int main(void) {
	char text[64];
	live_begin();
	int fd = memfd_create("made", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 4096) != 0)
		live_die("memfd_create");
	unsigned char *named = map(-1), *plain = map(-1), *file = map(fd);
	int none = prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, named, 4096, "code");
	code *first = two(named, 0, two(plain, 0x100, two(file, 0x200, leaf)));
	snprintf(text, sizeof text, "R\n%p\n%d\n", (void *)plain, none);
	live_say(text);
	first();
	return turns;
}
