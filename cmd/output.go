package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// writeOutput lets write fill the file at path, whole or not at all: a temporary file beside
// it takes its place when all is written. The path "" or "-" is stdout. A device or a pipe is
// written to as it is.
func (a *app) writeOutput(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		w := bufio.NewWriterSize(a.stdout, 64<<10)
		err := write(w)
		if flushErr := w.Flush(); flushErr != nil {
			return fmt.Errorf("write standard output: %w", flushErr)
		}
		return err
	}
	if isSpecial(path) {
		return writeSpecial(path, write)
	}
	return a.replaceFile(path, write)
}

// isSpecial tells whether path is there and neither a file nor a folder: putting a file into
// its place would break /dev/null for everyone.
func isSpecial(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

func writeSpecial(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open output: %w", err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 64<<10)
	writeErr := write(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return writeErr
}

func (a *app) replaceFile(path string, write func(io.Writer) error) (err error) {
	path = behindLink(path)
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	a.unfinished.set(f.Name())
	defer func() {
		f.Close()
		if err != nil && err != errPart {
			a.unfinished.remove()
		}
		a.unfinished.set("")
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	writeErr := write(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if writeErr != nil && writeErr != errPart {
		return writeErr
	}
	if err := settle(f); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return writeErr
}

// createBeside creates a temporary file in the folder of path.
func createBeside(path string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		// The cause alone: the temporary file's name says nothing to anyone.
		var at *os.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("create output %q: %w", path, err)
	}
	return f, nil
}

// settle brings f to the disk, so that what does not fit is known before the old file is
// gone, and closes it.
func settle(f *os.File) error {
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // EINVAL: the file system has no such thing
		return err
	}
	return f.Close()
}

// behindLink gives the file that path leads to, so that a link stays one.
func behindLink(path string) string {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	return path
}

// checkWritable tells now what would keep [app.writeOutput] from writing path later.
func checkWritable(path string) error {
	if path == "" || path == "-" || isSpecial(path) {
		return nil
	}
	path = behindLink(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("create output %q: %w", path, syscall.EISDIR)
	}
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// unfinished is the temporary file that is being written, known to who ends the program
// meanwhile. Any goroutine may call its methods.
type unfinished struct {
	mu   sync.Mutex
	path string // "" if there is none
}

func (u *unfinished) set(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.path = path
}

// remove removes the file.
func (u *unfinished) remove() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.path != "" {
		os.Remove(u.path)
	}
}
