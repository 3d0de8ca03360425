// Functions of many shapes, built with and without unwind tables: the code is the same, the
// tables of one build are the truth about the other.
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

extern int sink(void *, ...);
extern void stop(const char *) __attribute__((noreturn));

int leaf(int a, int b) { return a * b + 7; }

int saves(int *p, int n) {
	int sum = 0;
	for (int i = 0; i < n; i++) sum += sink(&p[i], n, i) * leaf(p[i], sum);
	return sum;
}

int cases(int k, int *p) {
	switch (k) {
	case 0: return sink(p, 1);
	case 1: return sink(p, 2) + saves(p, 3);
	case 2: p[0] = sink(p + 1); break;
	case 3: p[1] = 4; break;
	case 4: return leaf(p[0], p[1]);
	case 5: p[2] = sink(p + 2, p); /* fallthrough */
	case 6: p[3]++; break;
	case 7: return -sink(p, k);
	default: stop("cases");
	}
	return sink(p);
}

int variable(int n) {
	char *p = alloca(n);
	memset(p, n, n);
	return sink(p) + p[n - 1];
}

int aligned(int n) {
	_Alignas(64) char buffer[128];
	buffer[n] = 1;
	return sink(buffer, alloca(n)) + buffer[0];
}

int large(int n) {
	char buffer[70000];
	buffer[n] = 1;
	return sink(buffer) + buffer[n / 2];
}

int arguments(int a, int b, int c, int d, int e, int f, int g, int h) {
	return sink(&a, b, c, d, e, f, g, h, a + h) - sink(&b, a, b, c, d, e, f, g, h, 1, 2, 3);
}

void check(int *p) {
	if (!p) stop("null");
	if (p[0] > 3) {
		sink(p);
		if (p[1]) stop("one");
		p[2] = sink(p + 1);
	}
	free(p);
}
