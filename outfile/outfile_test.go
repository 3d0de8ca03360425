//go:build linux

package outfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// both runs f as where files without a name can be had, and as where not.
func both(t *testing.T, f func(t *testing.T, files *Files)) {
	t.Helper()
	t.Run("without a name", func(t *testing.T) { f(t, &Files{}) })
	t.Run("with a name", func(t *testing.T) { f(t, &Files{named: true}) })
}

// words writes text.
func words(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// here lists what lies in dir.
func here(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// must fails the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content is what the file holds, "" if it is not there.
func content(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

// asRoot skips where the test cannot make files of others.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
}

// withUmask sets the umask for the test. Tests that want one run alone.
func withUmask(t *testing.T, mask int) {
	old := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(old) })
}

func TestNewFileFollowsUmask(t *testing.T) {
	both(t, func(t *testing.T, files *Files) {
		for _, mask := range []int{0o022, 0o077, 0o027, 0} {
			withUmask(t, mask)
			path := filepath.Join(t.TempDir(), "new")
			must(t, files.Write(path, words("text")))
			info, err := os.Stat(path)
			must(t, err)
			if want := os.FileMode(0o666 &^ mask); info.Mode() != want || content(path) != "text" {
				t.Errorf("umask %03o: mode %v with %q, want %v", mask, info.Mode(), content(path), want)
			}
		}
	})
}

func TestReplacedFileKeepsModeAndOwner(t *testing.T) {
	asRoot(t)
	both(t, func(t *testing.T, files *Files) {
		for _, tt := range []struct {
			mode     os.FileMode
			uid, gid int
		}{{0o600, 0, 0}, {0o640, 65534, 65534}, {0o664, 0, 7}, {0o444, 3, 4}} {
			path := filepath.Join(t.TempDir(), "old")
			must(t, os.WriteFile(path, []byte("a longer text that was there"), 0o600))
			must(t, os.Chown(path, tt.uid, tt.gid))
			must(t, os.Chmod(path, tt.mode))
			must(t, files.Write(path, words("text")))
			var st unix.Stat_t
			must(t, unix.Stat(path, &st))
			if os.FileMode(st.Mode&0o7777) != tt.mode || int(st.Uid) != tt.uid || int(st.Gid) != tt.gid ||
				content(path) != "text" {
				t.Errorf("%o of %d:%d with %q, want %o of %d:%d with the new text", st.Mode&0o7777, st.Uid, st.Gid,
					content(path), tt.mode, tt.uid, tt.gid)
			}
			if got := here(t, filepath.Dir(path)); len(got) != 1 {
				t.Errorf("files %q", got)
			}
		}
	})
}

// TestPrivate: nobody but the owner may read the file, whatever was there, and one that stays another's is not written.
func TestPrivate(t *testing.T) {
	asRoot(t)
	withUmask(t, 0)
	both(t, func(t *testing.T, files *Files) {
		files.Private = true
		dir := t.TempDir()
		must(t, os.Chmod(filepath.Dir(dir), 0o755))
		must(t, os.Chmod(dir, 0o777))
		fresh, old, foreign := filepath.Join(dir, "new"), filepath.Join(dir, "old"), filepath.Join(dir, "foreign")
		for _, path := range []string{old, foreign} {
			must(t, os.WriteFile(path, []byte("old"), 0o600))
			must(t, os.Chmod(path, 0o666))
		}
		must(t, os.Chown(foreign, 3, 3))
		for _, path := range []string{fresh, old} {
			must(t, files.Write(path, words("text")))
			info, err := os.Stat(path)
			must(t, err)
			if info.Mode() != 0o600 || content(path) != "text" {
				t.Errorf("%s: mode %v with %q, want 0600", path, info.Mode(), content(path))
			}
		}
		err := asNobody(func() error { return files.Write(foreign, words("text")) })
		if err == nil || content(foreign) != "old" {
			t.Errorf("the file of another: %v, it has %q", err, content(foreign))
		}
	})
}

