//go:build linux

package outfile

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// place is where a path leads: a name in an open folder. Who changes the path afterwards changes nothing of it.
type place struct {
	dir    int    // the folder, open
	name   string // in dir: no slash, neither "." nor ".."
	exists bool
	stat   unix.Stat_t // of what is there, valid if exists
	magic  bool        // dir/name is a link that the kernel alone can follow, to what stat shows
}

func (p *place) close() { unix.Close(p.dir) }

// regular reports whether a file can be put there: nothing is there, or a file is.
func (p *place) regular() bool {
	return !p.exists || !p.magic && p.stat.Mode&unix.S_IFMT == unix.S_IFREG
}

// foreignError says that something of somebody else lies in a folder where others may write.
type foreignError struct {
	what string
	uid  uint32
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s of user %d lies in a folder where others may write too; it is not touched", e.what, e.uid)
}

// Is makes a foreignError one of permission.
func (e *foreignError) Is(target error) bool { return target == os.ErrPermission }

// maxLinks bounds how many links are followed. Source: MAXSYMLINKS in linux/include/linux/namei.h.
const maxLinks = 40

// walker goes along a path, part by part, with the rule of [place] for every link.
type walker struct {
	dir   int
	rest  []string
	links int
}

// locate finds the place that path leads to. The caller closes it. The last part of path need not be there.
func locate(path string) (*place, error) {
	if path == "" {
		return nil, unix.ENOENT
	}
	w := &walker{dir: -1}
	if err := w.turn(path); err != nil {
		return nil, err
	}
	for {
		p, err := w.step()
		if p != nil && err == nil {
			return p, nil
		}
		if err != nil {
			unix.Close(w.dir)
			return nil, err
		}
	}
}

// turn puts path in front of what is left: from the root if it is absolute, else from the folder that was reached.
func (w *walker) turn(path string) error {
	if strings.HasPrefix(path, "/") || w.dir < 0 {
		start := "."
		if path[0] == '/' {
			start = "/"
		}
		fd, err := openAt(unix.AT_FDCWD, start, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		if w.dir >= 0 {
			unix.Close(w.dir)
		}
		w.dir = fd
	}
	parts := strings.Split(path, "/")
	var named []string
	for i, part := range parts {
		switch {
		case part == "" && i == len(parts)-1: // "x/" is a folder
			named = append(named, ".")
		case part != "":
			named = append(named, part)
		}
	}
	w.rest = append(named, w.rest...)
	return nil
}

// step goes one part on. At the last one it returns the place, which takes over the folder.
func (w *walker) step() (*place, error) {
	part, last := w.rest[0], len(w.rest) == 1
	w.rest = w.rest[1:]
	if part == "." || part == ".." {
		if last {
			return nil, unix.EISDIR
		}
		return nil, w.enter(part, 0)
	}
	fd, err := openAt(w.dir, part, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if last && errors.Is(err, unix.ENOENT) {
		return &place{dir: w.dir, name: part}, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	p := &place{dir: w.dir, name: part, exists: true}
	if err := unix.Fstat(fd, &p.stat); err != nil {
		return nil, err
	}
	if p.stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return w.follow(fd, p, last)
	}
	if !last {
		return nil, w.enter(part, unix.O_NOFOLLOW)
	}
	if p.stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil, unix.EISDIR
	}
	return p, p.allowed(&p.stat, "what is there")
}

// enter makes a folder in the one that was reached the next one.
func (w *walker) enter(part string, flags int) error {
	fd, err := openAt(w.dir, part, unix.O_PATH|unix.O_DIRECTORY|flags, 0)
	if err != nil {
		return err
	}
	unix.Close(w.dir)
	w.dir = fd
	return nil
}

// follow goes where the link lp leads, which fd holds open. Links of /proc say in words what words do not reach:
// the kernel follows them.
func (w *walker) follow(fd int, lp *place, last bool) (*place, error) {
	if w.links++; w.links > maxLinks {
		return nil, unix.ELOOP
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(w.dir, &fs); err != nil {
		return nil, err
	}
	if fs.Type == unix.PROC_SUPER_MAGIC {
		if !last {
			return nil, w.enter(lp.name, 0)
		}
		lp.magic = true
		return lp, unix.Fstatat(w.dir, lp.name, &lp.stat, 0)
	}
	if err := lp.allowed(&lp.stat, fmt.Sprintf("the link %q", lp.name)); err != nil {
		return nil, err
	}
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", target)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, unix.ENOENT
	}
	return nil, w.turn(string(target[:n]))
}

// again looks once more at what has the name, which was taken or replaced meanwhile.
func (p *place) again() error {
	err := unix.Fstatat(p.dir, p.name, &p.stat, unix.AT_SYMLINK_NOFOLLOW)
	p.exists = err == nil
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return err
	case !p.regular():
		return errors.New("it was replaced meanwhile by what is no file")
	}
	return p.allowed(&p.stat, "what is there")
}

// allowed refuses what neither we nor the owner of the folder put there, where others may put something: everybody,
// or a group in a folder with the sticky bit.
// Source: may_follow_link and may_create_in_sticky in linux/fs/namei.c, which ask this of folders with the sticky bit
// alone, and only where protected_symlinks and its like are set.
func (p *place) allowed(st *unix.Stat_t, what string) error {
	var folder unix.Stat_t
	if err := unix.Fstat(p.dir, &folder); err != nil {
		return err
	}
	shared := folder.Mode&unix.S_IWOTH != 0 || folder.Mode&unix.S_ISVTX != 0 && folder.Mode&unix.S_IWGRP != 0
	if !shared || st.Uid == uint32(unix.Geteuid()) || st.Uid == folder.Uid {
		return nil
	}
	return &foreignError{what, st.Uid}
}

// openAt is openat(2), again where a signal broke it off.
func openAt(dir int, path string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, mode)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
