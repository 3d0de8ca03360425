/* fds SITUATION [FOLDER]: processes that wait for each other, or for something else, at descriptors.
 *
 * It writes a line "NAME PID" for each process of the situation, and "R" when all have been started; the
 * test waits until each sleeps. FOLDER is one that files are made in. What each situation
 * is, its function says. */
#include "live.h"
#include <mqueue.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

static const char *folder = ".";
static char byte_read[1 << 16];

static int must(int result, const char *what) {
	if (result < 0)
		live_die(what);
	return result;
}

static void name(const char *what, pid_t pid) {
	char line[64];
	snprintf(line, sizeof line, "%s %d\n", what, (int)pid);
	live_say(line);
}

/* child starts a process that runs f, and names it. */
static pid_t child(const char *what, void (*f)(void)) {
	pid_t pid = must(fork(), "fork");
	if (pid == 0) {
		live_begin();
		f();
		live_forever();
	}
	name(what, pid);
	return pid;
}

static char *in_folder(const char *file) {
	static char path[2][4096];
	static int turn;
	turn = !turn;
	snprintf(path[turn], sizeof path[turn], "%s/%s", folder, file);
	return path[turn];
}

static void read_from(int fd) {
	while (read(fd, byte_read, sizeof byte_read) > 0)
		;
}

static void write_much(int fd) {
	static char much[1 << 20];
	if (write(fd, much, sizeof much) < 0)
		live_die("write");
}

static int a[2], b[2];

static void close_all_but(int x, int y) {
	int all[4] = {a[0], a[1], b[0], b[1]};
	for (int i = 0; i < 4; i++)
		if (all[i] != x && all[i] != y)
			close(all[i]);
}

/* child-pipe: a child writes more than its pipe takes, and the parent, who should read, waits for the child. */
static void write_a(void) {
	close(a[0]);
	write_much(a[1]);
}

static void child_pipe(void) {
	must(pipe(a), "pipe");
	pid_t pid = child("writer", write_a);
	close(a[1]);
	live_ready();
	waitpid(pid, NULL, 0);
}

/* any-child: the same, waiting for any child by waitid. */
static void any_child(void) {
	must(pipe(a), "pipe");
	child("writer", write_a);
	close(a[1]);
	live_ready();
	siginfo_t info;
	waitid(P_ALL, 0, &info, WEXITED);
}

/* both-empty: two processes read, each what the other should write. */
static void read_a_write_b(void) {
	close_all_but(a[0], b[1]);
	read_from(a[0]);
}
static void read_b_write_a(void) {
	close_all_but(b[0], a[1]);
	read_from(b[0]);
}

static void both_empty(void) {
	must(pipe(a), "pipe");
	must(pipe(b), "pipe");
	child("left", read_a_write_b);
	child("right", read_b_write_a);
	close_all_but(-1, -1);
	live_ready();
}

/* both-full: two processes write, each what the other should read. */
static void write_b(void) {
	close_all_but(a[0], b[1]);
	write_much(b[1]);
}
static void write_a_not_read_b(void) {
	close_all_but(b[0], a[1]);
	write_much(a[1]);
}

static void both_full(void) {
	must(pipe(a), "pipe");
	must(pipe(b), "pipe");
	child("left", write_b);
	child("right", write_a_not_read_b);
	close_all_but(-1, -1);
	live_ready();
}

/* own-end: a reader that kept the write end itself. */
static void read_own(void) { read_from(a[0]); }

static void own_end(void) {
	must(pipe(a), "pipe");
	child("reader", read_own);
	close_all_but(-1, -1);
	live_ready();
}

/* sleeping-writer: the reader waits for a process that sleeps for 1000 s. */
static void sleep_long(void) {
	close(a[0]);
	live_sleep_us(1000L * 1000000);
}
static void read_only(void) {
	close(a[1]);
	read_from(a[0]);
}

