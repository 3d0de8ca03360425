/* Computes for argv[1] seconds of CPU time, or for ever. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint32_t table[1 << 14];

__attribute__((noinline)) static void shuffle(uint32_t seed) {
	for (unsigned i = 1 << 14; --i;) { /* HERE */
		seed = seed * 1664525 + 1013904223; /* HERE */
		uint32_t j = seed % (i + 1), t = table[i]; /* HERE */
		table[i] = table[j]; /* HERE */
		table[j] = t; /* HERE */
	}
}

__attribute__((noinline)) static uint32_t checksum(void) {
	uint32_t sum = 0; /* HERE */
	for (unsigned i = 0; i < 1 << 14; i++) /* HERE */
		sum = (sum << 1 | sum >> 31) ^ table[i]; /* HERE */
	return sum; /* HERE */
}

int main(int argc, char **argv) {
	double most = argc > 1 ? atof(argv[1]) : 1e9;
	puts("ready");
	fflush(stdout);
	while (clock() < most * CLOCKS_PER_SEC) /* HERE */
		for (int i = 0; i < 100; i++) /* HERE */
			shuffle(checksum()); /* HERE */
}
