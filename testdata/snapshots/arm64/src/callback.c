// The C library's sort calls back: _start -> … -> main -> qsort_r -> msort_with_tmp -> compare
// -> spin. This file is compiled without unwind tables and with frame pointers; the library,
// which gcc made, has tables by SP and frame pointers.
#include <stdlib.h>
#include <unistd.h>

static volatile int stop;

__attribute__((noinline)) int tick(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + stop;
}

__attribute__((noinline)) int spin(int n)
{
	n = tick(n);
	n += write(1, "R", 1);
	while (!stop)
		;
	return tick(n);
}

// compare keeps values in registers that it must save: its record is inside its frame.
__attribute__((noinline)) int compare(const void *a, const void *b)
{
	int first = tick(*(const int *)a), second = tick(*(const int *)b);
	return spin(first) + first - second;
}

int main(void)
{
	int two[] = { 2, 1 };
	qsort(two, 2, sizeof *two, compare);
	return two[0];
}
