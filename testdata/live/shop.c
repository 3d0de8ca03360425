/* shop: a thread that computes prices and one that waits for orders. README.md shows it.
 *
 * Truth: two thirds of the CPU time are in discount, called by price, the rest in tax. */
#include "live.h"
#include <pthread.h>

static volatile unsigned long sink;
static volatile long cart = 100000; /* a constant would make copies of the functions */

NOINLINE static void discount(long items) {
	unsigned long v = sink;
	for (long i = 0; i < items; i++)
		v = v * 6364136223846793005UL + 1442695040888963407UL;
	sink = v;
}

NOINLINE static void tax(long items) {
	unsigned long v = sink;
	for (long i = 0; i < items; i++)
		v = v * 2862933555777941757UL + 3037000493UL;
	sink = v;
}

NOINLINE static void price(long items) {
	discount(2 * items);
	tax(items);
	sink++;
}

static void *sell(void *unused) {
	(void)unused;
	for (;;)
		price(cart);
	return NULL;
}

NOINLINE static void wait_for_orders(void) {
	for (;;)
		live_sleep_us(100000);
}

int main(void) {
	pthread_t seller;
	live_begin();
	if (pthread_create(&seller, NULL, sell, NULL) != 0)
		live_die("pthread_create");
	live_ready();
	wait_for_orders();
	return 0;
}