static void sleeping_writer(void) {
	must(pipe(a), "pipe");
	child("reader", read_only);
	child("sleeper", sleep_long);
	close_all_but(-1, -1);
	live_ready();
}

/* stopped-writer: the same, but the writer is stopped by SIGSTOP. */
static void stop_self(void) {
	close(a[0]);
	raise(SIGSTOP);
}

static void stopped_writer(void) {
	must(pipe(a), "pipe");
	child("reader", read_only);
	child("stopped", stop_self);
	close_all_but(-1, -1);
	live_ready();
}

/* unix-pair: both ends of a socket pair read. */
static void read_left(void) {
	close(a[1]);
	read_from(a[0]);
}
static void read_right(void) {
	close(a[0]);
	read_from(a[1]);
}

static void unix_pair(void) {
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, a), "socketpair");
	child("left", read_left);
	child("right", read_right);
	close(a[0]);
	close(a[1]);
	live_ready();
}

/* unix-unaccepted: a client whose connection nobody has accepted reads; the server sleeps. */
static struct sockaddr_un unix_address;

static void unix_client(void) {
	int fd = must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	close(a[0]);
	must(connect(fd, (void *)&unix_address, sizeof unix_address), "connect");
	read_from(fd);
}
static void sleep_holding(void) { live_sleep_us(1000L * 1000000); }

static void unix_unaccepted(void) {
	unix_address.sun_family = AF_UNIX;
	snprintf(unix_address.sun_path, sizeof unix_address.sun_path, "%s", in_folder("so\ncket"));
	a[0] = must(socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	must(bind(a[0], (void *)&unix_address, sizeof unix_address), "bind");
	must(listen(a[0], 8), "listen");
	child("server", sleep_holding);
	child("client", unix_client);
	close(a[0]);
	live_ready();
}

/* tcp: both ends of a connection on this machine read. tcp-unaccepted: one end was not accepted. mapped: the server
 * has an IPv6 socket. */
static struct sockaddr_in address;

static int listener(int mapped) {
	socklen_t size = sizeof address;
	if (mapped) {
		struct sockaddr_in6 six = {.sin6_family = AF_INET6};
		socklen_t len = sizeof six;
		int fd = must(socket(AF_INET6, SOCK_STREAM, 0), "socket");
		must(bind(fd, (void *)&six, sizeof six), "bind");
		must(listen(fd, 8), "listen");
		getsockname(fd, (void *)&six, &len);
		address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = six.sin6_port};
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return fd;
	}
	int fd = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	address = (struct sockaddr_in){.sin_family = AF_INET};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(fd, (void *)&address, sizeof address), "bind");
	must(listen(fd, 8), "listen");
	must(getsockname(fd, (void *)&address, &size), "getsockname");
	return fd;
}
static void tcp_server(void) {
	int fd = must(accept(a[0], NULL, NULL), "accept");
	close(a[0]);
	must(write(b[1], "a", 1), "accepted");
	close(b[0]);
	close(b[1]);
	read_from(fd);
}
static void tcp_client(void) {
	close(a[0]);
	int fd = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
	must(connect(fd, (void *)&address, sizeof address), "connect");
	read_from(fd);
}
static void tcp(int mapped) {
	char accepted;
	a[0] = listener(mapped);
	must(pipe(b), "pipe");
	child("server", tcp_server);
	close(b[1]);
	child("client", tcp_client);
	close(a[0]);
	must(read(b[0], &accepted, 1), "accepted");
	close(b[0]);
	live_ready();
}
static void tcp_plain(void) { tcp(0); }
static void tcp_mapped(void) { tcp(1); }
static void tcp_unaccepted(void) {
	a[0] = listener(0);
	child("server", sleep_holding);
	child("client", tcp_client);
	close(a[0]);
	live_ready();
}

