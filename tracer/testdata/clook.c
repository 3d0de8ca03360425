// The least a C program needs to sample one thread again and again: seize, interrupt, wait,
// read registers, copy, detach. The measure of Sampler.Stop.
//
//   clook PID MILLISECONDS CPU BYTES [RATE [quick]]
//       prints how many samples it made and the ns they took, on that CPU (-1: on any); copies
//       BYTES from SP - 128; RATE samples a second, without it as many as it can; quick: it reads the same
//       bytes before it asks, and asks for the stop again and again for 60 us before it sleeps
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void fail(const char *what) {
	perror(what);
	exit(1);
}

int main(int argc, char **argv) {
	if (argc < 5)
		return 64;
	int pid = atoi(argv[1]);
	long end, begin, samples = 0, bytes = atol(argv[4]);
	char path[64], *buf = malloc(bytes + 1);
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	int memory = open(path, O_RDONLY);
	cpu_set_t one;
	CPU_ZERO(&one);
	if (atoi(argv[3]) >= 0)
		CPU_SET(atoi(argv[3]), &one);
	if (memory < 0 || (atoi(argv[3]) >= 0 && sched_setaffinity(0, sizeof one, &one) != 0))
		fail("prepare");
	long rate = argc > 5 ? atol(argv[5]) : 0;
	int quick = argc > 6;
	unsigned long sp = 0;
	for (begin = end = now(); end - begin < atol(argv[2]) * 1000000L; end = now(), samples++) {
		if (rate > 0) {
			long due = begin + (samples + 1) * (1000000000L / rate);
			struct timespec t = {due / 1000000000L, due % 1000000000L};
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		}
		struct user_regs_struct regs;
		struct iovec io = {&regs, sizeof regs};
		siginfo_t info;
		if (quick && sp != 0 && pread(memory, buf, bytes, sp - 128) != bytes)
			fail("copy beforehand");
		if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0)
			fail("stop");
		info.si_pid = 0;
		for (long asked = now(); quick && info.si_pid == 0 && now() - asked < 60000;)
			if (waitid(P_PID, pid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL) != 0)
				fail("wait");
		if (info.si_pid == 0 && waitid(P_PID, pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL) != 0)
			fail("wait");
		if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io) != 0)
			fail("registers");
		if (pread(memory, buf, bytes, regs.rsp - 128) != bytes)
			fail("copy");
		sp = regs.rsp;
		if (ptrace(PTRACE_DETACH, pid, 0, info.si_status >> 8 ? 0 : info.si_status) != 0)
			fail("detach");
	}
	printf("%ld %ld\n", samples, end - begin);
	return 0;
}
