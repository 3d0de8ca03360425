//go:build linux

package tracer

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// taskReader reads files of threads, one after the other into the same memory, without allocating. The zero value can
// be used, by one goroutine at a time. What it returns is valid until it reads again.
type taskReader struct {
	path [64]byte
	buf  []byte // grows to the longest file
}

// open opens a file in the /proc directory of a thread. It fails with ErrNoThread or a *PermissionError.
func (r *taskReader) open(p *Process, tid int, name string) (int, error) {
	path := append(r.path[:0], "task/"...)
	path = strconv.AppendInt(path, int64(tid), 10)
	path = append(path, '/')
	path = append(append(path, name...), 0)
	for {
		fd, _, e := unix.Syscall6(unix.SYS_OPENAT, uintptr(p.dir), uintptr(unsafe.Pointer(&path[0])),
			unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
		switch e {
		case 0:
			return int(fd), nil
		case unix.EINTR:
		case unix.ENOENT, unix.ESRCH:
			return -1, ErrNoThread
		case unix.EACCES, unix.EPERM:
			return -1, permissionError(p.root, p.pid, "open "+name+" of", e)
		default:
			return -1, &os.PathError{Op: "open", Path: string(path[:len(path)-1]), Err: e}
		}
	}
}

// from reads an open file of a thread, which the kernel gives whole at one read, from its beginning.
func (r *taskReader) from(fd int, name string) ([]byte, error) {
	if len(r.buf) == 0 {
		r.buf = make([]byte, 512)
	}
	for {
		n, err := unix.Pread(fd, r.buf, 0)
		switch {
		case err == unix.EINTR:
		case n == len(r.buf) && n < maxProcFile:
			r.buf = make([]byte, 4*n)
		case err == unix.ESRCH || err == nil && n == 0:
			return nil, ErrNoThread
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		default:
			return r.buf[:n], nil
		}
	}
}

// read opens, reads and closes a file of a thread. It fails as open does, or as the file says.
//
// To keep thousands of files open is dearer than to open them twice: each time that the table of descriptors grows,
// which threads share, the kernel waits until no CPU uses the old one (expand_fdtable in linux/fs/file.c).
func (r *taskReader) read(p *Process, tid int, name string) ([]byte, error) {
	fd, err := r.open(p, tid, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return r.from(fd, name)
}

// inTurns calls f for each of n threads, with what to read its files by: two at a time where there are many.
func inTurns(n int, f func(i int, r *taskReader)) {
	const many, piece = 64, 32
	var next atomic.Int64
	pieces := func() {
		var r taskReader
		for {
			from := int(next.Add(piece)) - piece
			if from >= n {
				return
			}
			for i := from; i < min(from+piece, n); i++ {
				f(i, &r)
			}
		}
	}
	if n < many || runtime.GOMAXPROCS(0) == 1 {
		pieces()
		return
	}
	var other sync.WaitGroup
	other.Go(pieces)
	pieces()
	other.Wait()
}