/* netns-tcp, netns-unix: the same in another network namespace. */
static void other_namespace(void) {
	must(unshare(CLONE_NEWNET), "unshare");
	int fd = must(socket(AF_INET, SOCK_DGRAM, 0), "socket");
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	must(ioctl(fd, SIOCSIFFLAGS, &up), "up");
	close(fd);
}
static void netns_tcp(void) {
	other_namespace();
	tcp(0);
}
static void netns_unix(void) {
	other_namespace();
	unix_pair();
}

/* flock-cycle: each of two processes has locked one file and wants the other's. */
static int lock_file(const char *file) {
	int fd = must(open(in_folder(file), O_RDWR | O_CREAT, 0600), "open");
	must(flock(fd, LOCK_EX), "flock");
	return fd;
}
static void want_file(const char *file) {
	int fd = must(open(in_folder(file), O_RDWR | O_CREAT, 0600), "open");
	flock(fd, LOCK_EX);
}
static void flock_left(void) {
	char c;
	lock_file("one");
	must(write(a[1], "x", 1), "write");
	must(read(b[0], &c, 1), "read");
	want_file("two");
}
static void flock_right(void) {
	char c;
	lock_file("two");
	must(write(b[1], "x", 1), "write");
	must(read(a[0], &c, 1), "read");
	want_file("one");
}
static void flock_cycle(void) {
	must(pipe(a), "pipe");
	must(pipe(b), "pipe");
	child("left", flock_left);
	child("right", flock_right);
	close_all_but(-1, -1);
	live_ready();
}

/* ofd-cycle: the same by locks of open files: only in those of processes the kernel looks for cycles. */
static int ofd_lock(const char *file, int cmd) {
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 10};
	int fd = must(open(in_folder(file), O_RDWR | O_CREAT, 0600), "open");
	must(fcntl(fd, cmd, &l), "fcntl");
	return fd;
}
static void ofd_left(void) {
	char c;
	ofd_lock("one", F_OFD_SETLK);
	must(write(a[1], "x", 1), "write");
	must(read(b[0], &c, 1), "read");
	ofd_lock("two", F_OFD_SETLKW);
}
static void ofd_right(void) {
	char c;
	ofd_lock("two", F_OFD_SETLK);
	must(write(b[1], "x", 1), "write");
	must(read(a[0], &c, 1), "read");
	ofd_lock("one", F_OFD_SETLKW);
}
static void ofd_cycle(void) {
	must(pipe(a), "pipe");
	must(pipe(b), "pipe");
	child("left", ofd_left);
	child("right", ofd_right);
	close_all_but(-1, -1);
	live_ready();
}

/* record-locks: a process waits for bytes 10 to 19, which another has by fcntl; a third has other bytes. */
static void record(int fd, int cmd, short type, off_t start, off_t length) {
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
	must(fcntl(fd, cmd, &l), "fcntl");
}
static int record_cmd, record_wait;
static void record_holder(void) {
	int fd = must(open(in_folder("records"), O_RDWR | O_CREAT, 0600), "open");
	record(fd, record_cmd, F_WRLCK, 5, 10);
	must(write(a[1], "x", 1), "write");
	sleep_holding();
}
static void record_other(void) {
	int fd = must(open(in_folder("records"), O_RDWR | O_CREAT, 0600), "open");
	record(fd, record_cmd, F_WRLCK, 100, 10);
	must(write(a[1], "x", 1), "write");
	sleep_holding();
}
static void record_waiter(void) {
	int fd = must(open(in_folder("records"), O_RDWR | O_CREAT, 0600), "open");
	record(fd, record_wait, F_WRLCK, 10, 10);
}
static void records(int cmd, int wait) {
	char c[2];
	record_cmd = cmd;
	record_wait = wait;
	must(pipe(a), "pipe");
	child("holder", record_holder);
	child("other", record_other);
	for (int got = 0; got < 2;)
		got += must((int)read(a[0], c, 2 - got), "read");
	child("waiter", record_waiter);
	live_ready();
}
static void posix_records(void) { records(F_SETLK, F_SETLKW); }
static void ofd_records(void) { records(F_OFD_SETLK, F_OFD_SETLKW); }

