//go:build linux

package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDirFollowsNoLink: names that the program chose are made new, whatever somebody put there, and what a link leads
// to is not touched.
func TestDirFollowsNoLink(t *testing.T) {
	both(t, func(t *testing.T, files *Files) {
		dir, victim := t.TempDir(), t.TempDir()
		file := filepath.Join(victim, "file")
		must(t, os.WriteFile(file, []byte("theirs"), 0o644))
		d, err := OpenDir(filepath.Join(dir, "a", "b"))
		must(t, err)
		defer d.Close()
		must(t, os.Symlink(file, filepath.Join(d.Path(), "x.txt")))
		must(t, os.Symlink(victim, filepath.Join(d.Path(), "2")))
		must(t, os.Symlink(filepath.Join(victim, "new"), filepath.Join(d.Path(), "3")))
		for _, content := range []string{"first", "second"} {
			must(t, files.WriteIn(d, "x.txt", words(content)))
		}
		for _, name := range []string{"2", "3", "x.txt"} {
			if _, err := d.Make(name); !errors.Is(err, fs.ErrExist) {
				t.Errorf("folder %s: got %v", name, err)
			}
			if !d.Has(name) {
				t.Errorf("it has no %s", name)
			}
		}
		if got := content(filepath.Join(d.Path(), "x.txt")); got != "second" || content(file) != "theirs" {
			t.Errorf("it has %q, and behind the link is %q", got, content(file))
		}
		if got := here(t, victim); len(got) != 1 {
			t.Errorf("behind the links are %q", got)
		}
	})
}

// TestDirStays: who moves an open folder away, and puts a link into its place, gets nothing.
func TestDirStays(t *testing.T) {
	dir, victim := t.TempDir(), t.TempDir()
	d, err := OpenDir(dir)
	must(t, err)
	defer d.Close()
	below, err := d.Make("processes")
	must(t, err)
	defer below.Close()
	must(t, os.Rename(below.Path(), filepath.Join(dir, "moved")))
	must(t, unix.Symlink(victim, below.Path()))
	files := &Files{}
	must(t, files.WriteIn(below, "x", words("here")))
	path, err := files.CreateLarge(below, "core", ".bin", func(f File) error {
		_, err := io.WriteString(io.NewOffsetWriter(f, 0), "large")
		return err
	})
	must(t, err)
	if got := here(t, victim); len(got) > 0 || content(filepath.Join(dir, "moved", "x")) != "here" ||
		content(filepath.Join(dir, "moved", filepath.Base(path))) != "large" {
		t.Errorf("behind the link are %q", got)
	}
}
