/* noptrace eperm|enosys CMD ARG...: runs CMD under a seccomp filter that refuses the
 * system call ptrace with that error, as the profiles of container engines do.
 *
 * Source: seccomp(2), "Filters". */
#include "live.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

int main(int argc, char **argv) {
	if (argc < 3)
		return 64;
	int refusal = strcmp(argv[1], "enosys") == 0 ? ENOSYS : EPERM;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)refusal),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof code / sizeof code[0], code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		live_die("prctl(PR_SET_NO_NEW_PRIVS)");
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		live_die("prctl(PR_SET_SECCOMP)");
	execv(argv[2], argv + 2);
	live_die(argv[2]);
}
