package syscalls

// processCall knows the calls on processes, threads, their rights and their signals.
func processCall(name string) (string, bool) {
	switch name {
	case "fork", "vfork", "getpid", "getppid", "gettid", "getpgrp", "setsid", "getuid", "geteuid", "getgid", "getegid",
		"getuid32", "geteuid32", "getgid32", "getegid32", "sched_yield", "rseq_slice_yield", "sigreturn",
		"rt_sigreturn", "sgetmask":
		return "", true
	case "clone3":
		return "ptr cl_args, size size", true
	case "execve":
		return "ptr pathname, ptr argv, ptr envp", true
	case "execveat":
		return "dirfd dirfd, ptr pathname, ptr argv, ptr envp, hex flags", true
	case "exit", "exit_group":
		return "int status", true
	case "set_tid_address":
		return "ptr tidptr", true
	case "getpgid", "getsid", "sched_getscheduler":
		return "int pid", true
	case "setpgid":
		return "int pid, int pgid", true
	case "setuid", "setgid", "setfsuid", "setfsgid", "setuid32", "setgid32", "setfsuid32", "setfsgid32":
		return "int id", true
	case "setreuid", "setregid", "setreuid32", "setregid32":
		return "int real, int effective", true
	case "setresuid", "setresgid", "setresuid32", "setresgid32":
		return "int real, int effective, int saved", true
	case "getresuid", "getresgid", "getresuid32", "getresgid32":
		return "ptr real, ptr effective, ptr saved", true
	case "getgroups", "setgroups", "getgroups32", "setgroups32":
		return "int size, ptr list", true
	case "capget", "capset":
		return "ptr hdrp, ptr datap", true
	case "kill", "tkill":
		return "int pid, signal sig", true
	case "tgkill":
		return "int tgid, int tid, signal sig", true
	case "pidfd_open":
		return "int pid, hex flags", true
	case "pidfd_getfd":
		return "fd pidfd, int targetfd, hex flags", true
	case "pidfd_send_signal":
		return "fd pidfd, signal sig, ptr info, hex flags", true
	case "signal":
		return "signal signum, ptr handler", true
	case "sigaction":
		return "signal signum, ptr act, ptr oldact", true
	case "rt_sigaction":
		return "signal signum, ptr act, ptr oldact, size sigsetsize", true
	case "sigprocmask":
		return "int how, ptr set, ptr oldset", true
	case "rt_sigprocmask":
		return "int how, ptr set, ptr oldset, size sigsetsize", true
	case "sigpending":
		return "ptr set", true
	case "rt_sigpending":
		return "ptr set, size sigsetsize", true
	case "rt_sigqueueinfo":
		return "int tgid, signal sig, ptr info", true
	case "rt_tgsigqueueinfo":
		return "int tgid, int tid, signal sig, ptr info", true
	case "sigaltstack":
		return "ptr ss, ptr old_ss", true
	case "ssetmask":
		return "hex newmask", true
	case "ptrace":
		return "long request, long pid, ptr addr, ptr data", true
	case "kcmp":
		return "int pid1, int pid2, int type, size idx1, size idx2", true
	case "prctl":
		return "int option, word arg2, word arg3, word arg4, word arg5", true
	case "arch_prctl":
		return "hex code, ptr addr", true
	case "seccomp":
		return "uint operation, hex flags, ptr args", true
	case "setns":
		return "fd fd, hex nstype", true
	case "unshare":
		return "word flags", true
	case "personality":
		return "hex persona", true
	case "set_robust_list":
		return "ptr head, size len", true
	case "get_robust_list":
		return "int pid, ptr head_ptr, ptr len_ptr", true
	case "rseq":
		return "ptr rseq, uint rseq_len, hex flags, hex sig", true
	case "uprobe", "uretprobe":
		return "", true
	case "set_thread_area", "get_thread_area":
		return "ptr u_info", true
	case "modify_ldt":
		return "int func, ptr ptr, size bytecount", true
	case "set_tls":
		return "ptr tls", true
	case "get_tls", "breakpoint", "usr26", "usr32":
		return "", true
	case "nice":
		return "int inc", true
	case "getpriority", "ioprio_get":
		return "int which, int who", true
	case "setpriority", "ioprio_set":
		return "int which, int who, int prio", true
	case "getrlimit", "setrlimit", "ugetrlimit":
		return "int resource, ptr rlim", true
	case "prlimit64":
		return "int pid, int resource, ptr new_limit, ptr old_limit", true
	case "getrusage":
		return "int who, ptr usage", true
	case "sched_setscheduler":
		return "int pid, int policy, ptr param", true
	case "sched_setparam", "sched_getparam":
		return "int pid, ptr param", true
	case "sched_setattr":
		return "int pid, ptr attr, hex flags", true
	case "sched_getattr":
		return "int pid, ptr attr, uint size, hex flags", true
	case "sched_setaffinity", "sched_getaffinity":
		return "int pid, uint cpusetsize, ptr mask", true
	case "sched_get_priority_max", "sched_get_priority_min":
		return "int policy", true
	case "sched_rr_get_interval", "sched_rr_get_interval_time64":
		return "int pid, ptr tp", true
	}
	return "", false
}
