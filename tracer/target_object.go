//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/procfs/procfile"
	"golang.org/x/sys/unix"
)

// ErrReplaced says that another file is now where the mapped one was, and that the
// mapped one cannot be reached.
var ErrReplaced = errors.New("file was replaced")

// maxObject bounds the size of a mapped object.
const maxObject = min(64<<30, int64(^uint(0)>>2))

// OpenMapping is the content of the file behind m, whole and read-only, as the process sees it: a file
// in its container, one that was deleted, a memfd. path is as the process sees it. data is
// valid until the returned function is called; the file may become shorter meanwhile.
//
// It opens regular files only, never follows a link out of the root of the process, and
// fails with ErrReplaced if only another file is at the path. Devices may differ from
// those of the mapping (overlayfs, btrfs), the inode may not. It fails with [errand.ErrNoAnswer] where
// the file system does not answer, and at once while a call to that one is out.
func (p *Process) OpenMapping(m *maps.Mapping) (data []byte, path string, release func() error, err error) {
	f, path, err := p.openMapping(m)
	if err != nil {
		return nil, path, func() error { return nil }, err
	}
	return f.data, path, f.release, nil
}

func (p *Process) openMapping(m *maps.Mapping) (f fileBytes, path string, err error) {
	if !m.IsFile() {
		return f, m.Path, fmt.Errorf("open mapping %#x: no file", uint64(m.Start))
	}
	path = p.inView(m.Path)
	f, err = p.content(errand.Device(m.Dev), func(v *Process) (int, error) { return v.findObject(m) })
	if err != nil {
		return f, path, fmt.Errorf("open %q: %w", path, err)
	}
	return f, path, nil
}

// fileBytes is the content of a file.
type fileBytes struct {
	data    []byte
	release func() error
	forget  func(part []byte) // see [module.File.Forget]
}

func (c fileBytes) drop() { c.release() }

// content is that of the file that find opens for its path alone (O_PATH), on the file system that find will ask.
func (p *Process) content(of errand.FileSystem, find func(*Process) (int, error)) (fileBytes, error) {
	return ask(&p.errands, of, func(alive func()) (fileBytes, error) {
		v, err := p.aside()
		if err != nil {
			return fileBytes{}, err
		}
		defer unix.Close(v.dir)
		fd, err := find(v)
		if err != nil {
			return fileBytes{}, err
		}
		defer unix.Close(fd)
		return readWhole(fd, alive)
	}, fileBytes.drop)
}

