package syscalls

// prototype returns the arguments of the call called name on arch: a list of pairs, type and
// name, separated by ", "; see typeOf for the types. It reports false if they are not known.
//
// Source: include/linux/syscalls.h of the kernel for types and order; names follow the man
// pages of section 2 where these have better ones.
func prototype(arch, name string) (string, bool) {
	if spec, ok := variant(arch, name); ok {
		return spec, true
	}
	spec, ok := calls()[name]
	return spec, ok
}

// variant knows the calls whose arguments differ between architectures.
func variant(arch, name string) (string, bool) {
	switch name {
	case "clone":
		// Source: CONFIG_CLONE_BACKWARDS in arch/*/Kconfig, SYSCALL_DEFINE5(clone) in kernel/fork.c.
		switch arch {
		case "386", "arm", "arm64", "riscv64", "ppc64le":
			return "word flags, ptr stack, ptr parent_tid, ptr tls, ptr child_tid", true
		case "s390x":
			return "ptr stack, word flags, ptr parent_tid, ptr child_tid, ptr tls", true
		}
		return "word flags, ptr stack, ptr parent_tid, ptr child_tid, ptr tls", true
	case "mmap":
		if arch == "386" || arch == "s390x" {
			return "ptr args", true // sys_old_mmap: all six are in memory
		}
	case "select":
		if arch == "386" {
			return "ptr args", true // sys_old_select
		}
	case "fadvise64_64", "arm_fadvise64_64":
		if arch == "arm" {
			return "fd fd, int advice, off offset, off len", true
		}
	case "sigsuspend":
		if arch == "386" || arch == "arm" || arch == "s390x" {
			return "int unused1, int unused2, word mask", true // CONFIG_OLD_SIGSUSPEND3
		}
	case "sync_file_range2", "arm_sync_file_range":
		return "fd fd, hex flags, off offset, off nbytes", true
	}
	return "", false
}
