/* Pipes, terminals, and the descriptors of event, timer, signal and inotify. */
#include "eintr.h"
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <termios.h>

static char buffer[1 << 20];
static char path[64];

static long block_read(void) { return read(shared[0], buffer, 8); }

static long block_readv(void) {
	struct iovec part = {buffer, 8};
	return readv(shared[0], &part, 1);
}

static void fill_pipe(void) {
	make_pipe();
	fcntl(shared[1], F_SETFL, O_NONBLOCK);
	while (write(shared[1], buffer, 4096) > 0)
		;
	fcntl(shared[1], F_SETFL, 0);
}

static void drain_shared(void) {
	for (long left = 1 << 16; left > 0;) {
		long n = read(shared[0], buffer, sizeof buffer);
		if (n <= 0)
			return;
		left -= n;
	}
}

static long block_write(void) { return write(shared[1], buffer, 4096); }
static long block_write_much(void) { return write(shared[1], buffer, 1 << 17); }

/* The reader takes all; the writer may have given up, so it must not wait for more. */
static void drain_twice(void) {
	fcntl(shared[0], F_SETFL, O_NONBLOCK);
	for (int tries = 0; tries < 50; tries++) {
		drain_shared();
		live_sleep_us(1000);
	}
}

static void make_fifo(void) {
	snprintf(path, sizeof path, "/tmp/fpstack-eintr-%d", getpid());
	if (mkfifo(path, 0600) != 0)
		live_die("mkfifo");
}

static long block_fifo_open(void) {
	long fd = open(path, O_RDONLY | O_CLOEXEC);
	int code = errno;
	unlink(path);
	errno = code;
	return shared[0] = (int)fd;
}

static void open_fifo(void) { shared[1] = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC); }

static long block_splice(void) {
	static int to[2];
	if (to[1] == 0 && pipe(to) != 0)
		return -1;
	return splice(shared[0], NULL, to[1], NULL, 8, 0);
}

static void make_tty(void) {
	shared[1] = posix_openpt(O_RDWR | O_NOCTTY);
	if (shared[1] < 0 || grantpt(shared[1]) != 0 || unlockpt(shared[1]) != 0)
		live_die("posix_openpt");
	shared[0] = open(ptsname(shared[1]), O_RDWR | O_NOCTTY);
}

static void write_line(void) { (void)!write(shared[1], "a line\n", 7); }

static void make_eventfd(void) { shared[1] = dup(shared[0] = eventfd(0, EFD_CLOEXEC)); }

static void make_timerfd(void) {
	struct itimerspec when = {.it_value = asked_time()};
	shared[0] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timerfd_settime(shared[0], 0, &when, NULL);
}

static void make_signalfd(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	shared[0] = signalfd(-1, &set, SFD_CLOEXEC);
}

static long block_read_signal(void) { return read(shared[0], buffer, sizeof(struct signalfd_siginfo)); }
static void send_usr1(void) { pthread_kill(blocked_thread, SIGUSR1); }

static void make_inotify(void) {
	make_fifo();
	shared[0] = inotify_init1(IN_CLOEXEC);
	inotify_add_watch(shared[0], path, IN_ATTRIB);
}

static long block_read_inotify(void) {
	long n = read(shared[0], buffer, 4096);
	int code = errno;
	unlink(path);
	errno = code;
	return n;
}

static void touch_path(void) { chmod(path, 0644); }

static long block_poll(void) {
	struct pollfd fd = {.fd = shared[0], .events = POLLIN};
	return poll(&fd, 1, ASKED_MS);
}

static long block_ppoll(void) {
	struct pollfd fd = {.fd = shared[0], .events = POLLIN};
	struct timespec limit = asked_time();
	return ppoll(&fd, 1, &limit, NULL);
}

static long block_select(void) {
	fd_set set;
	FD_ZERO(&set);
	FD_SET(shared[0], &set);
	struct timeval limit = {ASKED_MS / 1000, ASKED_MS % 1000 * 1000};
	return select(shared[0] + 1, &set, NULL, NULL, &limit);
}