/* inherited-flock: who took the lock has ended; its child has it still. */
static void inherited_taker(void) {
	int fd = lock_file("inherited");
	(void)fd;
	pid_t pid = must(fork(), "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, 0);
		alarm(LIVE_LIMIT_SECONDS);
		name("heir", getpid());
		must(write(a[1], "x", 1), "write");
		sleep_holding();
	}
	_exit(0);
}
static void inherited_waiter(void) { want_file("inherited"); }
static void inherited(void) {
	char c;
	must(pipe(a), "pipe");
	pid_t pid = must(fork(), "fork");
	if (pid == 0)
		inherited_taker();
	waitpid(pid, NULL, 0);
	must((int)read(a[0], &c, 1), "read");
	child("waiter", inherited_waiter);
	live_ready();
}

/* eventfds: two processes read, each an eventfd that only the two have. */
static void event_left(void) { read_from(a[0]); }
static void event_right(void) { read_from(a[1]); }
static void eventfds(void) {
	a[0] = must(eventfd(0, 0), "eventfd");
	a[1] = must(eventfd(0, 0), "eventfd");
	child("left", event_left);
	child("right", event_right);
	close(a[0]);
	close(a[1]);
	live_ready();
}

/* sets: three processes wait for the same pipe by poll, select and epoll, whose writer sleeps for 1000 s. */
static void by_poll(void) {
	close(a[1]);
	struct pollfd p[2] = {{.fd = a[0], .events = POLLIN}, {.fd = -1}};
	poll(p, 2, -1);
}
static void by_select(void) {
	close(a[1]);
	fd_set set;
	FD_ZERO(&set);
	FD_SET(a[0], &set);
	select(a[0] + 1, &set, NULL, NULL, NULL);
}
static void by_epoll(void) {
	close(a[1]);
	int fd = must(epoll_create1(0), "epoll_create1");
	struct epoll_event e = {.events = EPOLLIN};
	must(epoll_ctl(fd, EPOLL_CTL_ADD, a[0], &e), "epoll_ctl");
	epoll_wait(fd, &e, 1, -1);
}
static void by_poll_for_a_while(void) {
	close(a[1]);
	struct pollfd p = {.fd = a[0], .events = POLLIN};
	poll(&p, 1, 100000);
}
static void sets(void) {
	must(pipe(a), "pipe");
	child("sleeper", sleep_long);
	child("poll", by_poll);
	child("select", by_select);
	child("epoll", by_epoll);
	child("limited", by_poll_for_a_while);
	close_all_but(-1, -1);
	live_ready();
}

