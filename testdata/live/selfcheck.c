/* selfcheck [-s SPINNERS] [-b BEATERS] [-p PIPES] [-r RECEIVERS] [-i INTERVAL_US]:
 * a program that notices bad manners.
 *
 *   spinners   fill their registers, turn, and compare
 *   beaters    nanosleep a millisecond: never EINTR, never too short
 *   pipes      a writer sends numbers, a reader polls and reads: never EINTR, no
 *              gap, no double
 *   receivers  wait for numbered real-time signals, which one sender queues to each
 *              of them: no gap, no double, si_code and sender as they were sent
 *
 * A handler counts every signal that nobody here sends. SIGUSR1 asks for a report
 * line; SIGTERM ends the sender, waits until all that was sent has arrived, reports
 * and exits: 0 if all is well, 1 if not. SIGCONT is counted, as a test may send it.
 *
 * The report is one line: ok or bad, then name=number. All after "faults" must be 0.
 * A beat or a pipe that has not moved for STUCK_SECONDS is stuck. */
#include "live.h"
#include "selfcheck_regs.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/signalfd.h>

#define MOST 64
#define STUCK_SECONDS 5
#define MOST_OUTSTANDING 32

enum kind { SPINNERS, BEATERS, PIPES, RECEIVERS, KINDS };

/* One worker of any kind; only its own thread writes to it, but for sent. */
struct worker {
	pid_t tid;
	int pipe[2];
	long done;       /* spins, beats, messages or signals */
	long sent;       /* receivers: by the sender */
	long last_moved; /* stuck detection: done at the last look, and when */
	long moved_at;
};

static struct worker workers[KINDS][MOST];
static long wanted[KINDS] = {1, 2, 2, 2};
static long interval_us = 1000;
static long worst_late_us;
static volatile int stop_sending;
static __thread struct worker *self;

static struct {
	long registers, eintr, early, gap, doubled, forged, strange, stuck, lost;
} faults;
static long continued;

static void count(long *n) { __atomic_add_fetch(n, 1, __ATOMIC_RELAXED); }
static long seen(long *n) { return __atomic_load_n(n, __ATOMIC_ACQUIRE); }

static long now_us(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

/* check_order compares the number that came with the one due next. */
static void check_order(long got, long due) {
	if (got > due)
		count(&faults.gap);
	else if (got < due)
		count(&faults.doubled);
}

static void on_numbered(int sig, siginfo_t *info, void *context) {
	(void)sig, (void)context;
	if (self == NULL || info->si_code != SI_QUEUE || info->si_pid != getpid()) {
		count(&faults.forged);
		return;
	}
	long number = info->si_value.sival_int;
	check_order(number, self->done + 1);
	__atomic_store_n(&self->done, number, __ATOMIC_RELEASE);
}

static void on_strange(int sig) {
	if (sig == SIGCONT)
		count(&continued);
	else
		count(&faults.strange);
}

static void *spinner(void *slot) {
	self = slot;
	for (unsigned long seed = 1;; seed++) {
		if (spin_with_registers(seed, 20000) != 0)
			count(&faults.registers);
		count(&self->done);
	}
	return NULL;
}

static void *beater(void *slot) {
	self = slot;
	for (;;) {
		struct timespec nap = {0, 1000000};
		long begin = now_us();
		if (nanosleep(&nap, NULL) != 0)
			count(&faults.eintr);
		long took = now_us() - begin;
		if (took < 1000)
			count(&faults.early);
		if (took > worst_late_us)
			worst_late_us = took; /* a race between beaters loses a maximum at worst */
		count(&self->done);
	}
	return NULL;
}

static void *pipe_writer(void *slot) {
	struct worker *w = slot;
	for (long number = 1;; number++) {
		if (write(w->pipe[1], &number, sizeof number) != sizeof number)
			count(&faults.eintr);
		live_sleep_us(1000);
	}
	return NULL;
}

static void *pipe_reader(void *slot) {
	self = slot;
	for (;;) {
		struct pollfd fd = {.fd = self->pipe[0], .events = POLLIN};
		long number;
		if (poll(&fd, 1, -1) != 1 || read(self->pipe[0], &number, sizeof number) != sizeof number) {
			count(&faults.eintr);
			continue;
		}
		check_order(number, self->done + 1);
		__atomic_store_n(&self->done, number, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* A receiver of even number sleeps, one of odd number runs, as a signal reaches the
 * two by different ways. */
static void *receiver(void *slot) {
	sigset_t numbered;
	self = slot;
	__atomic_store_n(&self->tid, live_tid(), __ATOMIC_RELEASE);
	sigemptyset(&numbered);
	sigaddset(&numbered, SIGRTMIN + 1);
	pthread_sigmask(SIG_UNBLOCK, &numbered, NULL);
	if ((self - workers[RECEIVERS]) % 2 == 0)
		live_forever();
	for (;;)
		sched_yield();
	return NULL;
}

static int queue_number(struct worker *w, long number) {
	siginfo_t info = {.si_code = SI_QUEUE};
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = (int)number;
	return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), w->tid, SIGRTMIN + 1, &info);
}

static void *sender(void *unused) {
	while (!stop_sending) {
		for (long i = 0; i < wanted[RECEIVERS]; i++) {
			struct worker *w = &workers[RECEIVERS][i];
			/* The queue is bounded (RLIMIT_SIGPENDING); a full one is not a loss. */
			int ready = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE) != 0;
			if (ready && w->sent - seen(&w->done) < MOST_OUTSTANDING && queue_number(w, w->sent + 1) == 0)
				count(&w->sent);
		}
		if (interval_us > 0)
			live_sleep_us(interval_us);
	}
	return unused;
}

static long total(enum kind kind) {
	long n = 0;
	for (long i = 0; i < wanted[kind]; i++)
		n += seen(&workers[kind][i].done);
	return n;
}

/* find_stuck counts a worker again at each look for as long as it stands still. A
 * look that itself comes late (the process was stopped) begins anew. */
static void find_stuck(void) {
	static long last_look;
	long now = now_us();
	int late = last_look != 0 && now - last_look > 1000000;
	last_look = now;
	for (enum kind kind = SPINNERS; kind <= PIPES; kind++)
		for (long i = 0; i < wanted[kind]; i++) {
			struct worker *w = &workers[kind][i];
			long done = seen(&w->done);
			if (late || done != w->last_moved) {
				w->last_moved = done;
				w->moved_at = now;
			} else if (now - w->moved_at > STUCK_SECONDS * 1000000L) {
				count(&faults.stuck);
				w->moved_at = now;
			}
		}
}

static int report(void) {
	char line[512];
	long sent = 0;
	for (long i = 0; i < wanted[RECEIVERS]; i++)
		sent += seen(&workers[RECEIVERS][i].sent);
	int bad = faults.registers || faults.eintr || faults.early || faults.gap || faults.doubled ||
		faults.forged || faults.strange || faults.stuck || faults.lost;
	snprintf(line, sizeof line,
		"%s spins=%ld beats=%ld messages=%ld sent=%ld received=%ld continued=%ld late_us=%ld "
		"registers_checked=%d faults registers=%ld eintr=%ld early=%ld gap=%ld doubled=%ld "
		"forged=%ld strange=%ld stuck=%ld lost=%ld\n",
		bad ? "bad" : "ok", total(SPINNERS), total(BEATERS), total(PIPES), sent, total(RECEIVERS),
		continued, worst_late_us, REGISTERS_CHECKED, faults.registers, faults.eintr, faults.early,
		faults.gap, faults.doubled, faults.forged, faults.strange, faults.stuck, faults.lost);
	live_say(line);
	return bad;
}

/* drain waits until every signal that was sent has come, five seconds at most; what
 * is then missing was lost. */
static void drain(pthread_t sending) {
	stop_sending = 1;
	pthread_join(sending, NULL);
	for (int tries = 0; tries < 5000; tries++) {
		faults.lost = 0;
		for (long i = 0; i < wanted[RECEIVERS]; i++) {
			struct worker *w = &workers[RECEIVERS][i];
			faults.lost += seen(&w->sent) - seen(&w->done);
		}
		if (faults.lost == 0)
			return;
		live_sleep_us(1000);
	}
}

/* install gives every signal that can be caught a handler. SIGALRM keeps its default
 * action, as it bounds the life of this process. */
static void install(void) {
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		struct sigaction action = {.sa_flags = SA_RESTART};
		action.sa_handler = on_strange;
		if (sig == SIGRTMIN + 1) {
			action.sa_flags |= SA_SIGINFO;
			action.sa_sigaction = on_numbered;
		}
		if (sig != SIGALRM && sig != SIGSEGV && sig != SIGBUS && sig != SIGABRT)
			sigaction(sig, &action, NULL); /* EINVAL for SIGKILL, SIGSTOP and libc's own */
	}
}

