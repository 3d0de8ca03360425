//go:build linux

package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
)

// mapped maps a new file of the given bytes and returns how to make it shorter.
func mapped(t *testing.T, content []byte) (data []byte, truncate func(size int64)) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "libx.so"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	data, err = syscall.Mmap(int(f.Fd()), 0, len(content), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(data) })
	return data, func(size int64) {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGuardFileShrinks(t *testing.T) {
	data, truncate := mapped(t, make([]byte, 4*os.Getpagesize()))
	truncate(int64(os.Getpagesize()))
	sum := 0
	err := module.Guard("/lib/libx.so", func() error {
		for _, c := range data {
			sum += int(c)
		}
		return nil
	})
	if want := `read "/lib/libx.so": file became shorter while it was read`; err == nil || err.Error() != want ||
		!errors.Is(err, module.ErrShrunk) {
		t.Errorf("Guard() = %v, want %s", err, want)
	}
}

func TestFindOfFileThatShrinks(t *testing.T) {
	data, truncate := mapped(t, make([]byte, 4*os.Getpagesize()))
	truncate(0)
	table := maps.NewTable([]maps.Mapping{{Start: 0x10000, End: 0x20000, Perm: maps.Read | maps.Exec, Inode: 1,
		Path: "/lib/libx.so"}})
	s := module.NewSet(table, func(*maps.Mapping) (*module.File, error) { return &module.File{Data: data}, nil }, nil)
	if m := s.Find(0x10000); m == nil || !errors.Is(m.Err, module.ErrShrunk) || m.Name() != "libx.so" {
		t.Errorf("Find() = %+v, want a module with ErrShrunk", m)
	}
}
