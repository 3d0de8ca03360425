/* Sleeps, and waits for a signal. */
#include "eintr.h"

static long block_nanosleep(void) {
	struct timespec t = asked_time();
	return nanosleep(&t, NULL);
}

static long block_clock_relative(void) {
	struct timespec t = asked_time();
	return from_pthread(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL));
}

static long block_clock_absolute(void) {
	struct timespec t = asked_deadline(CLOCK_MONOTONIC);
	return from_pthread(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
}

/* pause and sigsuspend always end with EINTR, by the handler that wakes them; one
 * that a stop ended would come back before its time. */
static long block_pause(void) { return pause(); }

static long block_sigsuspend(void) {
	sigset_t none;
	sigemptyset(&none);
	sigaddset(&none, SIGUSR1);
	return sigsuspend(&none);
}

static void send_usr2(void) { pthread_kill(blocked_thread, SIGUSR2); }
static void send_usr1(void) { pthread_kill(blocked_thread, SIGUSR1); }

/* With EINTR the signal stays behind; a later wait would find it at once. */
static void take_leftover(void) {
	sigset_t set;
	struct timespec now = {0, 0};
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
}

/* The system call itself: glibc's sigwait hides the EINTR. */
static long wait_usr1(const struct timespec *limit) {
	sigset_t set;
	siginfo_t info;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return syscall(SYS_rt_sigtimedwait, &set, &info, limit, 8) < 0 ? -1 : 0;
}

static long block_sigwaitinfo(void) { return wait_usr1(NULL); }

static long block_sigtimedwait(void) {
	struct timespec limit = asked_time();
	return wait_usr1(&limit);
}

const struct blocker time_blockers[] = {
	{"nanosleep", "restart", NULL, block_nanosleep, NULL},
	{"clock_nanosleep-relative", "restart", NULL, block_clock_relative, NULL},
	{"clock_nanosleep-absolute", "restart", NULL, block_clock_absolute, NULL},
	{"pause", "restart", NULL, block_pause, send_usr2},
	{"sigsuspend", "restart", NULL, block_sigsuspend, send_usr2},
	{"sigwaitinfo", "eintr", take_leftover, block_sigwaitinfo, send_usr1},
	{"sigtimedwait", "eintr", take_leftover, block_sigtimedwait, NULL},
	{0},
};
