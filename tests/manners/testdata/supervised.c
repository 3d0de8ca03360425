/* A program whose getppid is answered by a supervisor, who takes a while for it.
 *
 *   supervised [killable]
 *       asks again and again, and prints after each answer: how often it has asked, how many questions the supervisor
 *       was asked, how many of his answers came too late, and what it was answered. killable: with
 *       SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV.
 * Exits with 77 where the kernel has no such thing. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static volatile struct { long questions, late; } *seen;

/* pass sends a descriptor, or receives one if it is -1. */
static int pass(int socket, int fd) {
	char byte = 0, room[CMSG_SPACE(sizeof fd)] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (fd < 0) {
		if (recvmsg(socket, &m, 0) != 1)
			_exit(1);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
		return fd;
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	return sendmsg(socket, &m, 0) == 1 ? 0 : -1;
}

static void supervise(int fd) {
	for (;;) {
		struct seccomp_notif question;
		memset(&question, 0, sizeof question);
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			_exit(1);
		}
		seen->questions++;
		usleep(1000000);
		struct seccomp_notif_resp answer = {.id = question.id, .val = 4242};
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0)
			seen->late++;
	}
}

int main(int argc, char **argv) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	if (argc > 1 && strcmp(argv[1], "killable") == 0)
		flags |= SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	int pair[2];
	seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 1;
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		supervise(pass(pair[0], -1));
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0) {
		printf("cannot: %s\n", strerror(errno));
		return 77;
	}
	if (pass(pair[1], fd) != 0)
		return 1;
	puts("R");
	fflush(stdout);
	for (long asked = 1;; asked++) {
		long got = syscall(SYS_getppid);
		printf("%ld %ld %ld %ld\n", asked, seen->questions, seen->late, got);
		fflush(stdout);
	}
}