// TestReplaceWhatMayNotBeGivenAway: who may write a file of another user, and cannot make a file of that user, leaves
// it where it is with another content.
func TestReplaceWhatMayNotBeGivenAway(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o775))
	must(t, os.Chown(dir, 3, 65534))
	path := filepath.Join(dir, "old")
	must(t, os.WriteFile(path, []byte("a longer text that was there"), 0o600))
	must(t, os.Chown(path, 3, 65534))
	must(t, os.Chmod(path, 0o664))
	before, err := os.Stat(path)
	must(t, err)
	both(t, func(t *testing.T, files *Files) {
		must(t, asNobody(func() error { return files.Write(path, words("text")) }))
		after, err := os.Stat(path)
		must(t, err)
		if !os.SameFile(before, after) || after.Mode() != before.Mode() || content(path) != "text" {
			t.Errorf("another file %v, mode %v, with %q", !os.SameFile(before, after), after.Mode(), content(path))
		}
		if got := here(t, dir); len(got) != 1 {
			t.Errorf("files %q", got)
		}
	})
}

// asNobody runs f with the ids and rights of nobody, in this thread alone.
func asNobody(f func() error) error {
	done := make(chan error)
	go func() {
		// The thread ends with this goroutine: it has lost its rights for good.
		runtime.LockOSThread()
		for _, call := range []struct{ nr, a, b, c uintptr }{
			{unix.SYS_SETGROUPS, 0, 0, 0},
			{unix.SYS_SETRESGID, 65534, 65534, 65534},
			{unix.SYS_SETRESUID, 65534, 65534, 65534},
		} {
			if _, _, errno := unix.RawSyscall(call.nr, call.a, call.b, call.c); errno != 0 {
				done <- errno
				return
			}
		}
		done <- f()
	}()
	return <-done
}

func TestFailureLeavesWhatWasThere(t *testing.T) {
	both(t, func(t *testing.T, files *Files) {
		dir := t.TempDir()
		old, broken := filepath.Join(dir, "old"), errors.New("broken")
		must(t, os.WriteFile(old, []byte("old"), 0o600))
		for _, path := range []string{old, filepath.Join(dir, "new")} {
			err := files.Write(path,
				func(w io.Writer) error { io.WriteString(w, strings.Repeat("half", 100_000)); return broken })
			if !errors.Is(err, broken) {
				t.Errorf("got %v, want %v", err, broken)
			}
		}
		if got := here(t, dir); !slices.Equal(got, []string{"old"}) || content(old) != "old" {
			t.Errorf("files %q, %q", got, content(old))
		}
	})
}

// TestNothingStandsThereMeanwhile: while a file is written, the folder shows nothing of it, and the old one.
func TestNothingStandsThereMeanwhile(t *testing.T) {
	dir := t.TempDir()
	files := &Files{}
	if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, 0o600); err != nil {
		t.Skipf("no files without a name here: %v", err)
	} else {
		unix.Close(fd)
	}
	must(t, files.Write(filepath.Join(dir, "new"), func(w io.Writer) error {
		io.WriteString(w, strings.Repeat("half", 100_000))
		if got := here(t, dir); len(got) != 0 {
			t.Errorf("files %q while it is written", got)
		}
		return nil
	}))
	if got := here(t, dir); !slices.Equal(got, []string{"new"}) {
		t.Errorf("files %q", got)
	}
}

func TestAbandon(t *testing.T) {
	dir := t.TempDir()
	files := &Files{named: true}
	files.Abandon() // nothing to be removed
	files = &Files{named: true}
	begun, ended := make(chan int), make(chan int)
	go files.Write(filepath.Join(dir, "new"), func(io.Writer) error {
		close(begun)
		<-ended
		return nil
	})
	<-begun
	if got := here(t, dir); len(got) != 1 || !strings.HasPrefix(got[0], ".new.") {
		t.Errorf("files %q while it is written, want one with another name", got)
	}
	files.Abandon()
	close(ended)
	if got := here(t, dir); len(got) != 0 {
		t.Errorf("files %q are left", got)
	}
}

