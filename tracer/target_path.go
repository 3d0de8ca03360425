//go:build linux

package tracer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// OpenPath is the content of the regular file that is at path in the view of the process, whole and
// read-only. data is valid until release is called; the file may become shorter meanwhile. No
// link leads out of the root of the process. After Close it fails with ErrNoProcess, and with [errand.ErrNoAnswer] as
// [Process.OpenMapping] does.
func (p *Process) OpenPath(path string) (data []byte, release func() error, err error) {
	f, err := p.openPath(path)
	return f.data, f.release, err
}

func (p *Process) openPath(path string) (fileBytes, error) {
	f, err := p.content(p.errands.Paths(), func(v *Process) (int, error) { return v.findPath(path) })
	if err != nil {
		return f, fmt.Errorf("open %q: %w", path, err)
	}
	return f, nil
}

// findPath opens the file at path in the view of the process for its path alone (O_PATH).
func (p *Process) findPath(path string) (int, error) {
	root, err := p.openRoot()
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	return openIn(root, path, 0)
}

// openRoot opens the root of the process for its path alone (O_PATH). The caller closes it.
func (p *Process) openRoot() (int, error) {
	m := p.memory.Load()
	if m == nil {
		return -1, fmt.Errorf("open root of process %d: %w", p.pid, ErrNoProcess)
	}
	root, err := procfile.Open(p.dir, "task/"+strconv.Itoa(m.tid)+"/root", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, fmt.Errorf("open root of process %d: %w", p.pid, p.gone(err))
	}
	return root, nil
}

// inView is the path by which the process itself reaches a file that /proc shows to us at path:
// in a mere chroot the kernel shows the path outside of it. Source: d_path in linux/fs/d_path.c,
// which is given the reader's root.
func (p *Process) inView(path string) string {
	m := p.memory.Load()
	if m == nil {
		return path
	}
	root, err := procfile.Link(p.dir, "task/"+strconv.Itoa(m.tid)+"/root")
	if err != nil || root == "/" {
		return path
	}
	if inner, ok := strings.CutPrefix(path, root+"/"); ok {
		return "/" + inner
	}
	return path
}

// ModTime is when the file at path in the view of the process was changed last. It fails as [Process.OpenPath] does.
func (p *Process) ModTime(path string) (time.Time, error) {
	return ask(&p.errands, p.errands.Paths(), func(func()) (time.Time, error) {
		v, err := p.aside()
		if err != nil {
			return time.Time{}, err
		}
		defer unix.Close(v.dir)
		fd, err := v.findPath(path)
		if err != nil {
			return time.Time{}, fmt.Errorf("open %q: %w", path, err)
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return time.Time{}, fmt.Errorf("stat %q: %w", path, err)
		}
		return time.Unix(st.Mtim.Unix()), nil
	}, nil)
}

// own are calls to file systems in our own view.
var own errand.Owner

// OpenFile is the content of the regular file at path in our own view, like [Process.OpenPath].
func OpenFile(path string) (data []byte, release func() error, err error) {
	return openOwn(path, func() (int, error) { return procfile.Open(unix.AT_FDCWD, path, unix.O_PATH) })
}

// OpenBelow is that of the regular file at path as a process would find it whose root is dir, like [OpenFile]: no link
// leads out of dir.
func OpenBelow(dir, path string) (data []byte, release func() error, err error) {
	return openOwn(path, func() (int, error) {
		root, err := procfile.Open(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return -1, err
		}
		defer unix.Close(root)
		return openIn(root, path, 0)
	})
}

func openOwn(path string, find func() (int, error)) (data []byte, release func() error, err error) {
	f, err := ask(&own, own.Paths(), func(alive func()) (fileBytes, error) {
		fd, err := find()
		if err != nil {
			return fileBytes{}, err
		}
		defer unix.Close(fd)
		return readWhole(fd, alive)
	}, fileBytes.drop)
	if err != nil {
		return nil, nil, fmt.Errorf("open %q: %w", path, err)
	}
	return f.data, f.release, nil
}