static long block_pselect(void) {
	fd_set set;
	FD_ZERO(&set);
	FD_SET(shared[0], &set);
	struct timespec limit = asked_time();
	return pselect(shared[0] + 1, &set, NULL, NULL, &limit, NULL);
}

static int epoll_on_shared(void) {
	struct epoll_event event = {.events = EPOLLIN};
	static int fd = -1;
	if (fd >= 0)
		close(fd);
	fd = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(fd, EPOLL_CTL_ADD, shared[0], &event);
	return fd;
}

static long block_epoll(void) {
	struct epoll_event event;
	return epoll_wait(epoll_on_shared(), &event, 1, -1);
}

static long block_epoll_limit(void) {
	struct epoll_event event;
	return epoll_wait(epoll_on_shared(), &event, 1, ASKED_MS);
}

static long block_epoll_pwait(void) {
	struct epoll_event event;
	sigset_t none;
	sigemptyset(&none);
	sigaddset(&none, SIGUSR1);
	return epoll_pwait(epoll_on_shared(), &event, 1, -1, &none);
}

static long block_epoll_pwait2(void) {
	struct epoll_event event;
#ifdef SYS_epoll_pwait2
	return syscall(SYS_epoll_pwait2, epoll_on_shared(), &event, 1, NULL, NULL, 8);
#else
	(void)event;
	errno = ENOSYS;
	return -1;
#endif
}

static aio_context_t aio;

static void make_aio(void) {
	if (aio == 0)
		syscall(SYS_io_setup, 1, &aio);
}

static long block_io_getevents(void) {
	struct io_event event;
	struct timespec limit = asked_time();
	return syscall(SYS_io_getevents, aio, 1L, 1L, &event, &limit);
}

static long block_io_pgetevents(void) {
	struct io_event event;
	struct timespec limit = asked_time();
	return syscall(SYS_io_pgetevents, aio, 1L, 1L, &event, &limit, NULL);
}

static void make_ring(void) {
	struct io_uring_params parameters = {0};
	shared[0] = (int)syscall(SYS_io_uring_setup, 4, &parameters);
}

/* Nothing is in the ring, so only a signal ends the wait for one completion. */
static long block_io_uring(void) {
	if (shared[0] < 0) {
		errno = ENOSYS;
		return -1;
	}
	return syscall(SYS_io_uring_enter, shared[0], 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static void send_usr2(void) { pthread_kill(blocked_thread, SIGUSR2); }

const struct blocker file_blockers[] = {
	{"read-pipe", "restart", make_pipe, block_read, write_shared},
	{"readv-pipe", "restart", make_pipe, block_readv, write_shared},
	{"write-pipe", "restart", fill_pipe, block_write, drain_shared},
	{"write-pipe-much", "short", make_pipe, block_write_much, drain_twice},
	{"open-fifo", "restart", make_fifo, block_fifo_open, open_fifo},
	{"splice", "restart", make_pipe, block_splice, write_shared},
	{"read-tty", "restart", make_tty, block_read, write_line},
	{"read-eventfd", "restart", make_eventfd, block_read, write_shared},
	{"read-timerfd", "restart", make_timerfd, block_read, NULL},
	{"read-signalfd", "restart", make_signalfd, block_read_signal, send_usr1},
	{"read-inotify", "restart", make_inotify, block_read_inotify, touch_path},
	{"poll", "restart", make_pipe, block_poll, NULL},
	{"ppoll", "restart", make_pipe, block_ppoll, NULL},
	{"select", "restart", make_pipe, block_select, NULL},
	{"pselect", "restart", make_pipe, block_pselect, NULL},
	{"epoll_wait", "eintr", make_pipe, block_epoll, write_shared},
	{"epoll_wait-limit", "eintr", make_pipe, block_epoll_limit, NULL},
	{"epoll_pwait", "eintr", make_pipe, block_epoll_pwait, write_shared},
	{"epoll_pwait2", "eintr", make_pipe, block_epoll_pwait2, write_shared},
	{"io_getevents", "eintr", make_aio, block_io_getevents, NULL},
	{"io_pgetevents", "again", make_aio, block_io_pgetevents, NULL},
	{"io_uring_enter", "eintr", make_ring, block_io_uring, send_usr2},
	{0},
};
