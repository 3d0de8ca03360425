// The outer half of a chain whose inner half, inner.c, is compiled in another way:
// _start -> main_ -> alpha -> beta -> gamma -> spin.
#include "target.h"

int gamma(int n);

OUTLINE int beta(int n)
{
	volatile int local[8];
	local[n & 7] = n;
	int got = gamma(n + 1);
	return got + local[got & 7];
}
OUTLINE int alpha(int n) { int got = beta(n + 1); after(); return got; }
OUTLINE int main_(void) { int got = alpha(1); after(); return got; }
START;
