/* hot: a thread that computes prices and one that waits for orders. Two thirds of the CPU time are in discount, which
 * price calls, the rest in tax. It ends after an hour, or with Ctrl-C. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long sink;
static volatile long cart = 100000; /* a constant would make copies of the functions */

__attribute__((noinline)) static void discount(long items) {
	unsigned long v = sink;
	for (long i = 0; i < items; i++)
		v = v * 6364136223846793005UL + 1442695040888963407UL;
	sink = v;
}

__attribute__((noinline)) static void tax(long items) {
	unsigned long v = sink;
	for (long i = 0; i < items; i++)
		v = v * 2862933555777941757UL + 3037000493UL;
	sink = v;
}

__attribute__((noinline)) static void price(long items) {
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

__attribute__((noinline)) static void wait_for_orders(void) {
	for (;;)
		usleep(100000);
}

int main(void) {
	pthread_t seller;
	alarm(3600);
	if (pthread_create(&seller, NULL, sell, NULL) != 0)
		exit(1);
	pthread_setname_np(seller, "seller");
	wait_for_orders();
	return 0;
}
