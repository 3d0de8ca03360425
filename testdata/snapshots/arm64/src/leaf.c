// The end of the chain of chain.c, compiled in another way: a function that calls nothing and
// has no frame record. With ARRAY it moves SP.
#include "target.h"

OUTLINE int spin(int n)
{
#ifdef ARRAY
	volatile int local[16];
	local[n & 15] = n;
	ready();
	while (!stop)
		;
	return local[n & 15];
#else
	ready();
	while (!stop)
		;
	return n;
#endif
}