/* alone: waits that nobody of this program could end, each in a process of its own. */
static void in_nanosleep(void) { live_sleep_us(1000L * 1000000); }
static void in_absolute_sleep(void) {
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += 500;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}
static void in_pause(void) { pause(); }
static void in_fifo(void) {
	must(mkfifo(in_folder("fi\033fo"), 0600), "mkfifo");
	(void)!open(in_folder("fi\033fo"), O_RDONLY);
}
static void in_timerfd(void) {
	int fd = must(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
	struct itimerspec in = {.it_value = {300, 0}};
	must(timerfd_settime(fd, 0, &in, NULL), "timerfd_settime");
	read_from(fd);
}
static void in_signalfd(void) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	read_from(must(signalfd(-1, &set, 0), "signalfd"));
}
static void in_inotify(void) {
	int fd = must(inotify_init(), "inotify_init");
	must(inotify_add_watch(fd, folder, IN_DELETE_SELF), "inotify_add_watch");
	read_from(fd);
}
static void in_semop(void) {
	int id = must(semget(IPC_PRIVATE, 1, 0600), "semget");
	struct sembuf down = {0, -1, 0};
	name("semaphore", id);
	semop(id, &down, 1);
}
static void in_mq(void) {
	struct mq_attr small = {.mq_maxmsg = 1, .mq_msgsize = 16};
	char at[64], message[16];
	snprintf(at, sizeof at, "/fpstack-%d", (int)getpid());
	mqd_t fd = must(mq_open(at, O_RDWR | O_CREAT | O_EXCL, 0600, &small), "mq_open");
	mq_unlink(at);
	mq_receive(fd, message, sizeof message, NULL);
}
static void in_full_mq(void) {
	struct mq_attr small = {.mq_maxmsg = 1, .mq_msgsize = 16};
	char at[64];
	snprintf(at, sizeof at, "/fpstack-%d", (int)getpid());
	mqd_t fd = must(mq_open(at, O_RDWR | O_CREAT | O_EXCL, 0600, &small), "mq_open");
	mq_unlink(at);
	for (;;)
		mq_send(fd, "", 1, 0);
}
static void in_accept(void) { accept(listener(0), NULL, NULL); }
static void in_ring(void) {
	uint32_t params[30] = {0};
	int fd = (int)syscall(425, 4, params);
	if (fd < 0)
		live_forever();
	syscall(426, fd, 0, 1, 1, NULL, 0);
}
static void in_terminal(void) {
	int master = must(posix_openpt(O_RDWR | O_NOCTTY), "posix_openpt");
	must(grantpt(master), "grantpt");
	must(unlockpt(master), "unlockpt");
	read_from(must(open(ptsname(master), O_RDWR | O_NOCTTY), "open"));
}
static void alone(void) {
	child("nanosleep", in_nanosleep);
	child("absolute", in_absolute_sleep);
	child("pause", in_pause);
	child("fifo", in_fifo);
	child("timerfd", in_timerfd);
	child("signalfd", in_signalfd);
	child("inotify", in_inotify);
	child("semop", in_semop);
	child("mq", in_mq);
	child("full-mq", in_full_mq);
	child("accept", in_accept);
	child("io_uring", in_ring);
	child("terminal", in_terminal);
	live_ready();
}

/* pidfd: a process polls the pidfd of one that reads a pipe which the first has. */
static void poll_pidfd(void) {
	close(a[0]);
	struct pollfd p = {.fd = b[0], .events = POLLIN};
	poll(&p, 1, -1);
}
static void pidfd(void) {
	must(pipe(a), "pipe");
	pid_t pid = child("reader", read_only);
	b[0] = must((int)syscall(434, pid, 0), "pidfd_open");
	child("poller", poll_pidfd);
	close(a[0]);
	close(a[1]);
	live_ready();
}

/* vfork: the parent waits for its vfork child, which reads a pipe that nobody but the two has. */
static void vforks(void) {
	must(pipe(a), "pipe");
	live_ready();
	if (vfork() == 0) {
		static char c;
		(void)!read(a[0], &c, 1);
		_exit(0);
	}
}

/* terminal-pair: a process reads the terminal whose master side another reads. */
static void read_master(void) { read_from(a[0]); }
static void read_slave(void) {
	close(a[0]);
	read_from(a[1]);
}
static void terminal_pair(void) {
	a[0] = must(posix_openpt(O_RDWR | O_NOCTTY), "posix_openpt");
	must(grantpt(a[0]), "grantpt");
	must(unlockpt(a[0]), "unlockpt");
	a[1] = must(open(ptsname(a[0]), O_RDWR | O_NOCTTY), "open");
	child("slave", read_slave);
	close(a[1]);
	child("master", read_master);
	close(a[0]);
	live_ready();
}

