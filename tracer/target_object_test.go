//go:build linux

package tracer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// copyOf starts a copy of the sleeping target, whose file the test may change.
func copyOf(t *testing.T) (c *target, path string, content []byte) {
	t.Helper()
	if built == "" {
		t.Skip("the targets are not built: gcc is not installed")
	}
	content, err := os.ReadFile(filepath.Join(built, "target"))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return launch(t, exec.Command(path, "sleep")), path, content
}

func mappingOf(t *testing.T, p *Process, path string) *maps.Mapping {
	t.Helper()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range table.All() {
		if m.Path == path {
			return &table.All()[i]
		}
	}
	t.Fatalf("no mapping of %q", path)
	return nil
}

func TestOpenMapping(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"as it was": func(string) error { return nil },
		"deleted":   os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Remove(path), os.WriteFile(path, []byte("other"), 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, path, want := copyOf(t)
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			p := openTarget(t, c.pid())
			data, got, release, err := p.OpenMapping(mappingOf(t, p, path))
			if err != nil || got != path || !bytes.Equal(data, want) {
				t.Fatalf("got %d bytes of %q, %v, want %d of %q", len(data), got, err, len(want), path)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOpenMappingWithoutMapFiles is the way of those who may not open map_files: the
// mapping is one that is not there.
func TestOpenMappingWithoutMapFiles(t *testing.T) {
	c := start(t, "target", "sleep")
	p := openTarget(t, c.pid())
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(table.All(), func(m maps.Mapping) bool { return strings.HasSuffix(m.Path, ".so.6") })
	if i < 0 {
		t.Skip("the target has no libc of its own")
	}
	m := table.All()[i]
	libc := m.Path
	m.Start--
	data, _, release, err := p.OpenMapping(&m)
	want, _ := os.ReadFile(libc)
	if err != nil || !bytes.Equal(data, want) {
		t.Fatalf("got %d bytes, %v, want %d", len(data), err, len(want))
	}
	release()
	m.Inode++
	if _, _, _, err := p.OpenMapping(&m); !errors.Is(err, ErrReplaced) {
		t.Errorf("another inode: got %v, want %v", err, ErrReplaced)
	}
	m.Path = "/dev/zero"
	if st := (unix.Stat_t{}); unix.Stat(m.Path, &st) == nil {
		m.Inode = uint64(st.Ino)
	}
	if data, _, _, err := p.OpenMapping(&m); err == nil {
		t.Errorf("device: got %d bytes, want an error", len(data))
	}
	if _, _, _, err := p.OpenMapping(&maps.Mapping{Start: 1, End: 2, Path: "[vdso]"}); err == nil {
		t.Error("mapping without a file: no error")
	}
}

func TestOpenInStaysBelowRoot(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "secret"), []byte("out"), 0o644),
		os.Mkdir(filepath.Join(dir, "root"), 0o755), os.WriteFile(filepath.Join(dir, "root", "plain"), []byte("in"),
			0o644),
		os.Symlink("../secret", filepath.Join(dir, "root", "up")),
		os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "root", "absolute"))); err != nil {
		t.Fatal(err)
	}
	root, err := procfile.Open(unix.AT_FDCWD, filepath.Join(dir, "root"), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	for how, open := range map[string]func(int, string) (int, error){"by hand": openPlain,
		"openat2": func(root int, path string) (int, error) { return openIn(root, path, 0) }} {
		for _, path := range []string{"/up", "up", "/absolute", "/../secret", "/missing"} {
			if fd, err := open(root, path); err == nil && content(t, fd) == "out" {
				t.Errorf("%s: %q leads out", how, path)
			}
		}
		fd, err := open(root, "/plain")
		if err != nil || content(t, fd) != "in" {
			t.Errorf("%s: /plain: %v", how, err)
		}
	}
}

func content(t *testing.T, fd int) string {
	t.Helper()
	defer unix.Close(fd)
	f, err := os.Open(fmt.Sprint("/proc/self/fd/", fd))
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(f)
	return string(b)
}

// In a mere chroot the kernel shows us the path outside of it; its own view has another.
func TestOpenMappingInChroot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may chroot")
	}
	root := t.TempDir()
	if out, err := exec.Command("gcc", "-static", "-pthread", "-o", filepath.Join(root, "inside"),
		"testdata/target.c").CombinedOutput(); err != nil {
		t.Skipf("a static program is not built: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(root, "note"), []byte("in the root"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/inside", "sleep")
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: root}
	p, err := Open(launch(t, cmd).pid(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range table.All() {
		if !m.IsFile() {
			continue
		}
		_, path, release, err := p.OpenMapping(&m)
		if err != nil {
			t.Fatal(err)
		}
		release()
		if path != "/inside" {
			t.Errorf("path %q, want /inside", path)
		}
	}
	want, err := os.Stat(filepath.Join(root, "note"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.ModTime("/note"); err != nil || !got.Equal(want.ModTime()) {
		t.Errorf("time of /note: %v, %v; want %v", got, err, want.ModTime())
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.OpenPath("/note"); !errors.Is(err, ErrNoProcess) {
		t.Errorf("after Close: %v, want ErrNoProcess", err)
	}
}

// TestForgetPages: what was let go of a mapped file is read again, and other memory stays as it is.
func TestForgetPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	data, release, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if !bytes.Equal(data, want) {
		t.Fatal("the file is not what was written")
	}
	held := func() int { return resident(t, data) }
	if held() == 0 {
		t.Fatal("nothing of the file is mapped after it was read")
	}
	own := bytes.Clone(want)
	for _, part := range [][]byte{nil, own, own[5000:9000]} {
		forgetPages(data, part)
	}
	if !bytes.Equal(own, want) {
		t.Error("memory that is no file was lost")
	}
	forgetPages(data, data)
	if n := held(); n != 0 {
		t.Errorf("%d pages are mapped still", n)
	}
	if !bytes.Equal(data[100:60_000], want[100:60_000]) {
		t.Error("the file is not read again")
	}
	forgetPages(data, data[4096:8192])
	if !bytes.Equal(data, want) {
		t.Error("the file is not read again after a part was let go of")
	}
}

// resident counts the pages of b that are mapped. Source: proc_pid_pagemap(5): bit 63 of an entry.
func resident(t *testing.T, b []byte) int {
	t.Helper()
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page := uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(&b[0])) / page
	entries := make([]byte, (uintptr(len(b))+page-1)/page*8)
	if _, err := f.ReadAt(entries, int64(first*8)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := 7; i < len(entries); i += 8 {
		n += int(entries[i] >> 7)
	}
	return n
}
