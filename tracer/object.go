//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"golang.org/x/sys/unix"
)

// ErrReplaced says that another file is now where the mapped one was, and that the
// mapped one cannot be reached.
var ErrReplaced = errors.New("file was replaced")

// maxObject bounds the size of a mapped object.
const maxObject = min(64<<30, int64(^uint(0)>>2))

// OpenMapping maps the file behind m, whole and read-only, as the process sees it: a file
// in its container, one that was deleted, a memfd. path is as the process sees it. data is
// valid until the returned function is called; the file may become shorter meanwhile.
//
// It opens regular files only, never follows a link out of the root of the process, and
// fails with ErrReplaced if only another file is at the path. Devices may differ from
// those of the mapping (overlayfs, btrfs), the inode may not.
func (p *Process) OpenMapping(m *maps.Mapping) (data []byte, path string, release func() error, err error) {
	nothing := func() error { return nil }
	if !m.IsFile() {
		return nil, m.Path, nothing, fmt.Errorf("open mapping %#x: no file", uint64(m.Start))
	}
	fd, err := p.findObject(m)
	if err != nil {
		return nil, m.Path, nothing, fmt.Errorf("open %q: %w", m.Path, err)
	}
	defer unix.Close(fd)
	path = p.inView(m.Path)
	data, err = mapFile(fd)
	if err != nil {
		return nil, path, nothing, fmt.Errorf("map %q: %w", path, err)
	}
	return data, path, func() error { return unix.Munmap(data) }, nil
}

// findObject opens the file behind m for its path alone (O_PATH), which has no effect on
// whatever it may be. The ways that reach the very file come first.
func (p *Process) findObject(m *maps.Mapping) (int, error) {
	task := "task/" + strconv.Itoa(p.memory.Load().tid)
	link := fmt.Sprintf("map_files/%x-%x", uint64(m.Start), uint64(m.End)) // of the process, not of a thread
	if fd, err := openAt(p.dir, link, unix.O_PATH); err == nil {
		return fd, nil
	}
	if exe, err := readLinkAt(p.dir, task+"/exe"); err == nil && strings.TrimSuffix(exe, " (deleted)") == m.Path {
		if fd, err := openAt(p.dir, task+"/exe", unix.O_PATH); err == nil {
			if same(fd, m) {
				return fd, nil
			}
			unix.Close(fd)
		}
	}
	root, err := openAt(p.dir, task+"/root", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	fd, err := openIn(root, p.inView(m.Path), 0)
	if err == nil && !same(fd, m) {
		unix.Close(fd)
		err = ErrReplaced
	}
	if err != nil {
		if fd, ok := p.descriptorOf(m); ok {
			return fd, nil
		}
		return -1, err
	}
	return fd, nil
}

// descriptorOf opens the file behind m by a descriptor that the process has of it: so one that was deleted is reached
// where map_files may not be read.
func (p *Process) descriptorOf(m *maps.Mapping) (fd int, ok bool) {
	dir, err := openAt(p.dir, "fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return -1, false
	}
	defer unix.Close(dir)
	list := taskDir{fd: dir}
	list.reserve(64)
	numbers, err := list.list(nil)
	if err != nil {
		return -1, false
	}
	for _, n := range numbers[:min(len(numbers), maxDescribed)] {
		name := strconv.Itoa(n)
		link, err := readLinkAt(dir, name)
		if err != nil || strings.TrimSuffix(link, " (deleted)") != m.Path {
			continue
		}
		if fd, err := openAt(dir, name, unix.O_PATH); err == nil {
			if same(fd, m) {
				return fd, true
			}
			unix.Close(fd)
		}
	}
	return -1, false
}

// same reports whether fd is the file of the mapping.
func same(fd int, m *maps.Mapping) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && uint64(st.Ino) == m.Inode
}

// openIn opens path below root as a process would whose root it is: links that lead
// upward end at root. resolve has further RESOLVE_ bits.
func openIn(root int, path string, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | resolve}
	for range 16 { // EAGAIN: something was renamed meanwhile
		fd, err := unix.Openat2(root, path, &how)
		switch {
		case err == nil:
			return fd, nil
		case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
			return openPlain(root, path)
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
			return -1, err
		}
	}
	return -1, unix.EAGAIN
}

// openPlain is openIn for kernels before 5.6. It follows no link at all: the paths that
// the kernel shows for mappings have none.
func openPlain(root int, path string) (int, error) {
	at, err := openAt(root, ".", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." {
			continue
		}
		next, err := unix.Openat(at, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(at)
		if err != nil {
			return -1, err
		}
		if part == ".." {
			unix.Close(next)
			return -1, unix.EXDEV
		}
		at = next
	}
	return at, nil
}

// mapFile maps the regular file that the O_PATH descriptor names.
func mapFile(path int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return nil, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, errors.New("not a regular file")
	case st.Size <= 0:
		return nil, errors.New("file is empty")
	case st.Size > maxObject:
		return nil, fmt.Errorf("file has %d bytes, more than %d", st.Size, maxObject)
	}
	fd, err := reopen(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_PRIVATE)
}

// reopen opens the regular file that the O_PATH descriptor names, to be read.
func reopen(path int) (int, error) {
	return openAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(path), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
}
