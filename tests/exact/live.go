//go:build linux && (amd64 || arm64)

package exact

import (
	"encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fpstack/fpstack/mem"
)

// live reads the memory of a stopped process. It implements mem.Reader.
type live struct{ pid int }

// ReadMem reads by process_vm_readv(2), which may come back short at a page that is not mapped.
func (l live) ReadMem(b []byte, addr mem.Addr) (int, error) {
	done := 0
	for done < len(b) {
		n, err := l.readOnce(b[done:], addr+mem.Addr(done))
		if n <= 0 {
			return done, &mem.FaultError{Addr: addr + mem.Addr(done), Len: len(b) - done, Err: err}
		}
		done += n
	}
	return done, nil
}

func (l live) readOnce(b []byte, addr mem.Addr) (int, error) {
	local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(b)}
	n, _, e := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(l.pid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// word reads one little-endian word of size bytes.
func (l live) word(addr, size uint64) (uint64, bool) {
	v, err := mem.Uint(l, mem.Addr(addr), int(size), binary.LittleEndian)
	return v, err == nil
}

// fileData is a file in memory, as [module.File] wants it.
func fileData(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() == 0 {
		return nil, nil
	}
	return unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
}