// TestLinks: which links are followed.
func TestLinks(t *testing.T) {
	asRoot(t)
	for _, tt := range []struct {
		name         string
		folder, link int // owners
		mode         os.FileMode
		ok           bool
	}{
		{"our own, in our folder", 0, 0, 0o755, true},
		{"our own, in a sticky folder", 0, 0, 0o777 | os.ModeSticky, true},
		{"somebody's, in our folder", 0, 65534, 0o755, true},
		{"somebody's, in a sticky folder", 0, 65534, 0o777 | os.ModeSticky, false},
		{"somebody's, in a sticky folder of a group", 0, 65534, 0o770 | os.ModeSticky, false},
		{"somebody's, where everybody may write", 0, 65534, 0o777, false},
		{"the folder's owner's, in a sticky folder", 65534, 65534, 0o777 | os.ModeSticky, true},
		{"ours, in a sticky folder of somebody", 65534, 0, 0o777 | os.ModeSticky, true},
	} {
		both(t, func(t *testing.T, files *Files) {
			root := t.TempDir()
			folder, target := filepath.Join(root, "folder"), filepath.Join(root, "target")
			must(t, os.Mkdir(folder, 0o755))
			must(t, os.Mkdir(target, 0o755))
			file := filepath.Join(target, "file")
			must(t, os.WriteFile(file, []byte("precious"), 0o644))
			links := map[string]string{"file": file, "new": filepath.Join(target, "new"), "dir": "../target",
				"device": "/dev/null"}
			for name, to := range links {
				must(t, os.Symlink(to, filepath.Join(folder, name)))
				must(t, os.Lchown(filepath.Join(folder, name), tt.link, tt.link))
			}
			must(t, os.Chown(folder, tt.folder, tt.folder))
			must(t, os.Chmod(folder, tt.mode))
			for _, path := range []string{"file", "new", "dir/other", "device"} {
				path := filepath.Join(folder, path)
				checked, err := files.Check(path), files.Write(path, words("text"))
				if (err == nil) != tt.ok || (checked == nil) != tt.ok {
					t.Errorf("%s: %s: got %v before and %v, want ok %v", tt.name, path, checked, err, tt.ok)
				}
				if !tt.ok && (!errors.Is(err, os.ErrPermission) ||
					!strings.Contains(err.Error(), fmt.Sprint("user ", tt.link))) {
					t.Errorf("%s: %v", tt.name, err)
				}
			}
			want, there := "precious", []string{"file"}
			if tt.ok {
				want, there = "text", []string{"file", "new", "other"}
			}
			if got := here(t, target); content(file) != want || !slices.Equal(got, there) {
				t.Errorf("%s: the target holds %q, its folder %q; want %q, %q", tt.name, content(file), got,
					want, there)
			}
			for name := range links {
				if info, err := os.Lstat(filepath.Join(folder, name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
					t.Errorf("%s: link %s is %v, %v", tt.name, name, info, err)
				}
			}
		})
	}
}

// TestStrangersInSharedFolder: what somebody else put into a sticky folder under the name is no place for ours.
func TestStrangersInSharedFolder(t *testing.T) {
	asRoot(t)
	both(t, func(t *testing.T, files *Files) {
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o777|os.ModeSticky))
		file, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
		must(t, os.WriteFile(file, []byte("theirs"), 0o666))
		must(t, unix.Mkfifo(pipe, 0o666))
		for _, path := range []string{file, pipe} {
			must(t, os.Chown(path, 65534, 65534))
			if err := files.Write(path, words("secret")); !errors.Is(err, os.ErrPermission) {
				t.Errorf("%s: got %v, want that it is not touched", path, err)
			}
		}
		if content(file) != "theirs" {
			t.Errorf("their file holds %q", content(file))
		}
	})
}

