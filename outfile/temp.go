//go:build linux

package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// temp is a file that is being written. It has no name where the file system has such files.
type temp struct {
	dir  int // the folder it is to be in, the place's
	file *os.File
	name string // in dir, "" for none
	soon bool   // it need not be at the disk
}

// errTaken says that a name is taken.
var errTaken = fmt.Errorf("create: %w", unix.EEXIST)

// openTemp creates a file in folder dir, whose name will be name. mode is what the umask is applied to. With
// named it has a name from the beginning.
func openTemp(dir int, name string, mode uint32, named bool) (*temp, error) {
	if !named {
		fd, err := openAt(dir, ".", unix.O_TMPFILE|unix.O_RDWR, mode)
		switch {
		case err == nil && linkable(fd):
			return &temp{dir: dir, file: os.NewFile(uintptr(fd), name)}, nil
		case err == nil:
			unix.Close(fd)
		case !lacksTmpfile(err):
			return nil, err
		}
	}
	for {
		own := tempName(name)
		fd, err := openAt(dir, own, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_RDWR, mode)
		if err == nil {
			return &temp{dir: dir, file: os.NewFile(uintptr(fd), name), name: own}, nil
		}
		if !errors.Is(err, unix.EEXIST) {
			return nil, err
		}
	}
}

// lacksTmpfile reports whether err says that there are no files without a name here: EISDIR of kernels before
// 3.11, EOPNOTSUPP of file systems, EINVAL of some.
func lacksTmpfile(err error) bool {
	return errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) ||
		errors.Is(err, unix.ENOENT)
}

// linkable reports whether a file without a name can be given one, which needs /proc.
func linkable(fd int) bool {
	return unix.Faccessat(unix.AT_FDCWD, throughProc(fd), unix.F_OK, 0) == nil
}

func throughProc(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// tempName is a name that nobody can foresee, in order beside name.
func tempName(name string) string {
	const most = 200 // of the 255 bytes that a name may have
	return "." + name[:min(len(name), most)] + "." + strconv.FormatUint(rand.Uint64(), 36)
}

// fill lets write write the content of what is to be at path.
func (t *temp) fill(path string, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(t.file, 64<<10)
	if err := write(w); err != nil {
		// What could not be written is reported rather than what came of it.
		if flushErr := w.Flush(); flushErr != nil {
			return fmt.Errorf("write output %q: %w", path, cause(flushErr))
		}
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output %q: %w", path, cause(err))
	}
	return nil
}

// sync brings the file to the disk, unless it may come there later, so that what does not fit is known before an old
// file is gone.
func (t *temp) sync() error {
	if t.soon {
		return nil
	}
	err := t.file.Sync()
	if errors.Is(err, unix.EINVAL) { // the file system has no such thing
		return nil
	}
	return cause(err)
}

// adopt gives the file owner, group and permissions of old. It fails with EPERM where that is not in our power.
func (t *temp) adopt(old *unix.Stat_t) error {
	fd := int(t.file.Fd())
	var own unix.Stat_t
	if err := unix.Fstat(fd, &own); err != nil {
		return err
	}
	if own.Uid != old.Uid || own.Gid != old.Gid {
		if err := unix.Fchown(fd, int(old.Uid), int(old.Gid)); err != nil {
			return err
		}
	}
	// Bits that give rights to who executes the file are not for another content.
	return unix.Fchmod(fd, old.Mode&0o777)
}

// create gives the file the name, unless that is taken: then it fails with errTaken, and may be tried again.
func (t *temp) create(name string) error {
	var err error
	if t.name == "" {
		err = unix.Linkat(unix.AT_FDCWD, throughProc(int(t.file.Fd())), t.dir, name, unix.AT_SYMLINK_FOLLOW)
	} else if err = unix.Renameat2(t.dir, t.name, t.dir, name, unix.RENAME_NOREPLACE); errors.Is(err, unix.EINVAL) ||
		errors.Is(err, unix.ENOSYS) {
		// A file system, or a kernel before 3.15, that cannot do it in one step.
		if err = unix.Linkat(t.dir, t.name, t.dir, name, 0); err == nil {
			err = unix.Unlinkat(t.dir, t.name, 0)
		}
	}
	if errors.Is(err, unix.EEXIST) {
		return errTaken
	}
	if err == nil {
		t.name = ""
	}
	return err
}

// replace puts the file into the place of what has the name.
func (t *temp) replace(name string) error {
	if t.name == "" {
		own := tempName(name)
		if err := t.create(own); err != nil {
			return err
		}
		t.name = own
	}
	if err := unix.Renameat(t.dir, t.name, t.dir, name); err != nil {
		return err
	}
	t.name = ""
	return nil
}

// overwrite copies the content into the file p, which stays what it is. It is for a file that is not ours to be given
// away: a failure in the middle leaves it broken.
func (t *temp) overwrite(p *place) error {
	fd, err := openAt(p.dir, p.name, unix.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(fd), p.name)
	defer to.Close()
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return err
	}
	if now.Dev != p.stat.Dev || now.Ino != p.stat.Ino {
		return errTaken
	}
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return cause(err)
	}
	n, err := io.Copy(to, t.file)
	if err == nil {
		err = to.Truncate(n)
	}
	if err == nil {
		err = to.Sync()
	}
	return cause(err)
}

// remove takes away the name of what is half-written, if it has one.
func (t *temp) remove() {
	if t.name != "" {
		unix.Unlinkat(t.dir, t.name, 0)
		t.name = ""
	}
}

// cause is err without the name of a file that the user does not know.
func cause(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
