package cmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/report/publish"
)

// createFolder makes the folder of a report as the program does.
func createFolder(path string) (*folder.Folder, error) {
	m := (&app{}).means(nil)
	return folder.Create(func() (folder.Dir, error) { return m.Open(path) }, folder.Options{})
}

// What is for its owner alone nobody else may read.
func TestReportPermissions(t *testing.T) {
	f, err := createFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f.Keep("7.snap", true, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err })
	info, err := os.Stat(filepath.Join(f.Path(), folder.Details, "7.snap"))
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		t.Errorf("saved memory may be read by others: %v", mode)
	}
}

// TestReportBehindForeignLinks: a link that somebody else laid in a folder of everybody's leads nowhere.
func TestReportBehindForeignLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can set this up")
	}
	everybodys, target := t.TempDir(), t.TempDir()
	link := filepath.Join(everybodys, "hang")
	err := errors.Join(os.Chmod(everybodys, 0o777|os.ModeSticky), os.Symlink(target, link),
		os.Lchown(link, 65534, 65534))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, filepath.Join(link, "a", "b")} {
		if _, err := createFolder(path); !errors.Is(err, os.ErrPermission) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if made, err := os.ReadDir(target); err != nil || len(made) > 0 {
		t.Errorf("made behind the link: %v, %v", made, err)
	}
}

// A folder that cannot be made is named.
func TestReportCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "hang"), "/proc/self/hang"} {
		var said strings.Builder
		a := &app{stderr: &said}
		publish.New(&publish.Options{Folder: path}, a.means(nil))
		if !strings.Contains(said.String(), path) {
			t.Errorf("%s: got %q", path, &said)
		}
	}
}
