//go:build linux

package outfile

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder is a folder of ours: what is in it is nobody else's doing.
type Folder struct {
	*os.Root
	fd int // the same folder, which Lock locks
}

// errInUse says that another process has locked a folder.
var errInUse = errors.New("another process uses it")

// OpenFolder opens a folder, which is made with mode 0700 if it is not there; the one above it must be. Links on the
// way are followed as [Files.Write] does. It fails where somebody else owns the folder or may write to it.
func OpenFolder(path string) (*Folder, error) {
	f, err := openFolder(path)
	if errors.Is(err, unix.ENOENT) {
		if err = makeFolder(path); err == nil {
			f, err = openFolder(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open folder %q: %w", path, err)
	}
	return f, nil
}

func makeFolder(path string) error {
	p, err := locate(strings.TrimRight(path, "/"))
	if err != nil {
		return err
	}
	defer p.close()
	if err := unix.Mkdirat(p.dir, p.name, 0o700); !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

func openFolder(path string) (*Folder, error) {
	p, err := locate(path + "/.fpstack") // its folder is wanted
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.open()
}

// open opens the folder of p, if it is ours.
func (p *place) open() (*Folder, error) {
	var st unix.Stat_t
	if err := unix.Fstat(p.dir, &st); err != nil {
		return nil, err
	}
	switch own := uint32(unix.Geteuid()); {
	case st.Uid != own && st.Uid != 0:
		return nil, fmt.Errorf("it belongs to user %d: %w", st.Uid, os.ErrPermission)
	case st.Mode&(unix.S_IWGRP|unix.S_IWOTH) != 0:
		return nil, fmt.Errorf("others may write to it (mode %04o); chmod go-w it: %w", st.Mode&0o7777,
			os.ErrPermission)
	}
	fd, err := openAt(p.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(throughProc(fd))
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Folder{root, fd}, nil
}

// Lock makes f this process's own until it is closed; another one's Lock fails. Source: flock(2).
func (f *Folder) Lock() error {
	err := unix.Flock(f.fd, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errInUse
	}
	return err
}

// Close closes f.
func (f *Folder) Close() error {
	unix.Close(f.fd)
	return f.Root.Close()
}
