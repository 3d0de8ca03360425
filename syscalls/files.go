package syscalls

// fileCall knows the calls on open files.
func fileCall(name string) (string, bool) {
	switch name {
	case "read", "write":
		return "fd fd, ptr buf, size count", true
	case "readv", "writev":
		return "fd fd, ptr iov, size iovcnt", true
	case "pread64", "pwrite64":
		return "fd fd, ptr buf, size count, off offset", true
	case "preadv", "pwritev":
		return "fd fd, ptr iov, size iovcnt, size pos_l, size pos_h", true
	case "preadv2", "pwritev2":
		return "fd fd, ptr iov, size iovcnt, size pos_l, size pos_h, hex flags", true
	case "close", "dup", "fsync", "fdatasync", "syncfs", "fchdir":
		return "fd fd", true
	case "close_range":
		return "uint first, uint last, hex flags", true
	case "dup2":
		return "fd oldfd, fd newfd", true
	case "dup3":
		return "fd oldfd, fd newfd, hex flags", true
	case "fcntl", "fcntl64":
		return "fd fd, fcntl cmd, word arg", true
	case "ioctl":
		return "fd fd, hex request, word arg", true
	case "flock":
		return "fd fd, flock operation", true
	case "lseek":
		return "fd fd, long offset, whence whence", true
	case "_llseek":
		return "fd fd, size offset_high, size offset_low, ptr result, whence whence", true
	case "fstat", "fstat64", "oldfstat", "fstatfs":
		return "fd fd, ptr buf", true
	case "fstatfs64":
		return "fd fd, size size, ptr buf", true
	case "ftruncate":
		return "fd fd, size length", true
	case "ftruncate64":
		return "fd fd, off length", true
	case "fallocate":
		return "fd fd, hex mode, off offset, off len", true
	case "fadvise64":
		return "fd fd, off offset, size len, int advice", true
	case "fadvise64_64":
		return "fd fd, off offset, off len, int advice", true
	case "readahead":
		return "fd fd, off offset, size count", true
	case "sync_file_range":
		return "fd fd, off offset, off nbytes, hex flags", true
	case "splice":
		return "fd fd_in, ptr off_in, fd fd_out, ptr off_out, size len, hex flags", true
	case "tee":
		return "fd fd_in, fd fd_out, size len, hex flags", true
	case "vmsplice":
		return "fd fd, ptr iov, size nr_segs, hex flags", true
	case "sendfile", "sendfile64":
		return "fd out_fd, fd in_fd, ptr offset, size count", true
	case "copy_file_range":
		return "fd fd_in, ptr off_in, fd fd_out, ptr off_out, size len, hex flags", true
	case "fchmod":
		return "fd fd, mode mode", true
	case "fchown", "fchown32":
		return "fd fd, int owner, int group", true
	case "getdents", "getdents64":
		return "fd fd, ptr dirp, uint count", true
	case "readdir":
		return "fd fd, ptr dirp, uint count", true
	case "fgetxattr":
		return "fd fd, ptr name, ptr value, size size", true
	case "fsetxattr":
		return "fd fd, ptr name, ptr value, size size, hex flags", true
	case "flistxattr":
		return "fd fd, ptr list, size size", true
	case "fremovexattr":
		return "fd fd, ptr name", true
	case "pipe":
		return "ptr pipefd", true
	case "pipe2":
		return "ptr pipefd, hex flags", true
	case "io_setup":
		return "uint nr_events, ptr ctx_idp", true
	case "io_destroy":
		return "word ctx_id", true
	case "io_submit":
		return "word ctx_id, long nr, ptr iocbpp", true
	case "io_cancel":
		return "word ctx_id, ptr iocb, ptr result", true
	case "io_uring_setup":
		return "uint entries, ptr params", true
	case "io_uring_register":
		return "fd fd, uint opcode, ptr arg, uint nr_args", true
	case "inotify_init":
		return "", true
	case "inotify_init1":
		return "hex flags", true
	case "inotify_add_watch":
		return "fd fd, ptr pathname, hex mask", true
	case "inotify_rm_watch":
		return "fd fd, int wd", true
	case "fanotify_init":
		return "hex flags, hex event_f_flags", true
	case "fanotify_mark":
		return "fd fanotify_fd, hex flags, mask mask, dirfd dirfd, ptr pathname", true
	case "userfaultfd", "epoll_create1":
		return "hex flags", true
	case "eventfd":
		return "uint initval", true
	case "eventfd2":
		return "uint initval, hex flags", true
	case "memfd_create":
		return "ptr name, hex flags", true
	case "memfd_secret":
		return "hex flags", true
	case "signalfd":
		return "fd fd, ptr mask, size sizemask", true
	case "signalfd4":
		return "fd fd, ptr mask, size sizemask, hex flags", true
	}
	return "", false
}
