//go:build linux

package tracer

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// callMemory reads an address space by process_vm_readv(2), for where /proc/PID/mem is refused: that file has mode 0600
// and belongs to the user of the process, so that CAP_SYS_PTRACE alone does not open it. The call asks for nothing else
// than ptrace does.
type callMemory struct {
	tid  int
	maps int         // /proc/TID/maps, open: empty once nobody uses that address space
	lost atomic.Bool // a read did not come back: another one could be lost in the same way
}

// openCallMemory opens the memory of thread tid for reading by calls. dir is /proc/PID. It fails with EACCES or EPERM
// where the call is refused as well.
func openCallMemory(dir, tid int) (*callMemory, error) {
	var b [1]byte
	local := []unix.Iovec{{Base: &b[0], Len: 1}}
	remote := []unix.RemoteIovec{{Base: pageSize, Len: 1}} // mapped or not: rights are asked for first
	if _, err := unix.ProcessVMReadv(tid, local, remote, 0); err != nil && !errors.Is(err, unix.EFAULT) {
		return nil, err
	}
	fd, err := procfile.Open(dir, "task/"+strconv.Itoa(tid)+"/maps", unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &callMemory{tid: tid, maps: fd}, nil
}

func (c *callMemory) close() { unix.Close(c.maps) }

// replaced reports whether nobody uses the address space any more.
// Source: m_start in linux/fs/proc/task_mmu.c: no line without users of the mm, which the open file names for good.
func (c *callMemory) replaced() bool {
	var b [1]byte
	n, err := unix.Pread(c.maps, b[:], 0)
	return n == 0 && err == nil
}

// errNotBrought says that a page did not come.
var errNotBrought = errors.New("a page of it did not come")

// read fills the beginning of b. The call can sleep in the kernel for good, on a page that somebody must bring
// (userfaultfd): so another thread makes it, into memory of its own, and after such a sleep there is no other read.
//
// Like a read of /proc/PID/mem it returns 0 without an error if the address space is gone.
func (c *callMemory) read(b []byte, addr mem.Addr) (int, error) {
	if uint64(addr) > uint64(^uintptr(0)) {
		return 0, unix.EFAULT
	}
	if c.lost.Load() {
		return 0, errNotBrought
	}
	type result struct {
		n   int
		err error
	}
	own, done := make([]byte, len(b)), make(chan result, 1)
	go func() {
		local := []unix.Iovec{{Base: &own[0]}}
		local[0].SetLen(len(own))
		n, err := unix.ProcessVMReadv(c.tid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(own)}}, 0)
		done <- result{n, err}
	}()
	bound := time.NewTimer(copyTime)
	defer bound.Stop()
	select {
	case r := <-done:
		if c.replaced() {
			return 0, nil
		}
		return copy(b, own[:max(r.n, 0)]), r.err
	case <-bound.C:
		c.lost.Store(true)
		return 0, errNotBrought
	}
}
