//go:build linux

package tracer

import (
	"errors"
	"sync"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"golang.org/x/sys/unix"
)

// memory reads the address space of one program. It goes on to name that address space
// when the process begins another program, and then reads nothing.
type memory struct {
	fd   int         // /proc/TID/mem, or -1 where it cannot be had
	tid  int         // for process_vm_readv
	call *callMemory // where fd is -1

	initial mem.Addr // where the program's first stack began, below its arguments; 0 if unknown

	dir       int // open /proc/PID
	pagesOnce sync.Once
	pages     int // /proc/TID/pagemap, or -1; see openPages
}

func (m *memory) close() {
	if m.fd >= 0 {
		unix.Close(m.fd)
	}
	if m.call != nil {
		m.call.close()
	}
	m.pagesOnce.Do(func() { m.pages = -1 })
	if m.pages >= 0 {
		unix.Close(m.pages)
	}
}

// replaced reports whether the process has ended or runs another program. addr is any
// address that was mapped.
// Source: mem_rw in linux/fs/proc/base.c returns 0 once nobody uses the address space.
func (m *memory) replaced(addr mem.Addr) bool {
	if m.fd < 0 {
		return m.call.replaced()
	}
	var b [1]byte
	n, err := unix.Pread(m.fd, b[:], int64(addr))
	return n == 0 && err == nil
}

// read fills b by /proc/TID/mem, which fails at once on a page that another process must
// bring (userfaultfd), where process_vm_readv sleeps and cannot be woken. Where that file cannot be had
// the call is made nevertheless: see callMemory.
func (m *memory) read(b []byte, addr mem.Addr) (int, error) {
	done := 0
	for done < len(b) {
		n, err := m.readSome(b[done:], addr+mem.Addr(done))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = mem.ErrUnmapped
		}
		if errors.Is(err, unix.EIO) || errors.Is(err, unix.EFAULT) {
			err = mem.ErrUnmapped
		}
		if err != nil {
			return done, &mem.FaultError{Addr: addr + mem.Addr(done), Len: len(b) - done, Err: err}
		}
		done += n
	}
	return done, nil
}

func (m *memory) readSome(b []byte, addr mem.Addr) (int, error) {
	switch {
	case m.fd < 0:
		return m.call.read(b, addr)
	case int64(addr) < 0: // no process has memory there, and the call would refuse it as an offset
		return 0, mem.ErrUnmapped
	}
	return unix.Pread(m.fd, b, int64(addr))
}

// ReadMem implements [mem.Reader] on the memory as it is now. It may be called while
// the threads run.
//
// A read of a mapped file that is not in memory is given up after a while, as such a page may never come. Until it
// comes, of the files on that file system only what is in memory is read.
func (p *Process) ReadMem(b []byte, addr mem.Addr) (int, error) {
	m := p.memory.Load()
	if len(b) == 0 {
		return 0, nil
	}
	var t *maps.Table
	if last := p.table.Load(); last != nil {
		t = last.Table
	}
	if t != nil && anonymous(t, addr, len(b)) || len(b) <= fewPages && m.resident(addr, len(b)) == len(b) {
		return m.read(b, addr)
	}
	of := p.errands.Paths() // where the mappings are not known
	if d, ok := deviceOf(t, addr, len(b)); ok {
		of = errand.Device(d)
	}
	if p.errands.Mute(of) {
		n := m.resident(addr, len(b))
		if n == 0 {
			return 0, &mem.FaultError{Addr: addr, Len: len(b), Err: errand.ErrNoAnswer}
		}
		done, err := m.read(b[:n], addr)
		if err == nil && n < len(b) {
			err = &mem.FaultError{Addr: addr + mem.Addr(n), Len: len(b) - n, Err: errand.ErrNoAnswer}
		}
		return done, err
	}
	type part struct {
		b   []byte
		err error // why it is less
	}
	got, err := ask(&p.errands, of, func(func()) (part, error) {
		own := make([]byte, len(b)) // b is the caller's again after the bound
		n, err := m.read(own, addr)
		return part{own[:n], err}, nil
	}, nil)
	if err != nil {
		return 0, &mem.FaultError{Addr: addr, Len: len(b), Err: err}
	}
	return copy(b, got.b), got.err
}

// fewPages is how much is looked up page by page whether it is in memory, bytes: for less than what an errand takes.
const fewPages = 16 << 10

// deviceOf is that of the first file that the n bytes at addr are mapped from. t may be nil.
func deviceOf(t *maps.Table, addr mem.Addr, n int) (device uint64, ok bool) {
	for at := addr; t != nil && at-addr < mem.Addr(n); {
		m := t.Find(at)
		if m == nil {
			break
		}
		if m.Inode != 0 {
			return m.Dev, true
		}
		at = m.End
	}
	return 0, false
}

// resident is how many of the n bytes at addr lie on pages that are in memory or in swap.
func (m *memory) resident(addr mem.Addr, n int) int {
	m.openPages()
	if m.pages < 0 {
		return 0
	}
	for at := addr; at-addr < mem.Addr(n); at = at&^(kernelPage-1) + kernelPage {
		var entry [8]byte
		got, err := unix.Pread(m.pages, entry[:], int64(at/kernelPage)*8)
		if err != nil || got != len(entry) || !present(entry) {
			return int(at - addr)
		}
		if at&^(kernelPage-1)+kernelPage < at {
			break
		}
	}
	return n
}

// anonymous reports whether the n bytes at addr lie in mappings with no file behind them.
// The pages of others may have to come from a network, or from the process itself.
func anonymous(t *maps.Table, addr mem.Addr, n int) bool {
	end := addr + mem.Addr(n)
	for at := addr; at < end; {
		m := t.Find(at)
		if m == nil || m.Inode != 0 {
			return false
		}
		at = m.End
	}
	return addr < end
}
