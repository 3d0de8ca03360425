/* A parent waits for two children that compute. */
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static uint8_t block[1 << 16];

__attribute__((noinline)) static uint64_t hash(uint64_t h) {
	for (unsigned i = 0; i < sizeof block; i++) /* HERE */
		h = (h ^ block[i]) * 1099511628211u; /* HERE */
	return h;
}

__attribute__((noinline)) static void fill(uint64_t h) {
	for (unsigned i = 0; i < sizeof block; i++) { /* HERE */
		h = h * 6364136223846793005u + 1442695040888963407u; /* HERE */
		block[i] = h >> 56; /* HERE */
	}
}

int main(void) {
	puts("ready");
	fflush(stdout);
	if (fork() == 0)
		for (uint64_t h = 14695981039346656037u;; fill(h)) /* HERE */
			h = hash(h);
	wait(0);
}