// TestCreateNeverFollows: a name that we choose is never one that leads elsewhere.
func TestCreateNeverFollows(t *testing.T) {
	both(t, func(t *testing.T, files *Files) {
		dir := t.TempDir()
		target := filepath.Join(dir, "target")
		must(t, os.WriteFile(target, []byte("precious"), 0o644))
		must(t, os.Symlink("target", filepath.Join(dir, "out.html")))
		must(t, os.Symlink("nowhere", filepath.Join(dir, "out-2.html")))
		must(t, os.WriteFile(filepath.Join(dir, "out-3.html"), nil, 0o644))
		must(t, unix.Mkfifo(filepath.Join(dir, "out-4.html"), 0o666))
		proposed, err := Propose(dir, "out", ".html")
		if want := filepath.Join(dir, "out-5.html"); err != nil || proposed != want {
			t.Errorf("proposed %q, %v, want %q", proposed, err, want)
		}
		// Somebody takes the name while the content is written.
		path, err := files.Create(dir, "out", ".html", func(w io.Writer) error {
			must(t, os.Symlink("target", proposed))
			_, err := io.WriteString(w, "text")
			return err
		})
		if want := filepath.Join(dir, "out-6.html"); err != nil || path != want || content(path) != "text" {
			t.Errorf("got %q, %v with %q, want %q", path, err, content(path), want)
		}
		if content(target) != "precious" || len(here(t, dir)) != 7 {
			t.Errorf("the target holds %q, files %q", content(target), here(t, dir))
		}
	})
}

// TestTakenMeanwhile: a link that is laid while we write is replaced, and never followed.
func TestTakenMeanwhile(t *testing.T) {
	both(t, func(t *testing.T, files *Files) {
		dir := t.TempDir()
		target := filepath.Join(dir, "target")
		must(t, os.WriteFile(target, []byte("precious"), 0o644))
		old, first := filepath.Join(dir, "old"), filepath.Join(dir, "new")
		must(t, os.WriteFile(old, []byte("old"), 0o644))
		must(t, files.Write(old, func(w io.Writer) error {
			must(t, os.Remove(old))
			return os.Symlink("target", old)
		}))
		if err := files.Write(first, func(w io.Writer) error { return os.Symlink("target", first) }); err == nil {
			t.Error("a link that came meanwhile was written to")
		}
		other := filepath.Join(dir, "other")
		must(t, files.Write(other, func(w io.Writer) error {
			must(t, os.WriteFile(other, []byte("in between"), 0o604))
			_, err := io.WriteString(w, "text")
			return err
		}))
		if info, err := os.Stat(other); err != nil || info.Mode() != 0o604 || content(other) != "text" {
			t.Errorf("a file that came meanwhile: %v, %v, %q", info, err, content(other))
		}
		if content(target) != "precious" {
			t.Errorf("the target holds %q", content(target))
		}
	})
}

// TestOddPaths: what a path may be.
func TestOddPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.MkdirAll("a/b", 0o755))
	must(t, os.Symlink("loop", "loop"))
	must(t, os.Symlink("a/b/", "to-folder"))
	must(t, os.Symlink("../file", "a/to-file"))
	long := strings.Repeat("n", 255)
	for _, tt := range []struct {
		path string
		want error
	}{
		{"file", nil}, {"./a//b/../new", nil}, {long, nil}, {long + "n", syscall.ENAMETOOLONG}, {"a/to-file", nil},
		{"to-folder/new", nil}, {"/proc/self/cwd/new", nil}, {"/dev/null", nil},
		{"", syscall.ENOENT}, {"/", syscall.EISDIR}, {".", syscall.EISDIR}, {"..", syscall.EISDIR},
		{"a", syscall.EISDIR}, {"a/", syscall.EISDIR},
		{"to-folder", syscall.EISDIR}, {"none/", syscall.ENOENT}, {"none/new", syscall.ENOENT},
		{"file/new", syscall.ENOTDIR},
		{"loop", syscall.ELOOP}, {"a\x00b", syscall.EINVAL},
	} {
		for _, f := range []func(*Files) error{
			func(files *Files) error { return files.Check(tt.path) },
			func(files *Files) error { return files.Write(tt.path, words("text")) },
		} {
			for _, named := range []bool{false, true} {
				if err := f(&Files{named: named}); !errors.Is(err, tt.want) {
					t.Errorf("%q: got %v, want %v", tt.path, err, tt.want)
				}
			}
		}
		if tt.want == nil && tt.path != "/dev/null" && content(tt.path) != "text" {
			t.Errorf("%q holds %q", tt.path, content(tt.path))
		}
	}
}