static pthread_t start(void *(*body)(void *), void *slot) {
	pthread_t t;
	errno = pthread_create(&t, NULL, body, slot);
	if (errno != 0)
		live_die("pthread_create");
	return t;
}

static void options(int argc, char **argv) {
	int c;
	while ((c = getopt(argc, argv, "s:b:p:r:i:")) != -1) {
		long value = optarg != NULL ? strtol(optarg, NULL, 10) : -1;
		const char *kinds = "sbpr", *at = strchr(kinds, c);
		if (c == '?' || value < 0 || (at != NULL && value > MOST))
			exit(64);
		if (at != NULL)
			wanted[at - kinds] = value;
		else
			interval_us = value;
	}
}

int main(int argc, char **argv) {
	options(argc, argv);
	live_begin();
	install();
	/* All threads block what only the main thread is to read or one kind to take. */
	sigset_t blocked, asked;
	sigemptyset(&asked);
	sigaddset(&asked, SIGTERM);
	sigaddset(&asked, SIGUSR1);
	blocked = asked;
	sigaddset(&blocked, SIGRTMIN + 1);
	sigaddset(&blocked, SIGCONT);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	int requests = signalfd(-1, &asked, SFD_CLOEXEC);
	if (requests < 0)
		live_die("signalfd");

	static void *(*const bodies[KINDS])(void *) = {spinner, beater, pipe_reader, receiver};
	for (enum kind kind = SPINNERS; kind < KINDS; kind++)
		for (long i = 0; i < wanted[kind]; i++) {
			struct worker *w = &workers[kind][i];
			if (kind == PIPES && pipe(w->pipe) != 0)
				live_die("pipe");
			start(bodies[kind], w);
			if (kind == PIPES)
				start(pipe_writer, w);
		}
	pthread_t sending = start(sender, NULL);
	/* SIGCONT is handled here alone, so that it ends no sleep of a worker. */
	sigset_t cont;
	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	pthread_sigmask(SIG_UNBLOCK, &cont, NULL);
	while (wanted[BEATERS] > 0 && total(BEATERS) == 0)
		live_sleep_us(500);
	live_ready();
	for (;;) {
		struct pollfd fd = {.fd = requests, .events = POLLIN};
		struct signalfd_siginfo info;
		/* poll ends with EINTR when SIGCONT is handled; only then. */
		if (poll(&fd, 1, 500) == 1 && read(requests, &info, sizeof info) == sizeof info) {
			if (info.ssi_signo == SIGTERM) {
				drain(sending);
				return report();
			}
			report();
		}
		find_stuck();
	}
}
