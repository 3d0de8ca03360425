// The inner half of the chain of outer.c.
#include "target.h"

OUTLINE int tick(int n) { after(); return n + stop; }

OUTLINE int spin(int n)
{
	n = tick(n);
	ready();
	while (!stop)
		;
	return tick(n);
}

// gamma keeps values in registers that it must save, so that its frame record stands somewhere
// inside its frame.
OUTLINE int gamma(int n)
{
	int first = tick(n), second = tick(n + 1);
	return spin(n) + first + second;
}