// TestPipe: what is no file is written to.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, unix.Mkfifo(path, 0o600))
	got := make(chan string)
	go func() { got <- content(path) }()
	must(t, (&Files{}).Write(path, words("text")))
	if text := <-got; text != "text" {
		t.Errorf("the reader got %q", text)
	}
	r, w, err := os.Pipe()
	must(t, err)
	must(t, (&Files{}).Write(fmt.Sprintf("/dev/fd/%d", w.Fd()), words("text")))
	w.Close()
	if b, _ := io.ReadAll(r); string(b) != "text" {
		t.Errorf("through its number: %q", b)
	}
	if err := (&Files{}).Write("/dev/fd/987", words("text")); !errors.Is(err, syscall.EBADF) {
		t.Errorf("a number that is not open: %v", err)
	}
	if err := (&Files{}).Write("/dev/full", words("text")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("/dev/full: %v", err)
	}
}

// TestAppendedTo: an open file of ours goes on at its position.
func TestAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	must(t, err)
	defer f.Close()
	must(t, words("before,")(f))
	must(t, (&Files{}).Write(fmt.Sprintf("/dev/fd/%d", f.Fd()), words("text")))
	must(t, words(",behind")(f))
	if got := content(path); got != "before,text,behind" {
		t.Errorf("got %q", got)
	}
}

// TestCreateLarge: a file with holes, of a name that nobody had, or nothing.
func TestCreateLarge(t *testing.T) {
	withUmask(t, 0)
	both(t, func(t *testing.T, files *Files) {
		files.Private = true
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "a.core"), []byte("old"), 0o600))
		d, err := OpenDir(dir)
		must(t, err)
		defer d.Close()
		path, err := files.CreateLarge(d, "a", ".core", func(f File) error {
			_, err := f.WriteAt([]byte("far"), 1<<30)
			return errors.Join(err, f.Truncate(2<<30))
		})
		must(t, err)
		var st unix.Stat_t
		must(t, unix.Stat(path, &st))
		if filepath.Base(path) != "a-2.core" || st.Size != 2<<30 || st.Blocks*512 > 1<<20 || st.Mode&0o777 != 0o600 {
			t.Errorf("%s: %d bytes in %d blocks, mode %o", path, st.Size, st.Blocks, st.Mode)
		}
		broken := errors.New("broken")
		_, err = files.CreateLarge(d, "b", ".core", func(f File) error {
			f.WriteAt([]byte("half"), 0)
			return broken
		})
		if got := here(t, dir); !errors.Is(err, broken) || len(got) != 2 {
			t.Errorf("%v, files %q", err, got)
		}
	})
}

// TestRoom: what may be written is less than what is free, and not much less.
func TestRoom(t *testing.T) {
	dir := t.TempDir()
	room, err := Room(dir)
	must(t, err)
	var st unix.Statfs_t
	must(t, unix.Statfs(dir, &st))
	free := int64(st.Bavail) * int64(st.Bsize)
	if least := free - 3<<29; room >= free || room < least { // others write meanwhile
		t.Errorf("%d bytes may be written, %d are free", room, free)
	}
	if _, err := Room(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there has room")
	}
}