/* fuse: a process reads the attributes of a file whose FUSE daemon sleeps. */
static int fuse_fd;
static void fuse_daemon(void) {
	static char request[1 << 17];
	for (;;) {
		ssize_t n = read(fuse_fd, request, sizeof request);
		if (n < 40)
			live_die("read /dev/fuse");
		uint32_t opcode;
		uint64_t unique;
		memcpy(&opcode, request + 4, 4);
		memcpy(&unique, request + 8, 8);
		if (opcode != 26) /* FUSE_INIT */
			break;
		struct {
			uint32_t len;
			int32_t error;
			uint64_t unique;
			uint32_t major, minor, more[14];
		} reply = {.len = 80, .unique = unique, .major = 7, .minor = 31};
		reply.more[3] = 4096; /* max_write */
		if (write(fuse_fd, &reply, sizeof reply) < 0)
			live_die("write /dev/fuse");
	}
	live_sleep_us(1000L * 1000000);
}
static void fuse_user(void) {
	struct stat st;
	close(fuse_fd);
	stat(in_folder("mount/file"), &st);
}
static void fuse(void) {
	char option[128];
	must(unshare(CLONE_NEWNS), "unshare");
	must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount private");
	must(mkdir(in_folder("mount"), 0700), "mkdir");
	fuse_fd = must(open("/dev/fuse", O_RDWR), "open /dev/fuse");
	snprintf(option, sizeof option, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse_fd);
	must(mount("fpstack-test", in_folder("mount"), "fuse", 0, option), "mount fuse");
	child("daemon", fuse_daemon);
	child("user", fuse_user);
	close(fuse_fd);
	live_ready();
}

/* many N: N processes read from one pipe, whose writer sleeps. */
static int how_many = 500;
static void many(void) {
	must(pipe(a), "pipe");
	child("sleeper", sleep_long);
	for (int i = 0; i < how_many; i++)
		child("reader", read_only);
	close_all_but(-1, -1);
	live_ready();
}

/* busy: two processes hand one byte around a ring of two pipes, as fast as they can: nobody is stuck. */
static void around_left(void) {
	char c = 'x';
	close_all_but(a[0], b[1]);
	while (write(b[1], &c, 1) == 1 && read(a[0], &c, 1) == 1)
		;
}
static void around_right(void) {
	char c;
	close_all_but(b[0], a[1]);
	while (read(b[0], &c, 1) == 1 && write(a[1], &c, 1) == 1)
		;
}
static void busy(void) {
	must(pipe(a), "pipe");
	must(pipe(b), "pipe");
	child("left", around_left);
	child("right", around_right);
	close_all_but(-1, -1);
	live_ready();
}

int main(int argc, char **argv) {
	static const struct {
		const char *name;
		void (*run)(void);
	} situations[] = {{"child-pipe", child_pipe}, {"any-child", any_child}, {"both-empty", both_empty},
		{"both-full", both_full}, {"own-end", own_end}, {"sleeping-writer", sleeping_writer},
		{"stopped-writer", stopped_writer}, {"unix-pair", unix_pair}, {"unix-unaccepted", unix_unaccepted},
		{"tcp", tcp_plain}, {"tcp-mapped", tcp_mapped}, {"tcp-unaccepted", tcp_unaccepted},
		{"netns-tcp", netns_tcp}, {"netns-unix", netns_unix}, {"flock-cycle", flock_cycle}, {"ofd-cycle", ofd_cycle},
		{"posix-records", posix_records}, {"ofd-records", ofd_records}, {"inherited-flock", inherited},
		{"eventfds", eventfds}, {"sets", sets}, {"alone", alone}, {"pidfd", pidfd}, {"vfork", vforks},
		{"terminal-pair", terminal_pair}, {"fuse", fuse}, {"many", many}, {"busy", busy}};
	live_begin();
	if (argc > 2)
		folder = argv[2];
	how_many = argc > 3 ? atoi(argv[3]) : how_many;
	for (size_t i = 0; argc > 1 && i < sizeof situations / sizeof *situations; i++) {
		if (strcmp(argv[1], situations[i].name) == 0) {
			name("parent", getpid());
			situations[i].run();
			live_forever();
		}
	}
	fprintf(stderr, "fds: no such situation\n");
	return 3;
}
