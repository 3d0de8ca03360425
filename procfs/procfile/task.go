//go:build linux

package procfile

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Task reads files of threads, one after the other into the same memory, without allocating. The zero value can
// be used, by one goroutine at a time. What it returns is valid until it reads again.
type Task struct {
	path [64]byte
	buf  []byte // grows to the longest file
}

// Open opens a file of thread tid of the process whose folder in /proc is open as dir. It fails as the kernel says:
// with ENOENT or ESRCH where the thread has ended.
func (r *Task) Open(dir, tid int, name string) (int, unix.Errno) {
	path := append(r.path[:0], "task/"...)
	path = strconv.AppendInt(path, int64(tid), 10)
	path = append(path, '/')
	path = append(append(path, name...), 0)
	for {
		fd, _, e := unix.Syscall6(unix.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(&path[0])),
			unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
		if e == 0 {
			return int(fd), 0
		}
		if e != unix.EINTR {
			return -1, e
		}
	}
}

// From reads an open file of a thread, which the kernel gives whole at one read, from its beginning. It fails with
// ESRCH where the thread has ended.
func (r *Task) From(fd int, name string) ([]byte, error) {
	if len(r.buf) == 0 {
		r.buf = make([]byte, 512)
	}
	for {
		n, err := unix.Pread(fd, r.buf, 0)
		switch {
		case err == unix.EINTR:
		case n == len(r.buf) && n < MaxFile:
			r.buf = make([]byte, 4*n)
		case err == unix.ESRCH || err == nil && n == 0:
			return nil, unix.ESRCH
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		default:
			return r.buf[:n], nil
		}
	}
}

// InTurns calls f for each of n threads, with what to read its files by: two at a time where there are many.
func InTurns(n int, f func(i int, r *Task)) {
	const many, piece = 64, 32
	var next atomic.Int64
	pieces := func() {
		var r Task
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
