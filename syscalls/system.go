package syscalls

// timeCall knows the calls on clocks and timers.
func timeCall(name string) (string, bool) {
	switch name {
	case "nanosleep":
		return "ptr req, ptr rem", true
	case "clock_nanosleep", "clock_nanosleep_time64":
		return "clock clockid, hex flags, ptr request, ptr remain", true
	case "clock_gettime", "clock_settime", "clock_getres", "clock_adjtime",
		"clock_gettime64", "clock_settime64", "clock_getres_time64", "clock_adjtime64":
		return "clock clockid, ptr tp", true
	case "gettimeofday", "settimeofday":
		return "ptr tv, ptr tz", true
	case "time", "stime":
		return "ptr tloc", true
	case "times":
		return "ptr buf", true
	case "adjtimex":
		return "ptr buf", true
	case "alarm":
		return "uint seconds", true
	case "getitimer":
		return "int which, ptr curr_value", true
	case "setitimer":
		return "int which, ptr new_value, ptr old_value", true
	case "timer_create":
		return "clock clockid, ptr sevp, ptr timerid", true
	case "timer_settime", "timer_settime64":
		return "int timerid, hex flags, ptr new_value, ptr old_value", true
	case "timer_gettime", "timer_gettime64":
		return "int timerid, ptr curr_value", true
	case "timer_getoverrun", "timer_delete":
		return "int timerid", true
	case "timerfd_create":
		return "clock clockid, hex flags", true
	case "timerfd_settime", "timerfd_settime64":
		return "fd fd, hex flags, ptr new_value, ptr old_value", true
	case "timerfd_gettime", "timerfd_gettime64":
		return "fd fd, ptr curr_value", true
	}
	return "", false
}

// systemCall knows the calls on the machine and the kernel itself.
func systemCall(name string) (string, bool) {
	switch name {
	case "uname", "olduname", "oldolduname":
		return "ptr buf", true
	case "sysinfo":
		return "ptr info", true
	case "_sysctl":
		return "ptr args", true
	case "sethostname", "setdomainname":
		return "ptr name, int len", true
	case "syslog":
		return "int type, ptr buf, int len", true
	case "reboot":
		return "hex magic, hex magic2, hex cmd, ptr arg", true
	case "kexec_load":
		return "ptr entry, size nr_segments, ptr segments, word flags", true
	case "kexec_file_load":
		return "fd kernel_fd, fd initrd_fd, size cmdline_len, ptr cmdline, word flags", true
	case "init_module":
		return "ptr module_image, size len, ptr param_values", true
	case "finit_module":
		return "fd fd, ptr param_values, hex flags", true
	case "delete_module":
		return "ptr name, hex flags", true
	case "getrandom":
		return "ptr buf, size buflen, hex flags", true
	case "getcpu":
		return "ptr cpu, ptr node, ptr tcache", true
	case "bpf":
		return "int cmd, ptr attr, uint size", true
	case "perf_event_open":
		return "ptr attr, int pid, int cpu, fd group_fd, word flags", true
	case "add_key":
		return "ptr type, ptr description, ptr payload, size plen, int keyring", true
	case "request_key":
		return "ptr type, ptr description, ptr callout_info, int dest_keyring", true
	case "keyctl":
		return "int operation, word arg2, word arg3, word arg4, word arg5", true
	case "landlock_create_ruleset":
		return "ptr attr, size size, hex flags", true
	case "landlock_add_rule":
		return "fd ruleset_fd, int rule_type, ptr rule_attr, hex flags", true
	case "landlock_restrict_self":
		return "fd ruleset_fd, hex flags", true
	case "lsm_get_self_attr":
		return "uint attr, ptr ctx, ptr size, hex flags", true
	case "lsm_set_self_attr":
		return "uint attr, ptr ctx, uint size, hex flags", true
	case "lsm_list_modules":
		return "ptr ids, ptr size, hex flags", true
	case "ioperm":
		return "word from, size num, int turn_on", true
	case "iopl":
		return "uint level", true
	case "vm86":
		return "word function, ptr v86", true
	case "vm86old":
		return "ptr v86", true
	case "bdflush":
		return "int func, long data", true
	case "pciconfig_iobase":
		return "long which, word bus, word devfn", true
	case "pciconfig_read", "pciconfig_write":
		return "word bus, word dfn, word off, size len, ptr buf", true
	case "riscv_hwprobe":
		return "ptr pairs, size pair_count, size cpusetsize, ptr cpus, hex flags", true
	case "s390_pci_mmio_read", "s390_pci_mmio_write":
		return "ptr mmio_addr, ptr user_buffer, size length", true
	case "s390_runtime_instr":
		return "int command, int signum", true
	case "s390_guarded_storage":
		return "int command, ptr gs_cb", true
	case "s390_sthyi":
		return "word function_code, ptr resp_buffer, ptr return_code, word flags", true
	case "spu_create":
		return "ptr name, hex flags, mode mode, fd neighbor_fd", true
	case "spu_run":
		return "fd fd, ptr npc, ptr event", true
	case "swapcontext":
		return "ptr old_ctx, ptr new_ctx, long ctx_size", true
	case "rtas":
		return "ptr args", true
	case "sys_debug_setcontext":
		return "ptr ctx, int ndbg, ptr dbg", true
	case "switch_endian":
		return "", true
	}
	return "", false
}
