package syscalls

// pathCall knows the calls on names in the file system, and on mounts.
func pathCall(name string) (string, bool) {
	switch name {
	case "open":
		return "ptr pathname, hex flags, mode mode", true
	case "openat":
		return "dirfd dirfd, ptr pathname, hex flags, mode mode", true
	case "openat2":
		return "dirfd dirfd, ptr pathname, ptr how, size size", true
	case "creat", "mkdir", "chmod", "access":
		return "ptr pathname, mode mode", true
	case "mkdirat", "fchmodat", "faccessat":
		return "dirfd dirfd, ptr pathname, mode mode", true
	case "faccessat2", "fchmodat2":
		return "dirfd dirfd, ptr pathname, mode mode, hex flags", true
	case "stat", "lstat", "stat64", "lstat64", "oldstat", "oldlstat", "statfs":
		return "ptr pathname, ptr buf", true
	case "statfs64":
		return "ptr pathname, size size, ptr buf", true
	case "newfstatat", "fstatat64":
		return "dirfd dirfd, ptr pathname, ptr buf, hex flags", true
	case "statx":
		return "dirfd dirfd, ptr pathname, hex flags, hex mask, ptr buf", true
	case "readlink":
		return "ptr pathname, ptr buf, int bufsiz", true
	case "readlinkat":
		return "dirfd dirfd, ptr pathname, ptr buf, int bufsiz", true
	case "chdir", "rmdir", "unlink", "chroot", "acct", "uselib", "swapoff", "mq_unlink", "umount":
		return "ptr pathname", true
	case "unlinkat":
		return "dirfd dirfd, ptr pathname, hex flags", true
	case "link", "symlink", "rename", "pivot_root":
		return "ptr oldpath, ptr newpath", true
	case "linkat", "renameat2":
		return "dirfd olddirfd, ptr oldpath, dirfd newdirfd, ptr newpath, hex flags", true
	case "renameat":
		return "dirfd olddirfd, ptr oldpath, dirfd newdirfd, ptr newpath", true
	case "symlinkat":
		return "ptr target, dirfd newdirfd, ptr linkpath", true
	case "mknod":
		return "ptr pathname, mode mode, hex dev", true
	case "mknodat":
		return "dirfd dirfd, ptr pathname, mode mode, hex dev", true
	case "chown", "lchown", "chown32", "lchown32":
		return "ptr pathname, int owner, int group", true
	case "fchownat":
		return "dirfd dirfd, ptr pathname, int owner, int group, hex flags", true
	case "truncate":
		return "ptr path, size length", true
	case "truncate64":
		return "ptr path, off length", true
	case "utime", "utimes":
		return "ptr filename, ptr times", true
	case "futimesat":
		return "dirfd dirfd, ptr pathname, ptr times", true
	case "utimensat", "utimensat_time64":
		return "dirfd dirfd, ptr pathname, ptr times, hex flags", true
	case "getcwd":
		return "ptr buf, size size", true
	case "getxattr", "lgetxattr":
		return "ptr path, ptr name, ptr value, size size", true
	case "setxattr", "lsetxattr":
		return "ptr path, ptr name, ptr value, size size, hex flags", true
	case "listxattr", "llistxattr":
		return "ptr path, ptr list, size size", true
	case "removexattr", "lremovexattr":
		return "ptr path, ptr name", true
	case "getxattrat", "setxattrat":
		return "dirfd dirfd, ptr pathname, hex flags, ptr name, ptr args, size size", true
	case "listxattrat":
		return "dirfd dirfd, ptr pathname, hex flags, ptr list, size size", true
	case "removexattrat":
		return "dirfd dirfd, ptr pathname, hex flags, ptr name", true
	case "file_getattr", "file_setattr":
		return "dirfd dirfd, ptr pathname, ptr attr, size size, hex flags", true
	case "name_to_handle_at":
		return "dirfd dirfd, ptr pathname, ptr handle, ptr mount_id, hex flags", true
	case "open_by_handle_at":
		return "dirfd mount_fd, ptr handle, hex flags", true
	case "mount":
		return "ptr source, ptr target, ptr filesystemtype, word mountflags, ptr data", true
	case "umount2":
		return "ptr target, hex flags", true
	case "mount_setattr":
		return "dirfd dirfd, ptr pathname, hex flags, ptr attr, size size", true
	case "move_mount":
		return "dirfd from_dirfd, ptr from_pathname, dirfd to_dirfd, ptr to_pathname, hex flags", true
	case "open_tree":
		return "dirfd dirfd, ptr pathname, hex flags", true
	case "open_tree_attr":
		return "dirfd dirfd, ptr pathname, hex flags, ptr attr, size size", true
	case "fsopen":
		return "ptr fsname, hex flags", true
	case "fsconfig":
		return "fd fd, uint cmd, ptr key, ptr value, int aux", true
	case "fsmount":
		return "fd fd, hex flags, hex attr_flags", true
	case "fspick":
		return "dirfd dirfd, ptr pathname, hex flags", true
	case "statmount", "listns":
		return "ptr req, ptr buf, size bufsize, hex flags", true
	case "listmount":
		return "ptr req, ptr mnt_ids, size nr_mnt_ids, hex flags", true
	case "swapon":
		return "ptr path, hex swapflags", true
	case "quotactl":
		return "hex cmd, ptr special, int id, ptr addr", true
	case "quotactl_fd":
		return "fd fd, hex cmd, int id, ptr addr", true
	case "ustat":
		return "hex dev, ptr ubuf", true
	case "sysfs":
		return "int option, word arg1, word arg2", true
	case "umask":
		return "mode mask", true
	case "sync", "vhangup":
		return "", true
	case "lookup_dcookie":
		return "mask cookie, ptr buf, size len", true
	}
	return "", false
}
