/* A C program that opens a library of Go and calls its function Waits. */
#include <dlfcn.h>
#include <stdio.h>

__thread volatile long own[8]; /* so that what lies before the thread pointer is no variable of Go */

int main(int argc, char **argv)
{
	void *lib = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
	void (*waits)(void) = lib ? (void (*)(void))dlsym(lib, "Waits") : NULL;
	if (!waits) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (int i = 0; i < 8; i++)
		own[i] = (long)&own;
	waits();
	return 0;
}
