//go:build linux

package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dir is a folder, held open, for files and folders whose names the program chooses. Such a name leads nowhere: a
// link that somebody put there is not followed, and neither is one that takes the place of the folder itself. Its
// methods may be called by any goroutine.
type Dir struct {
	fd   int
	path string
}

// OpenDir opens the folder at path, which the user named, and makes it and those above it that are not there. Links
// on the way are followed as [Files.Write] does.
func OpenDir(path string) (*Dir, error) {
	p, err := locate(filepath.Clean(path) + "/.fpstack") // its folder is wanted
	if err == nil {
		return &Dir{p.dir, path}, nil
	}
	above := filepath.Dir(filepath.Clean(path))
	if !errors.Is(err, unix.ENOENT) || above == filepath.Clean(path) {
		return nil, err
	}
	up, err := OpenDir(above)
	if err != nil {
		return nil, err
	}
	defer up.Close()
	return up.enter(filepath.Base(path), path)
}

// Path is the folder's, as it was when it was opened.
func (d *Dir) Path() string { return d.path }

// Close closes it; those that were made in it stay open.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// Make makes a folder in it. It fails with fs.ErrExist where something has the name, a link too.
func (d *Dir) Make(name string) (*Dir, error) { return d.enter(name, filepath.Join(d.path, name)) }

// enter makes a folder, and opens it if it is still the one that was made.
func (d *Dir) enter(name, path string) (*Dir, error) {
	if err := unix.Mkdirat(d.fd, name, 0o777); err != nil {
		return nil, &fs.PathError{Op: "make folder", Path: path, Err: err}
	}
	fd, err := openAt(d.fd, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err == nil {
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && st.Uid != uint32(unix.Geteuid()) {
			err = fmt.Errorf("somebody else replaced it: %w", fs.ErrPermission)
		}
		if err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open folder", Path: path, Err: err}
	}
	return &Dir{fd, path}, nil
}

// Has reports whether something in it has that name, a link too.
func (d *Dir) Has(name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// WriteIn lets write fill the file of that name in d, a new one in the place of what has the name. Nothing is there of
// it before all is.
func (f *Files) WriteIn(d *Dir, name string, write func(io.Writer) error) error {
	path := filepath.Join(d.path, name)
	p := &place{dir: d.fd, name: name}
	t, err := f.begin(p)
	if err != nil {
		return fmt.Errorf("create output %q: %w", path, err)
	}
	defer f.end(t)
	if err := t.fill(path, write); err != nil {
		return err
	}
	err = f.install(t, p)
	if errors.Is(err, errTaken) {
		f.mu.Lock()
		err = t.replace(name)
		f.mu.Unlock()
	}
	if err != nil {
		return fmt.Errorf("write output %q: %w", path, err)
	}
	return nil
}
