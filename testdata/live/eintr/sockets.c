/* Sockets, with and without a time limit of their own (socket(7), SO_RCVTIMEO). */
#include "eintr.h"
#include <sys/time.h>
#include <sys/un.h>

static char buffer[1 << 20];
static struct sockaddr_un address;
static socklen_t address_size;
static int client[2];

static void limit(int fd, int option) {
	struct timeval t = {ASKED_MS / 1000, ASKED_MS % 1000 * 1000};
	setsockopt(fd, SOL_SOCKET, option, &t, sizeof t);
}

static void make_pair(void) {
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, shared) != 0)
		live_die("socketpair");
}

static void make_pair_limited(void) {
	make_pair();
	limit(shared[0], SO_RCVTIMEO);
}

static void fill_pair(void) {
	make_pair();
	while (send(shared[0], buffer, 4096, MSG_DONTWAIT) > 0)
		;
}

static void fill_pair_limited(void) {
	fill_pair();
	limit(shared[0], SO_SNDTIMEO);
}

static long block_recv(void) { return recv(shared[0], buffer, 8, 0); }
static long block_send(void) { return send(shared[0], buffer, 4096, 0); }

static void drain_pair(void) {
	while (recv(shared[1], buffer, sizeof buffer, MSG_DONTWAIT) > 0)
		;
}

/* listen_unnamed binds to an abstract address of this process. */
static void listen_unnamed(int backlog) {
	memset(&address, 0, sizeof address);
	address.sun_family = AF_UNIX;
	int n = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "fpstack-eintr-%d", getpid());
	address_size = (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)n);
	shared[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(shared[0], (struct sockaddr *)&address, address_size) != 0 || listen(shared[0], backlog) != 0)
		live_die("listen");
}

static void make_listener(void) { listen_unnamed(4); }

static void make_listener_limited(void) {
	listen_unnamed(4);
	limit(shared[0], SO_RCVTIMEO);
}

static long block_accept(void) {
	int fd = accept(shared[0], NULL, NULL);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static void connect_once(void) {
	client[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)!connect(client[0], (struct sockaddr *)&address, address_size);
	close(client[0]);
}

/* A backlog of 0 holds one connection; the next connect waits (unix(7)). */
static void fill_backlog(void) {
	listen_unnamed(0);
	client[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)!connect(client[0], (struct sockaddr *)&address, address_size);
	shared[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static void fill_backlog_limited(void) {
	fill_backlog();
	limit(shared[1], SO_SNDTIMEO);
}

static long block_connect(void) {
	long result = connect(shared[1], (struct sockaddr *)&address, address_size);
	int code = errno;
	close(client[0]);
	errno = code;
	return result;
}

static void accept_once(void) {
	int fd = accept(shared[0], NULL, NULL);
	if (fd >= 0)
		close(fd);
}

const struct blocker socket_blockers[] = {
	{"recv", "restart", make_pair, block_recv, write_shared},
	{"send", "restart", fill_pair, block_send, drain_pair},
	{"accept", "restart", make_listener, block_accept, connect_once},
	{"connect", "restart", fill_backlog, block_connect, accept_once},
	{"recv-limit", "eintr", make_pair_limited, block_recv, NULL},
	{"send-limit", "eintr", fill_pair_limited, block_send, NULL},
	{"accept-limit", "eintr", make_listener_limited, block_accept, NULL},
	{"connect-limit", "eintr", fill_backlog_limited, block_connect, NULL},
	{0},
};
