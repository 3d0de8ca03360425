//go:build linux

package tracer

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"golang.org/x/sys/unix"
)

// TestPages: what lies next to what was read takes no other read, up to where its mapping ends; files are read each
// time; and what is behind a hole is read all the same.
func TestPages(t *testing.T) {
	own, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	area := mapped(t, nil, 3*blockSize)
	base := (mem.Addr(uintptr(unsafe.Pointer(&area[0]))) + blockSize - 1) &^ (blockSize - 1)
	area = area[base-mem.Addr(uintptr(unsafe.Pointer(&area[0]))):][:2*blockSize]
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, make([]byte, pageSize), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file := mapped(t, f, pageSize)
	inFile := mem.Addr(uintptr(unsafe.Pointer(&file[0])))
	table := maps.NewTable([]maps.Mapping{{Start: base, End: base + 2*blockSize - pageSize},
		{Start: base + 2*blockSize - pageSize, End: base + 2*blockSize},
		{Start: inFile, End: inFile + pageSize, Inode: 1}})
	if inFile < base {
		t.Skip("the system maps the file below the memory here, which this table does not describe")
	}
	m := pages{stoppedMemory: stoppedMemory{memory: &memory{fd: int(own.Fd()), dir: -1}, table: table},
		room: make([]byte, pagesRoom)}
	m.pagesOnce.Do(func() { m.pages = -1 })
	read := func(addr mem.Addr, n int) (byte, int) {
		t.Helper()
		p := []snapshot.Piece{{Addr: addr, Data: make([]byte, n)}}
		if err := m.ReadPieces(p); err != nil {
			t.Fatal(err)
		}
		return p[0].Data[0], p[0].Got
	}
	for i := range area {
		area[i] = 1
	}
	read(base+64, 8)
	for i := range area {
		area[i] = 2
	}
	const last = 2*blockSize - pageSize
	for _, row := range []struct {
		name  string
		at    mem.Addr
		n     int
		first byte
		got   int
	}{
		{"read with another", 0, 64, 1, 64},
		{"to the end of the block", blockSize - 8, 8, 1, 8},
		{"of two blocks", blockSize - 8, 16, 2, 16},
		{"longer than a block", blockSize - 8, blockSize + 8, 2, blockSize + 8},
		{"of the next block", blockSize, 8, 2, 8},
		{"of the mapping behind, in the same block", last, 8, 2, 8},
	} {
		if first, got := read(base+row.at, row.n); first != row.first || got != row.got {
			t.Errorf("%s: %d bytes, the first is %d, want %d and %d", row.name, got, first, row.got, row.first)
		}
	}
	if _, got := read(inFile, 8); got != 0 {
		t.Errorf("%d bytes of a file of which is not known whether they are in memory", got)
	}
	m.blocks = [blockSlots]block{}
	hole := base + pageSize
	if _, _, e := unix.RawSyscall(unix.SYS_MUNMAP, uintptr(hole), pageSize, 0); e != 0 {
		t.Fatal(e)
	}
	for _, row := range []struct {
		at  mem.Addr
		got int
	}{{base, 8}, {hole - 4, 4}, {hole, 0}, {hole + pageSize, 8}, {hole, 0}, {base, 8}} {
		if _, got := read(row.at, 8); got != row.got {
			t.Errorf("%d bytes at %+d from a hole, want %d", got, int64(row.at-hole), row.got)
		}
	}
}

// mapped is memory of its own mapping, of f or of nothing.
func mapped(t *testing.T, f *os.File, n int) []byte {
	t.Helper()
	fd, flags := -1, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS
	if f != nil {
		fd, flags = int(f.Fd()), unix.MAP_SHARED
	}
	b, err := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}
