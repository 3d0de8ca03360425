//go:build linux

package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Files writes files. Its zero value is ready; any goroutine may call its methods.
type Files struct {
	// Private says that nobody but their owner may read the files: one that was there loses the rights of others, and
	// one that cannot is not written to.
	Private bool

	mu      sync.Mutex
	current *temp // being written
	named   bool  // tests: as where every file has a name
}

// Write lets write fill the file at path, which is replaced as a whole when all is written. A device, a pipe
// or a socket is written to as it is.
//
// It fails with what write fails with, and then leaves what was there; or with an error that names path.
func (f *Files) Write(path string, write func(io.Writer) error) error {
	if fd, ok := ownFile(path); ok {
		return writeOwn(path, fd, write)
	}
	p, err := locate(path)
	if err != nil {
		return fmt.Errorf("create output %q: %w", path, err)
	}
	defer p.close()
	if !p.regular() {
		return p.writeTo(path, write)
	}
	t, err := f.begin(p)
	if err != nil {
		return fmt.Errorf("create output %q: %w", path, err)
	}
	defer f.end(t)
	if err := t.fill(path, write); err != nil {
		return err
	}
	err = f.install(t, p)
	for try := 0; errors.Is(err, errTaken) && try < maxTries; try++ {
		if err = p.again(); err == nil {
			err = f.install(t, p)
		}
	}
	if err != nil {
		return fmt.Errorf("write output %q: %w", path, err)
	}
	return nil
}

// maxTries bounds how often somebody else may put another file into the place that we write to.
const maxTries = 8

// begin opens the file to be written for p. Nobody may read what is to have permissions of another file before it has
// them.
func (f *Files) begin(p *place) (*temp, error) {
	mode := uint32(0o666)
	if p.exists || f.Private {
		mode = 0o600
	}
	t, err := openTemp(p.dir, p.name, mode, f.named)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.current = t
	}
	return t, err
}

// end closes what begin opened.
func (f *Files) end(t *temp) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current = nil
	t.remove()
	t.file.Close()
}

// Abandon removes what is half-written. It is for who ends the program: nothing may be written afterwards.
func (f *Files) Abandon() {
	f.mu.Lock() // for good
	if f.current != nil {
		f.current.remove()
	}
}

// install puts t to its place, at the disk.
func (f *Files) install(t *temp, p *place) error {
	if err := t.sync(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !p.exists {
		return t.create(p.name)
	}
	if f.Private {
		p.stat.Mode &^= 0o077
	}
	switch err := t.adopt(&p.stat); {
	// EINVAL: the owner has no number in our user namespace
	case f.Private && err != nil:
		return err
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		return t.overwrite(p)
	case err != nil:
		return err
	}
	return t.replace(p.name)
}

// maxNames bounds how many names are tried.
const maxNames = 10000

// name is the path of a new file: in folder dir, stem and ending with a number between from the second on.
func name(dir, stem, ending string, n int) string {
	if n > 1 {
		ending = "-" + strconv.Itoa(n) + ending
	}
	return filepath.Join(dir, stem+ending)
}

// Propose gives the path that [Files.Create] is likely to choose.
func Propose(dir, stem, ending string) (string, error) {
	for n := 1; n <= maxNames; n++ {
		path := name(dir, stem, ending, n)
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		}
	}
	return "", fmt.Errorf("create output: %d files are named %s-N%s", maxNames, stem, ending)
}

// Create lets write fill a new file in folder dir: stem and ending, with a number between where that name is
// taken, by a file, a link or whatever. It returns the path.
func (f *Files) Create(dir, stem, ending string, write func(io.Writer) error) (path string, err error) {
	return f.create(dir, stem, ending, func(t *temp, path string) error { return t.fill(path, write) })
}

// File is a new file that is written at any place; what is left out is a hole.
type File interface {
	io.WriterAt
	Truncate(size int64) error
}

// CreateLarge is Create in a folder that is open, for what may be too large for memory. It does not wait for the disk.
func (f *Files) CreateLarge(d *Dir, stem, ending string, write func(File) error) (path string, err error) {
	return f.createIn(d, stem, ending, func(t *temp, path string) error {
		t.soon = true
		return write(t.file)
	})
}

// create lets fill fill a new file.
func (f *Files) create(dir, stem, ending string, fill func(t *temp, path string) error) (path string, err error) {
	fd, err := openAt(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", fmt.Errorf("create output %q: %w", name(dir, stem, ending, 1), err)
	}
	d := &Dir{fd, dir}
	defer d.Close()
	return f.createIn(d, stem, ending, fill)
}

// createIn is create in a folder that is open.
func (f *Files) createIn(d *Dir, stem, ending string, fill func(t *temp, path string) error) (path string, err error) {
	path = name(d.path, stem, ending, 1)
	p := &place{dir: d.fd, name: filepath.Base(path)}
	t, err := f.begin(p)
	if err != nil {
		return "", fmt.Errorf("create output %q: %w", path, err)
	}
	defer f.end(t)
	if err := fill(t, path); err != nil {
		return "", err
	}
	err = errTaken
	for n := 1; n <= maxNames && errors.Is(err, errTaken); n++ {
		path = name(d.path, stem, ending, n)
		p.name = filepath.Base(path)
		err = f.install(t, p)
	}
	if err != nil {
		return "", fmt.Errorf("write output %q: %w", path, err)
	}
	return path, nil
}

// Check reports now what would keep [Files.Write] from writing path later.
func (f *Files) Check(path string) error {
	err := f.check(path)
	if err != nil {
		return fmt.Errorf("create output %q: %w", path, err)
	}
	return nil
}

func (f *Files) check(path string) error {
	if fd, ok := ownFile(path); ok {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err
	}
	p, err := locate(path)
	if err != nil {
		return err
	}
	defer p.close()
	if !p.regular() {
		return nil
	}
	t, err := f.begin(p)
	if err != nil {
		return err
	}
	f.end(t)
	return nil
}

// ownFile reports whether path names one of our own open files, and which.
func ownFile(path string) (fd int, ok bool) {
	switch path {
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if n, found := strings.CutPrefix(path, dir); found {
			fd, err := strconv.Atoi(n)
			return fd, err == nil && fd >= 0
		}
	}
	return 0, false
}

// writeOwn writes to an open file of ours at its position: opened again, what a shell appends to would be overwritten.
func writeOwn(path string, fd int, write func(io.Writer) error) error {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open output %q: %w", path, err)
	}
	return stream(path, os.NewFile(uintptr(own), path), write)
}

// writeTo writes to what is there and is no file.
func (p *place) writeTo(path string, write func(io.Writer) error) error {
	flags := unix.O_WRONLY | unix.O_NOCTTY | unix.O_TRUNC
	if !p.magic {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := openAt(p.dir, p.name, flags, 0)
	if err != nil {
		return fmt.Errorf("open output %q: %w", path, err)
	}
	to := os.NewFile(uintptr(fd), path)
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Dev != p.stat.Dev || now.Ino != p.stat.Ino {
		to.Close()
		return fmt.Errorf("open output %q: it was replaced meanwhile", path)
	}
	return stream(path, to, write)
}

// stream lets write write to a file as it is, and closes that.
func stream(path string, to *os.File, write func(io.Writer) error) error {
	defer to.Close()
	w := bufio.NewWriterSize(to, 64<<10)
	writeErr := write(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output %q: %w", path, cause(err))
	}
	if err := to.Close(); err != nil {
		return fmt.Errorf("write output %q: %w", path, cause(err))
	}
	return writeErr
}
