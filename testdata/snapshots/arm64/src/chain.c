// _start -> main_ -> alpha -> beta -> gamma -> spin, in these forms:
//   (none)  spin has called a function before it loops: it has a frame, and LR points into it
//   LEAF    spin calls nothing: its caller is in LR alone
//   OUTSIDE spin is in another file
//   CYCLE   spin has a frame, and gamma's frame record leads back to itself
#include "target.h"

OUTLINE int tick(int n) { after(); return n + stop; }

#ifdef OUTSIDE
int spin(int n);
#else
OUTLINE int spin(int n)
{
#ifdef LEAF
	ready();
	while (!stop)
		;
	return n;
#else
	n = tick(n);
	ready();
	while (!stop)
		;
	return tick(n);
#endif
}
#endif

// gamma has an array on its stack, and values that must outlive calls in registers.
OUTLINE int gamma(int n)
{
	volatile int local[16];
	local[n & 15] = tick(n);
	int kept = tick(n + 1);
#ifdef CYCLE
	word *record = __builtin_frame_address(0);
	word caller = record[0];
	record[0] = (word)record;
#endif
	int got = spin(n + 1);
#ifdef CYCLE
	record[0] = caller;
#endif
	return got + kept + local[got & 15];
}

OUTLINE int beta(int n) { int got = gamma(n + 1); after(); return got; }
OUTLINE int alpha(int n) { int got = beta(n + 1); after(); return got; }
OUTLINE int main_(void) { int got = alpha(1); after(); return got; }
START;
