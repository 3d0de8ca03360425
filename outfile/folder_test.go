//go:build linux

package outfile

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenFolder: a folder that is ours is made and opened; one that others own or may write to, and one behind a
// stranger's link, is refused.
func TestOpenFolder(t *testing.T) {
	asRoot(t)
	withUmask(t, 0o022)
	dir := t.TempDir()
	path := filepath.Join(dir, "new")
	for range 2 { // it is made, and then it is there
		f, err := OpenFolder(path)
		must(t, err)
		must(t, f.WriteFile("x", []byte("y"), 0o600))
		must(t, f.Close())
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o700 || content(filepath.Join(path, "x")) != "y" {
		t.Errorf("mode %v, files %q", info.Mode(), here(t, path))
	}
	refused := func(what, path string) {
		t.Helper()
		if f, err := OpenFolder(path); err == nil {
			f.Close()
			t.Errorf("%s is opened", what)
		}
	}
	refused("a folder below one that is not there", filepath.Join(dir, "a", "b"))
	refused("a file", filepath.Join(path, "x"))
	for _, mode := range []os.FileMode{0o770, 0o707} {
		must(t, os.Chmod(path, mode))
		refused("a folder that others may write to", path)
	}
	must(t, os.Chmod(path, 0o755))
	must(t, os.Chown(path, 3, 3))
	refused("a folder of another user", path)
	must(t, os.Chown(path, 0, 0))

	shared := filepath.Join(dir, "shared")
	must(t, os.Mkdir(shared, 0o777))
	must(t, os.Chmod(shared, 0o777))
	link := filepath.Join(shared, "link")
	must(t, os.Symlink(path, link))
	must(t, os.Lchown(link, 3, 3))
	refused("what a stranger's link leads to", link)
	must(t, os.Lchown(link, 0, 0))
	f, err := OpenFolder(link)
	must(t, err)
	must(t, f.Close())
}

// TestLockFolder: one at a time, until it is closed.
func TestLockFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	first, err := OpenFolder(path)
	must(t, err)
	must(t, first.Lock())
	second, err := OpenFolder(path)
	must(t, err)
	defer second.Close()
	if err := second.Lock(); err == nil {
		t.Error("two have locked one folder")
	}
	must(t, first.Close())
	must(t, second.Lock())
}

// TestFolderStays: who replaces the folder by a link changes nothing of what was opened.
func TestFolderStays(t *testing.T) {
	dir := t.TempDir()
	path, moved := filepath.Join(dir, "x"), filepath.Join(dir, "moved")
	f, err := OpenFolder(path)
	must(t, err)
	defer f.Close()
	must(t, os.Rename(path, moved))
	must(t, unix.Symlink("/etc", path))
	must(t, f.WriteFile("fpstack-test", []byte("here"), 0o600))
	if content(filepath.Join(moved, "fpstack-test")) != "here" {
		t.Errorf("files %q", here(t, moved))
	}
}
