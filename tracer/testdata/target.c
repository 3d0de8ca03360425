// target MODE...: a process in one of the situations that package tracer must meet.
// It writes the byte r to standard output when it stands there.
#define _GNU_SOURCE
#include <alloca.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void ready(void) { write(1, "r", 1); }

static void *asleep(void *arg) {
	for (;;)
		pause();
	return arg;
}

static void thread(void *(*f)(void *), void *arg) {
	pthread_t t;
	if (pthread_create(&t, NULL, f, arg))
		_exit(1);
	pthread_detach(t);
}

// count: counts SIGRTMIN+2 and prints the number at SIGUSR1.
static atomic_int signals;
static void on_signal(int sig) { signals++; }
static void on_report(int sig) {
	char b[32];
	write(1, b, sprintf(b, "%d\n", signals));
}

static void count(void) {
	signal(SIGRTMIN + 2, on_signal);
	signal(SIGUSR1, on_report);
	ready();
	for (volatile long i = 0;; i++)
		;
}

static atomic_int met;
static void *gone(void *arg) {
	met++;
	return NULL;
}

// churn: threads that begin and end all the time.
static void churn(void) {
	ready();
	for (;;) {
		pthread_t t[8];
		for (int i = 0; i < 8; i++)
			if (pthread_create(&t[i], NULL, gone, NULL))
				_exit(1);
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], NULL);
	}
}

// exec: replaces itself again and again, by the leader or by another thread.
static char **again;
static void *replace(void *arg) {
	usleep(2000);
	execv("/proc/self/exe", again);
	_exit(1);
}

static void exec_for_ever(char **argv, int by_thread) {
	again = argv;
	static char said[] = "SAID=1";
	if (!getenv("SAID")) {
		ready();
		putenv(said);
	}
	for (int i = 0; i < 4; i++)
		thread(asleep, NULL);
	if (!by_thread)
		replace(NULL);
	thread(replace, NULL);
	asleep(NULL);
}

// vfork: the leader waits three seconds in state D for its child.
static void in_vfork(int seconds) {
	thread(asleep, NULL);
	usleep(10000);
	ready();
	if (vfork() == 0) {
		sleep(seconds);
		_exit(0);
	}
	ready();
	asleep(NULL);
}

__attribute__((noinline)) static int descend(int n) {
	volatile int keep = n;
	if (n > 0)
		return descend(n - 1) + keep;
	ready();
	asleep(NULL);
	return keep;
}
static void *descend_thread(void *arg) { return (void *)(long)descend((long)arg); }

static void deep(int n, int in_thread) {
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 16 << 20);
	if (!in_thread)
		descend(n);
	pthread_create(&t, &a, descend_thread, (void *)(long)n);
	asleep(NULL);
}

// fault: a thread with a page in its stack that a userfaultfd owner never brings.
static char *hole;
__attribute__((noinline)) static void over_the_hole(char *p) {
	hole = p;
	asleep(NULL);
}
static void *skip_pages(void *arg) {
	over_the_hole(alloca(64 << 10));
	return NULL;
}

static void fault(int others) {
	pthread_attr_t a;
	pthread_t t;
	size_t size = 256 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < others; i++)
		thread(asleep, NULL);
	pthread_attr_init(&a);
	pthread_attr_setstack(&a, stack, size);
	if (pthread_create(&t, &a, skip_pages, NULL))
		_exit(1);
	while (!*(char *volatile *)&hole)
		usleep(1000);
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	unsigned long page = ((unsigned long)hole + 8 * 4096) & ~4095ul;
	struct uffdio_register reg = {.range = {page, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg) ||
	    madvise((void *)page, 4096, MADV_DONTNEED)) {
		write(1, "n", 1);
		return;
	}
	ready();
	asleep(NULL);
}

// hold: traces process pid.
static void hold(int pid) {
	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		_exit(1);
	ready();
	asleep(NULL);
}

// chain: three pointers for a Copier to follow; prints the address of the first.
static long last = 0x1122334455667788, *second = &last, **first = &second;
static void chain(void) {
	char b[32];
	write(1, b, sprintf(b, "r%p\n", (void *)&first));
	asleep(NULL);
}

// stamps: n threads that share one CPU, each writing the time of CLOCK_MONOTONIC in
// nanoseconds to its stack, behind a word that tells the place.
static void *stamp(void *arg) {
	volatile struct {
		unsigned long long word, time;
	} at = {0x7374616d70732e2eULL, 0};
	struct timespec t;
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		at.time = t.tv_sec * 1000000000ULL + t.tv_nsec;
	}
	return arg;
}

static void stamps(long n) {
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof one, &one))
		_exit(1);
	while (n-- > 0)
		thread(stamp, NULL);
	ready();
	asleep(NULL);
}

int main(int argc, char **argv) {
	const char *mode = argv[1];
	long n = argc > 2 ? atol(argv[2]) : 0;
	if (!strcmp(mode, "sleep")) {
		ready();
		asleep(NULL);
	}
	if (!strcmp(mode, "leaderless")) {
		thread(asleep, NULL);
		usleep(10000);
		ready();
		pthread_exit(NULL);
	}
	if (!strcmp(mode, "exit")) {
		ready();
		usleep(n);
		return 7;
	}
	if (!strcmp(mode, "count"))
		count();
	if (!strcmp(mode, "churn"))
		churn();
	if (!strcmp(mode, "exec-leader"))
		exec_for_ever(argv, 0);
	if (!strcmp(mode, "exec-thread"))
		exec_for_ever(argv, 1);
	if (!strcmp(mode, "vfork"))
		in_vfork(n);
	if (!strcmp(mode, "deep"))
		deep(n, 0);
	if (!strcmp(mode, "deep-thread"))
		deep(n, 1);
	if (!strcmp(mode, "fault"))
		fault(n);
	if (!strcmp(mode, "hold"))
		hold(n);
	if (!strcmp(mode, "stamps"))
		stamps(n);
	if (!strcmp(mode, "chain"))
		chain();
	return 1;
}
