package folder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// plain writes files as they come.
type plain struct{}

func (plain) Check(string) error { return nil }

func (plain) Write(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func content(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func create(t *testing.T, path string, opt Options) *Folder {
	t.Helper()
	f, err := Create(path, plain{}, plain{}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReportsAreKept: each report has a folder of its own, also where several begin at once, and those that are
// there stay as they are.
func TestReportsAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "hang")
	const reports = 8
	var wg sync.WaitGroup
	folders := make([]*Folder, reports)
	for i := range folders {
		wg.Go(func() {
			f, err := Create(path, plain{}, plain{}, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			f.Put("hang.txt", content(fmt.Sprint(i)))
			folders[i] = f
		})
	}
	wg.Wait()
	var paths []string
	for i, f := range folders {
		paths = append(paths, f.Path())
		if got := read(t, filepath.Join(f.Path(), "hang.txt")); got != fmt.Sprint(i) {
			t.Errorf("%s: got %s, want %d", f.Path(), got, i)
		}
	}
	slices.Sort(paths)
	if len(slices.Compact(paths)) != reports || paths[0] != path || paths[1] != filepath.Join(path, "2") {
		t.Errorf("folders: %q", paths)
	}
}

// TestFilesAreReplaced: within one report a file of the same name is replaced, and its room is free again.
func TestFilesAreReplaced(t *testing.T) {
	f := create(t, t.TempDir(), Options{Limit: 100})
	for range 5 {
		f.Put("hang.txt", content(strings.Repeat("a", 90)))
	}
	f.Put("hang.txt", content("facts"))
	if got := read(t, filepath.Join(f.Path(), "hang.txt")); got != "facts" || f.Remarks() != nil || f.Err() != nil {
		t.Errorf("got %q, %q, %v", got, f.Remarks(), f.Err())
	}
}

// TestLimit: all files together stay below it, processes leave the reserve, and a smaller form is written where the
// larger has no room.
func TestLimit(t *testing.T) {
	f := create(t, t.TempDir(), Options{Limit: 100, Reserve: 40})
	for i := range 5 {
		f.Keep(fmt.Sprintf("%d.txt", i), content(strings.Repeat("p", 25)))
	}
	f.Put("hang.json", content(strings.Repeat("j", 60)), content(strings.Repeat("j", 20)))
	f.Put("hang.svg", content(strings.Repeat("s", 31)))
	f.Put("hang.folded", content(strings.Repeat("f", 30)))
	var all int
	for _, name := range []string{"processes/0.txt", "processes/1.txt", "hang.json", "hang.folded"} {
		all += len(read(t, filepath.Join(f.Path(), name)))
	}
	if all != 100 {
		t.Errorf("%d bytes", all)
	}
	want := "[left out, as a report has at most 100 B: processes/2.txt and 3 further files]"
	if got := fmt.Sprint(f.Remarks()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

// TestWritersMayAsk: what writes a file may ask the report.
func TestWritersMayAsk(t *testing.T) {
	f := create(t, t.TempDir(), Options{Limit: 30})
	f.Put("hang.svg", content(strings.Repeat("s", 31)))
	f.Put("hang.txt", func(w io.Writer) error {
		_, err := fmt.Fprint(w, len(f.Remarks()), f.Err())
		return err
	})
	if got := read(t, filepath.Join(f.Path(), "hang.txt")); got != "1 <nil>" {
		t.Errorf("got %q", got)
	}
}

// failing cannot write.
type failing struct{ err error }

func (f failing) Check(string) error { return nil }

func (f failing) Write(path string, _ func(io.Writer) error) error {
	return &os.PathError{Op: "write", Path: path, Err: f.err}
}

// TestDiskFull: what cannot be written is one error, and other files are there.
func TestDiskFull(t *testing.T) {
	f, err := Create(t.TempDir(), plain{}, failing{syscall.ENOSPC}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.KeepPrivate("7.snap", content("x"))
	if got := f.Err(); !errors.Is(got, syscall.ENOSPC) || !strings.Contains(got.Error(), "7.snap: no space") {
		t.Errorf("got %v", got)
	}
	f.PutPrivate("environment.txt", content("x"))
	f.Put("hang.txt", content("verdict"))
	f.Put("hang.svg", func(io.Writer) error { return errors.New("no stacks") })
	if got := f.Err(); !errors.Is(got, syscall.ENOSPC) || !strings.Contains(got.Error(), "7.snap and 2 further files") {
		t.Errorf("got %v", got)
	}
	if got := read(t, filepath.Join(f.Path(), "hang.txt")); got != "verdict" {
		t.Errorf("got %q", got)
	}
}
