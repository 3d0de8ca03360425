// Runs pieces of code that it gets, on the processor: reads its length, the code, the state and the memory that it is
// run with, and writes both as they are behind it. The code saves and restores registers by itself.
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATE 0x30000000
#define MEMORY 0x10000000
#define CODE 0x20000000
#define PAGE 4096

static void whole(int out, char *at, long n)
{
	while (n > 0) {
		long k = out ? write(1, at, n) : read(0, at, n);
		if (k <= 0)
			_exit(out);
		at += k;
		n -= k;
	}
}

static char *map(uintptr_t at, int protection)
{
	char *p = mmap((void *)at, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (p == MAP_FAILED)
		_exit(2);
	return p;
}

int main(void)
{
	char *state = map(STATE, PROT_READ | PROT_WRITE), *memory = map(MEMORY, PROT_READ | PROT_WRITE);
	char *code = map(CODE, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (;;) {
		uint32_t n;
		whole(0, (char *)&n, sizeof n);
		whole(0, code, n);
		whole(0, state, PAGE);
		whole(0, memory, PAGE);
		((void (*)(void))code)();
		whole(1, state, PAGE);
		whole(1, memory, PAGE);
	}
}
