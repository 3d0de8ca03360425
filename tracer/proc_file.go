//go:build linux

package tracer

import (
	"errors"
	"os"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

// maxProcFile bounds what is read of a file of /proc that has no bound of its own.
const maxProcFile = 1 << 20

// readFile returns at most limit bytes of a small file. It does without package os,
// which registers each file with the poller.
func readFile(path string, limit int) ([]byte, error) {
	return readAt(unix.AT_FDCWD, path, nil, limit)
}

// readAt reads a file relative to an open directory into buf, which grows up to limit.
func readAt(dir int, path string, buf []byte, limit int) ([]byte, error) {
	fd, err := openAt(dir, path, unix.O_RDONLY)
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

func openAt(dir int, path string, flags int) (int, error) {
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

func readLinkAt(dir int, path string) (string, error) {
	buf := make([]byte, 4096) // PATH_MAX; the kernel cuts nothing shorter in /proc
	n, err := unix.Readlinkat(dir, path, buf)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: path, Err: err}
	}
	return string(buf[:n]), nil
}

// isGone reports whether err means that the process or thread has ended.
func isGone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
}

// Transient reports whether err is a want that may pass: of descriptors, ours or the system's, or of memory. It says
// nothing about the process that was meant.
func Transient(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

func readStatus(path string) (procfs.Status, error) {
	b, err := readFile(path, maxProcFile)
	if err != nil {
		return procfs.Status{}, err
	}
	return procfs.ParseStatus(b)
}