// findObject opens the file behind m for its path alone (O_PATH), which has no effect on
// whatever it may be. The ways that reach the very file come first.
func (p *Process) findObject(m *maps.Mapping) (int, error) {
	task := "task/" + strconv.Itoa(p.memory.Load().tid)
	link := fmt.Sprintf("map_files/%x-%x", uint64(m.Start), uint64(m.End)) // of the process, not of a thread
	if fd, err := procfile.Open(p.dir, link, unix.O_PATH); err == nil {
		return fd, nil
	}
	if exe, err := procfile.Link(p.dir, task+"/exe"); err == nil && strings.TrimSuffix(exe, " (deleted)") == m.Path {
		if fd, err := procfile.Open(p.dir, task+"/exe", unix.O_PATH); err == nil {
			if same(fd, m) {
				return fd, nil
			}
			unix.Close(fd)
		}
	}
	root, err := procfile.Open(p.dir, task+"/root", unix.O_PATH|unix.O_DIRECTORY)
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

// maxOpenFiles bounds the descriptors of a process that are looked through.
const maxOpenFiles = 64 << 10

// descriptorOf opens the file behind m by a descriptor that the process has of it: so one that was deleted is reached
// where map_files may not be read.
func (p *Process) descriptorOf(m *maps.Mapping) (fd int, ok bool) {
	dir, err := procfile.Open(p.dir, "fd", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return -1, false
	}
	defer unix.Close(dir)
	list := procfile.List{FD: dir}
	list.Reserve(64)
	numbers, err := list.IDs(nil)
	if err != nil {
		return -1, false
	}
	for _, n := range numbers[:min(len(numbers), maxOpenFiles)] {
		name := strconv.Itoa(n)
		link, err := procfile.Link(dir, name)
		if err != nil || strings.TrimSuffix(link, " (deleted)") != m.Path {
			continue
		}
		if fd, err := procfile.Open(dir, name, unix.O_PATH); err == nil {
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
	at, err := procfile.Open(root, ".", unix.O_PATH|unix.O_DIRECTORY)
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

// readWhole is the content of the regular file that the O_PATH descriptor names. It is mapped, but for one on a served
// file system: of a page that does not come only the kernel could say so, and this whole program would wait for it.
func readWhole(path int, alive func()) (fileBytes, error) {
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return fileBytes{}, err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fileBytes{}, errors.New("not a regular file")
	case st.Size <= 0:
		return fileBytes{}, errors.New("file is empty")
	case st.Size > maxObject:
		return fileBytes{}, fmt.Errorf("file has %d bytes, more than %d", st.Size, maxObject)
	}
	fd, err := reopen(path)
	if err != nil {
		return fileBytes{}, err
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return fileBytes{}, err
	}
	if isServed(uint32(fs.Type)) {
		return copyServed(fd, st.Size, alive)
	}
	data, err := unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_PRIVATE)
	return fileBytes{data, func() error { return unix.Munmap(data) },
		func(part []byte) { forgetPages(data, part) }}, err
}

// forgetPages unmaps the pages of part, which lies in the mapped file data, until they are read again. What lies
// elsewhere stays: other memory would be lost.
func forgetPages(data, part []byte) {
	if len(data) == 0 || len(part) == 0 {
		return
	}
	from := uintptr(unsafe.Pointer(&part[0])) - uintptr(unsafe.Pointer(&data[0]))
	if from >= uintptr(len(data)) || uintptr(len(part)) > uintptr(len(data))-from {
		return
	}
	begin := from &^ uintptr(os.Getpagesize()-1)
	_ = unix.Madvise(data[begin:from+uintptr(len(part))], unix.MADV_DONTNEED) // what fails leaves them mapped
}

// maxServed bounds the size of an object that is copied.
const maxServed = 512 << 20

// copyServed copies a file of that size, or what it has of it by now.
func copyServed(fd int, size int64, alive func()) (fileBytes, error) {
	if size > maxServed {
		return fileBytes{}, fmt.Errorf("file has %d bytes, more than the %d that are copied from a file system that "+
			"another process or machine answers for", size, maxServed)
	}
	data, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fileBytes{}, err
	}
	c := fileBytes{data: data, release: func() error { return unix.Munmap(data) }}
	for done := 0; done < len(data); alive() {
		const piece = 1 << 20
		n, err := unix.Pread(fd, data[done:min(len(data), done+piece)], int64(done))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			c.release()
			return fileBytes{}, fmt.Errorf("read at %#x: %w", done, err)
		case n == 0:
			return c, nil // the rest is zero, as that of a mapped file would fault
		default:
			done += n
		}
	}
	return c, nil
}

// isServed reports whether another process or machine answers for file systems of that type.
// Source: f_type of statfs(2), linux/include/uapi/linux/magic.h; Lustre's own lustre_idl.h.
func isServed(kind uint32) bool {
	const lustre = 0x0bd00bd0
	switch kind {
	case unix.FUSE_SUPER_MAGIC, unix.NFS_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC,
		unix.SMB2_SUPER_MAGIC, unix.V9FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC,
		unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC, unix.AUTOFS_SUPER_MAGIC, lustre:
		return true
	}
	return false
}

// reopen opens the regular file that the O_PATH descriptor names, to be read.
func reopen(path int) (int, error) {
	own := "/proc/self/fd/" + strconv.Itoa(path)
	return procfile.Open(unix.AT_FDCWD, own, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
}
