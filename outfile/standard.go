//go:build linux

package outfile

import "golang.org/x/sys/unix"

// StandardLost reports whether this program was begun with its standard output closed (>&-): then what is
// written there is lost without an error, because Go's runtime opens /dev/null in its place, before any code of ours
// runs (checkfds in runtime/fds_unix.go).
//
// It is known by what that leaves: /dev/null, opened for reading too, and for this one number alone. A program that
// starts us with such a standard output and another standard error looks the same; a
// shell's >/dev/null is opened for writing alone.
func StandardLost() bool {
	var st, null unix.Stat_t
	if unix.Fstat(1, &st) != nil {
		return true
	}
	if unix.Stat("/dev/null", &null) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != null.Rdev {
		return false
	}
	flags, err := unix.FcntlInt(1, unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR && !sameFile(1, 0) && !sameFile(1, 2)
}

// kcmpFile asks kcmp(2) whether two numbers are one open file. Source: linux/include/uapi/linux/kcmp.h.
const kcmpFile = 0

// sameFile reports whether two of our numbers are one open file. What cannot be known counts as yes.
func sameFile(a, b int) bool {
	pid := uintptr(unix.Getpid())
	r, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, uintptr(a), uintptr(b), 0)
	return errno != 0 && errno != unix.EBADF || r == 0 && errno == 0
}
