//go:build linux

// Package procfile reads files and folders of /proc by system calls alone: into memory that the caller keeps, with no
// poller and no lock between. What they say is read by package procfs.
//
// It stops nothing and keeps nothing open that it is not asked to. Its errors are those of the kernel, with the path:
// [Gone] tells a process or thread that has ended.
package procfile

import (
	"errors"
	"os"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// MaxFile bounds what is read of a file of /proc that has no bound of its own.
const MaxFile = 1 << 20

// Read returns at most limit bytes of a file. It does without package os, which registers each file with the poller.
func Read(path string, limit int) ([]byte, error) {
	return At(unix.AT_FDCWD, path, nil, limit)
}

// At reads a file relative to an open directory into buf, which grows up to limit.
func At(dir int, path string, buf []byte, limit int) ([]byte, error) {
	fd, err := Open(dir, path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf = buf[:0]
	if cap(buf) == 0 {
		buf = make([]byte, 0, min(limit, 1024))
	}
	for len(buf) < limit {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(limit, 4*cap(buf)))
			copy(grown, buf)
			buf = grown
		}
		n, err := unix.Read(fd, buf[len(buf):min(cap(buf), limit)])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return buf, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n <= 0 {
			break
		}
		buf = buf[:len(buf)+n]
	}
	return buf, nil
}

// Open opens path relative to the open directory dir, or [unix.AT_FDCWD]. The caller closes it.
func Open(dir int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
		if err == nil {
			return fd, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return -1, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// Link is where a link leads, whole.
func Link(dir int, path string) (string, error) {
	buf := make([]byte, 4096) // PATH_MAX; the kernel cuts nothing shorter in /proc
	n, err := unix.Readlinkat(dir, path, buf)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: path, Err: err}
	}
	return string(buf[:n]), nil
}

// Gone reports whether err means that the process or thread has ended.
func Gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}

// Status reads the file status at path.
func Status(path string) (procfs.Status, error) {
	b, err := Read(path, MaxFile)
	if err != nil {
		return procfs.Status{}, err
	}
	return procfs.ParseStatus(b)
}

// Namespace is the inode of the namespace that the link names, 0 if it cannot be read.
func Namespace(link string) uint64 {
	var st unix.Stat_t
	if unix.Stat(link, &st) != nil {
		return 0
	}
	return uint64(st.Ino)
}
