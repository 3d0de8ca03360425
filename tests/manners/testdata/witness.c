/* witness SPINNERS [MODE]: a program that writes down what happens to it.
 *
 * It prints "R ADDRESS", the place of book below, which a test reads through
 * /proc/PID/mem. SPINNERS threads count in turns. The main thread sleeps and takes all
 * signals, which are written down; SIGUSR2 exits with status 7. SIGTERM, SIGALRM, the
 * stop signals and those ignored by default keep their actions.
 *
 * MODE leaderless: the main thread ends, the spinners live on.
 *      seccomp:    one more thread reads a pipe under strict seccomp; SIGUSR1 writes a
 *                  byte to it, which turns[7] counts.
 *      uring:      an io_uring with a kernel thread that polls. "n" instead of "R" if
 *                  that cannot be had.
 *      hole:       the main thread's stack has a page that userfaultfd serves, and
 *                  nobody does.
 *      fault:      one more thread sleeps in read(2) into such a page, which comes with
 *                  SIGUSR1; turns[7] counts it.
 *      dump:       aborts on SIGUSR1. */
#include "../../../testdata/live/live.h"
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define LOGGED 8192

struct event {
	int sig, code, pid, value;
};

static struct {
	long turns[8];
	long count;
	struct event log[LOGGED];
} book;

static int bell[2]; /* a pipe that SIGUSR1 writes to */
static const char *mode = "";

static int is(const char *name) { return strcmp(mode, name) == 0; }

static void write_down(int sig, siginfo_t *info, void *context) {
	(void)context;
	book.log[book.count % LOGGED] = (struct event){sig, info->si_code, info->si_pid, info->si_value.sival_int};
	__atomic_store_n(&book.count, book.count + 1, __ATOMIC_RELEASE);
	if (sig == SIGUSR2)
		_exit(7);
	if (sig == SIGUSR1 && bell[1] != 0)
		(void)!write(bell[1], "x", 1);
	if (sig == SIGUSR1 && is("dump"))
		abort();
}

static void *spinner(void *slot) {
	for (;;)
		__atomic_add_fetch((long *)slot, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *strict(void *unused) {
	char byte;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		live_die("prctl(PR_SET_SECCOMP)");
	while (read(bell[0], &byte, 1) == 1)
		__atomic_add_fetch(&book.turns[7], 1, __ATOMIC_RELAXED);
	return unused;
}

static void not_here(void) {
	live_say("n\n");
	exit(0);
}

static void start(void *(*body)(void *), void *slot) {
	pthread_t t;
	errno = pthread_create(&t, NULL, body, slot);
	if (errno != 0)
		live_die("pthread_create");
}

/* serve_page makes the page at where one that only uffd brings. */
static int serve_page(char *where, size_t size) {
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range = {(unsigned long)where, size}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0 || madvise(where, size, MADV_DONTNEED) != 0 ||
		ioctl(uffd, UFFDIO_REGISTER, &range) != 0)
		not_here();
	return uffd;
}

static char *missing;

static void *reader(void *unused) {
	int pipes[2];
	if (pipe(pipes) != 0 || write(pipes[1], "x", 1) != 1)
		live_die("pipe");
	book.turns[6] = live_tid();
	if (read(pipes[0], missing, 1) == 1)
		__atomic_add_fetch(&book.turns[7], 1, __ATOMIC_RELAXED);
	live_forever();
	return unused;
}

static void *server(void *uffd) {
	char byte;
	(void)!read(bell[0], &byte, 1);
	struct uffdio_zeropage zero = {.range = {(unsigned long)missing, 4096}};
	if (ioctl((int)(long)uffd, UFFDIO_ZEROPAGE, &zero) != 0)
		live_die("ioctl(UFFDIO_ZEROPAGE)");
	return NULL;
}

static void prepare(void) {
	if ((is("seccomp") || is("fault")) && pipe(bell) != 0)
		live_die("pipe");
	if (is("seccomp"))
		start(strict, NULL);
	if (is("uring")) {
		struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 60000};
		if (syscall(SYS_io_uring_setup, 4, &params) < 0)
			not_here();
	}
	if (is("fault")) {
		missing = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		long uffd = serve_page(missing, 4096);
		start(reader, NULL);
		start(server, (void *)uffd);
		while (book.turns[6] == 0)
			live_sleep_us(500);
		live_await_sleep((pid_t)book.turns[6]);
	}
}

static void rest(void) {
	char line[64];
	if (is("leaderless")) {
		snprintf(line, sizeof line, "R %lx\n", (long)&book);
		live_say(line);
		pthread_exit(NULL);
	}
	snprintf(line, sizeof line, "R %lx\n", (long)&book);
	live_say(line);
	live_forever();
}

NOINLINE static void rest_below_hole(void) {
	volatile char room[64 * 1024];
	room[0] = room[sizeof room - 1] = 1;
	char *page = (char *)(((unsigned long)room + sizeof room / 2) & ~4095UL);
	serve_page(page, 4096);
	rest();
	room[1] = 1;
}

int main(int argc, char **argv) {
	long spinners = live_number(argc, argv, 1, 1);
	if (argc > 2)
		mode = argv[2];
	live_begin();
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART, .sa_sigaction = write_down};
	sigset_t all, kept;
	sigfillset(&all);
	action.sa_mask = all;
	static const int untouched[] = {SIGTERM, SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU, SIGCHLD, SIGWINCH, SIGURG, SIGABRT, SIGSEGV, SIGBUS};
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		int keep = 0;
		for (size_t i = 0; i < sizeof untouched / sizeof *untouched; i++)
			keep |= sig == untouched[i];
		if (!keep)
			sigaction(sig, &action, NULL); /* EINVAL for SIGKILL, SIGSTOP and libc's own */
	}
	pthread_sigmask(SIG_BLOCK, &all, &kept);
	for (long i = 0; i < spinners && i < 6; i++)
		start(spinner, &book.turns[i]);
	prepare();
	pthread_sigmask(SIG_SETMASK, &kept, NULL);
	if (is("hole"))
		rest_below_hole();
	rest();
}
