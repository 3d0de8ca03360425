/* deadlock: two transfers between two accounts, each with the lock that the other one needs.
 * It ends after an hour, or with Ctrl-C. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct account {
	pthread_mutex_t lock;
	long balance;
};

static struct account rent = {PTHREAD_MUTEX_INITIALIZER, 900};
static struct account salary = {PTHREAD_MUTEX_INITIALIZER, 2500};
static pthread_barrier_t both;

__attribute__((noinline)) static void transfer(struct account *from, struct account *to, long amount) {
	pthread_mutex_lock(&from->lock);
	pthread_barrier_wait(&both); /* so that each has its first lock */
	pthread_mutex_lock(&to->lock);
	from->balance -= amount;
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *pay_rent(void *unused) {
	(void)unused;
	transfer(&salary, &rent, 900);
	return NULL;
}

static void *refund_rent(void *unused) {
	(void)unused;
	transfer(&rent, &salary, 50);
	return NULL;
}

int main(void) {
	pthread_t pay, refund;
	alarm(3600);
	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&pay, NULL, pay_rent, NULL) != 0 || pthread_create(&refund, NULL, refund_rent, NULL) != 0)
		exit(1);
	pthread_setname_np(pay, "pay");
	pthread_setname_np(refund, "refund");
	pthread_join(pay, NULL);
	pthread_join(refund, NULL);
	return 0;
}
