package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/fpstack/fpstack/outfile"
)

// plainOutput is standard output for texts about fpstack itself, which are written without asking what became of them.
// It keeps the first error.
type plainOutput struct {
	app *app
	err error
}

func (p *plainOutput) Write(b []byte) (int, error) {
	if p.err == nil && p.app.stdoutLost() {
		p.err = errClosed
	}
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.app.stdout.Write(b)
	if err != nil {
		p.err = stdoutError(err)
	}
	return n, p.err
}

// stdoutError says that standard output could not be written, without the name that it has for us.
func stdoutError(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("write standard output: %w", err)
}

// errClosed says that nobody can read what is written to standard output.
var errClosed = errors.New("write standard output: it is closed")

// writeOutput lets write fill the file at path, whole or not at all. The path "" or "-" is standard
// output. What write writes and then calls a part (errPart) is kept.
func (a *app) writeOutput(path string, write func(io.Writer) error) error {
	if toStdout(path) && a.stdoutLost() {
		return errClosed
	}
	return a.writeVerdict(path, write)
}

// writeVerdict is writeOutput for a command whose status is an answer by itself: who closes its standard output
// does not want to read more.
func (a *app) writeVerdict(path string, write func(io.Writer) error) error {
	if toStdout(path) {
		return a.writeStdout(write)
	}
	return keepPart(write, func(write func(io.Writer) error) error { return a.files.Write(path, write) })
}

func (a *app) writeStdout(write func(io.Writer) error) error {
	w := bufio.NewWriterSize(a.stdout, 64<<10)
	err := write(w)
	if flushErr := w.Flush(); flushErr != nil {
		return stdoutError(flushErr)
	}
	return err
}

// createOutput lets write fill a new file of a name that fpstack chose, in folder dir, and returns its path.
func (a *app) createOutput(dir, stem, ending string, write func(io.Writer) error) (path string, err error) {
	err = keepPart(write, func(write func(io.Writer) error) (err error) {
		path, err = a.files.Create(dir, stem, ending, write)
		return err
	})
	return path, err
}

// keepPart runs store, for which a part is a success, and returns errPart after it.
func keepPart(write func(io.Writer) error, store func(func(io.Writer) error) error) error {
	var part error
	err := store(func(w io.Writer) error {
		err := write(w)
		if err == errPart {
			part, err = err, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return part
}

// checkWritable returns now what would keep [app.writeOutput] from writing path later.
func (a *app) checkWritable(path string) error {
	if !toStdout(path) {
		return a.files.Check(path)
	}
	if a.stdoutLost() {
		return errClosed
	}
	return nil
}

// stdoutLost reports whether what is written to standard output is lost.
func (a *app) stdoutLost() bool { return isOwnStdout(a.stdout) && outfile.StandardLost() }

// steady gives what complaints are written to, by another number if it is the standard error of this program: Go ends
// a program that writes to a broken pipe by the number 2 or 1, and who has lost its connection to us (ssh) has
// not lost interest in the file that is being recorded. Nothing that is started inherits that number.
func steady(stderr io.Writer) io.Writer {
	f, ok := stderr.(*os.File)
	if !ok || f.Fd() != uintptr(syscall.Stderr) {
		return stderr
	}
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_DUPFD_CLOEXEC, uintptr(syscall.Stderr)+1)
	if errno != 0 {
		return stderr
	}
	return os.NewFile(fd, f.Name())
}

// isOwnStdout reports whether w is the standard output of this program.
func isOwnStdout(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && f.Fd() == uintptr(syscall.Stdout)
}

// toStdout reports whether path means standard output.
func toStdout(path string) bool { return path == "" || path == "-" }
