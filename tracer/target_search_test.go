//go:build linux

package tracer

import (
	"bytes"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

// TestSearchBesideGuards: a page that the kernel guards is shown like one that is swapped out, and is none. What lies
// beside it is found.
func TestSearchBesideGuards(t *testing.T) {
	const guardInstall = 102 // MADV_GUARD_INSTALL of linux/include/uapi/asm-generic/mman-common.h
	page := os.Getpagesize()
	area, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(area)
	if err := unix.Madvise(area[page:2*page], guardInstall); err != nil {
		t.Logf("no guards, which Linux 6.13 brought: %v", err)
	}
	copy(area, "first")
	copy(area[2*page:], "last")
	dir, err := unix.Open("/proc/self", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	fd, err := unix.Open("/proc/self/mem", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{fd: fd, dir: dir, tid: os.Getpid()}
	defer m.close()
	p := &Process{pid: os.Getpid(), dir: dir}
	p.memory.Store(m)
	at := mem.Addr(uintptr(unsafe.Pointer(&area[0])))
	var found [][]byte
	err = p.search(&maps.Mapping{Start: at, End: at + mem.Addr(3*page)}, func(_ mem.Addr, b []byte) bool {
		found = append(found, bytes.Clone(b))
		return true
	})
	all := bytes.Join(found, nil)
	if err != nil || !bytes.Contains(all, []byte("first")) || !bytes.Contains(all, []byte("last")) {
		t.Errorf("%d bytes are found, %v", len(all), err)
	}
}
