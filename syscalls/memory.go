package syscalls

// memoryCall knows the calls on address spaces and shared memory.
func memoryCall(name string) (string, bool) {
	switch name {
	case "mmap":
		return "ptr addr, size length, hex prot, hex flags, fd fd, word offset", true
	case "mmap2":
		return "ptr addr, size length, hex prot, hex flags, fd fd, word pgoffset", true
	case "munmap", "mlock", "munlock":
		return "ptr addr, size length", true
	case "mlock2":
		return "ptr addr, size length, hex flags", true
	case "mlockall":
		return "hex flags", true
	case "munlockall":
		return "", true
	case "mprotect":
		return "ptr addr, size length, hex prot", true
	case "pkey_mprotect":
		return "ptr addr, size length, hex prot, int pkey", true
	case "pkey_alloc":
		return "word flags, word access_rights", true
	case "pkey_free":
		return "int pkey", true
	case "mremap":
		return "ptr old_address, size old_size, size new_size, word flags, ptr new_address", true
	case "msync":
		return "ptr addr, size length, hex flags", true
	case "madvise":
		return "ptr addr, size length, int advice", true
	case "process_madvise":
		return "fd pidfd, ptr iovec, size vlen, int advice, hex flags", true
	case "process_mrelease":
		return "fd pidfd, hex flags", true
	case "mincore":
		return "ptr addr, size length, ptr vec", true
	case "mseal":
		return "ptr addr, size length, word flags", true
	case "brk":
		return "ptr addr", true
	case "remap_file_pages":
		return "ptr addr, size size, word prot, size pgoff, word flags", true
	case "mbind":
		return "ptr addr, size len, int mode, ptr nodemask, size maxnode, hex flags", true
	case "set_mempolicy":
		return "int mode, ptr nodemask, size maxnode", true
	case "get_mempolicy":
		return "ptr mode, ptr nodemask, size maxnode, ptr addr, hex flags", true
	case "set_mempolicy_home_node":
		return "ptr start, size len, size home_node, word flags", true
	case "migrate_pages":
		return "int pid, size maxnode, ptr old_nodes, ptr new_nodes", true
	case "move_pages":
		return "int pid, size count, ptr pages, ptr nodes, ptr status, hex flags", true
	case "process_vm_readv", "process_vm_writev":
		return "int pid, ptr local_iov, size liovcnt, ptr remote_iov, size riovcnt, hex flags", true
	case "shmget":
		return "hex key, size size, hex shmflg", true
	case "shmat":
		return "int shmid, ptr shmaddr, hex shmflg", true
	case "shmdt":
		return "ptr shmaddr", true
	case "shmctl":
		return "int shmid, int cmd, ptr buf", true
	case "map_shadow_stack":
		return "ptr addr, size size, hex flags", true
	case "membarrier":
		return "int cmd, hex flags, int cpu_id", true
	case "cachestat":
		return "fd fd, ptr range, ptr cstat, hex flags", true
	case "subpage_prot":
		return "ptr addr, size len, ptr map", true
	case "cacheflush":
		return "ptr start, ptr end, hex flags", true
	case "riscv_flush_icache":
		return "ptr start, ptr end, word flags", true
	}
	return "", false
}
