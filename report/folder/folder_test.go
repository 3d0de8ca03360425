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
	"time"

	"github.com/fpstack/fpstack/errand"
)

// plain is a folder whose files come as they are written.
type plain string

func (d plain) Path() string { return string(d) }

func (d plain) Make(name string) (Dir, error) {
	path := filepath.Join(string(d), name)
	return plain(path), os.Mkdir(path, 0o777)
}

func (d plain) Has(name string) bool {
	_, err := os.Lstat(filepath.Join(string(d), name))
	return err == nil
}

func (d plain) Write(name string, _ bool, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(string(d), name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// opens opens a plain folder.
func opens(path string) func() (Dir, error) {
	return func() (Dir, error) { return plain(path), os.MkdirAll(path, 0o777) }
}

func content(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func create(t *testing.T, path string, opt Options) *Folder {
	t.Helper()
	f, err := Create(opens(path), opt)
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
			f, err := Create(opens(path), Options{})
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
		f.Keep(fmt.Sprintf("%d.txt", i), false, content(strings.Repeat("p", 25)))
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

// failing is a folder that cannot write what is private.
type failing struct {
	plain
	err error
}

func (f failing) Make(name string) (Dir, error) {
	d, err := f.plain.Make(name)
	return failing{d.(plain), f.err}, err
}

func (f failing) Write(name string, private bool, write func(io.Writer) error) error {
	if !private {
		return f.plain.Write(name, private, write)
	}
	return &os.PathError{Op: "write", Path: name, Err: f.err}
}

// TestDiskFull: what cannot be written is one error, and other files are there.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(func() (Dir, error) { return failing{plain(dir), syscall.ENOSPC}, nil }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.Keep("7.snap", true, content("x"))
	if got := f.Err(); !errors.Is(got, syscall.ENOSPC) || !strings.Contains(got.Error(), "7.snap: no space") {
		t.Errorf("got %v", got)
	}
	f.Keep("7.env", true, content("x"))
	f.Put("hang.txt", content("verdict"))
	f.Put("hang.svg", func(io.Writer) error { return errors.New("no stacks") })
	if got := f.Err(); !errors.Is(got, syscall.ENOSPC) || !strings.Contains(got.Error(), "7.snap and 2 further files") {
		t.Errorf("got %v", got)
	}
	if got := read(t, filepath.Join(f.Path(), "hang.txt")); got != "verdict" {
		t.Errorf("got %q", got)
	}
}

// dead is a folder whose file system does not answer from some write on.
type dead struct {
	plain
	alive map[string]bool
	hold  chan bool
}

func (d *dead) Make(name string) (Dir, error) {
	_, err := d.plain.Make(name)
	return d, err
}

func (d *dead) Write(name string, private bool, write func(io.Writer) error) error {
	if !d.alive[name] {
		<-d.hold
	}
	return d.plain.Write(name, private, write)
}

// TestNoAnswer: a file system that does not answer is waited for once, and half of the time is left for what says
// most.
func TestNoAnswer(t *testing.T) {
	d := &dead{plain(t.TempDir()), map[string]bool{"hang.txt": true}, make(chan bool)}
	f, err := Create(func() (Dir, error) { return d, nil }, Options{Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		f.Keep("7.txt", false, content("x"))
	}
	f.Put("hang.txt", content("verdict"))
	for range 100 {
		f.Put("hang.json", content("{}"))
	}
	if got := f.Err(); !errors.Is(got, errand.ErrNoAnswer) || !strings.Contains(got.Error(), "7.txt and 199 further") {
		t.Errorf("got %v", got)
	}
	if got := read(t, filepath.Join(f.Path(), "hang.txt")); got != "verdict" {
		t.Errorf("got %q", got)
	}
	if f.spent > time.Minute {
		t.Errorf("it waited for %v", f.spent)
	}
	never := make(chan bool)
	if _, err := Create(func() (Dir, error) { <-never; return nil, nil },
		Options{Patience: time.Millisecond}); !errors.Is(
		err, errand.ErrNoAnswer) {
		t.Errorf("got %v", err)
	}
}

// TestPlanted: what somebody put under a name that a report would choose is not gone into.
func TestPlanted(t *testing.T) {
	dir, victim := t.TempDir(), t.TempDir()
	create(t, dir, Options{})
	err := errors.Join(os.Symlink(victim, filepath.Join(dir, "2")), os.Mkdir(filepath.Join(dir, "3"), 0o777))
	if err != nil {
		t.Fatal(err)
	}
	if f := create(t, dir, Options{}); f.Path() != filepath.Join(dir, "4") {
		t.Errorf("the report is in %s", f.Path())
	}
	if there, err := os.ReadDir(victim); err != nil || len(there) > 0 {
		t.Errorf("behind the link are %v, %v", there, err)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "hang.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if f := create(t, other, Options{}); f.Path() != filepath.Join(other, "2") {
		t.Errorf("the report is in %s", f.Path())
	}
}
