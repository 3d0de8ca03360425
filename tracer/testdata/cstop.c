// The least a C program needs to stop all threads of a process at one instant and copy
// registers and stacks: the measure of the stop of package tracer.
//
//   cstop PID ROUNDS   prints, for each round, the ns from the first PTRACE_INTERRUPT to
//                      the last PTRACE_DETACH
#define _GNU_SOURCE
#include <dirent.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX 20000
static int tid[MAX];
static struct user_regs_struct regs[MAX];
static struct iovec remote[MAX];
static unsigned long top[MAX]; // end of the mapping that held sp at the look before

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int list(int pid) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *d = opendir(path);
	int n = 0;
	for (struct dirent *e; d && (e = readdir(d)) && n < MAX;)
		if (e->d_name[0] != '.')
			tid[n++] = atoi(e->d_name);
	if (d)
		closedir(d);
	return n;
}

// used reads how much of each stack is used, from what a first stop told of sp.
static void used(int pid, int n) {
	static unsigned long lo[4 * MAX], hi[4 * MAX];
	char path[64], line[512];
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = fopen(path, "r");
	int m = 0;
	while (f && m < 4 * MAX && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx", &lo[m], &hi[m]) == 2)
			m++;
	if (f)
		fclose(f);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < m; k++)
			if (lo[k] <= regs[i].rsp && regs[i].rsp < hi[k])
				top[i] = hi[k];
}

int main(int argc, char **argv) {
	int pid = atoi(argv[1]), rounds = atoi(argv[2]);
	size_t room = 256 << 20;
	char *buf = malloc(room);
	for (int r = -1; r < rounds; r++) { // the first learns the stacks
		int n = list(pid);
		for (int i = 0; i < n; i++)
			ptrace(PTRACE_SEIZE, tid[i], 0, 0);
		long start = now();
		for (int i = 0; i < n; i++)
			ptrace(PTRACE_INTERRUPT, tid[i], 0, 0);
		for (int i = n - 1; i >= 0; i--) {
			siginfo_t si;
			waitid(P_PID, tid[i], &si, WSTOPPED | WEXITED | WNOWAIT | __WALL);
		}
		size_t total = 0;
		for (int i = 0; i < n; i++) {
			struct iovec io = {&regs[i], sizeof regs[i]};
			ptrace(PTRACE_GETREGSET, tid[i], NT_PRSTATUS, &io);
			remote[i].iov_base = (void *)(regs[i].rsp - 128);
			remote[i].iov_len = top[i] > regs[i].rsp ? top[i] - regs[i].rsp + 128 : 0;
			total += remote[i].iov_len;
		}
		long got = 0;
		struct iovec local = {buf, total};
		for (int i = 0; i < n && r >= 0; i += 1024) {
			long k = process_vm_readv(pid, &local, 1, remote + i, n - i < 1024 ? n - i : 1024, 0);
			got += k;
			local.iov_base = buf + got;
			local.iov_len = room - got;
		}
		for (int i = n - 1; i >= 0; i--)
			ptrace(PTRACE_DETACH, tid[i], 0, 0);
		long end = now();
		if (r < 0) {
			used(pid, n);
			memset(buf, 1, room < 2 * total + (64 << 20) ? room : 2 * total + (64 << 20));
			continue;
		}
		printf("%ld %d %ld\n", end - start, n, got);
		usleep(20000);
	}
	return 0;
}
