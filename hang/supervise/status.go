//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit statuses of a program that runs another; docs/cli.md.
const (
	Failed        = 125 // it failed itself
	NotExecutable = 126
	NotFound      = 127
)

// StartError says why a command could not be started.
type StartError struct {
	Status int // the one that a shell gives
	Err    error
}

func (e *StartError) Error() string { return e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// newStartError files err under the status that a shell gives.
func newStartError(name string, err error) *StartError {
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	e := &StartError{NotExecutable, fmt.Errorf("start %q: %w", name, err)}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return &StartError{NotFound, fmt.Errorf("start %q: command not found", name)}
	case errors.Is(err, fs.ErrNotExist):
		e.Status = NotFound
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSYS):
		e.Status = Failed
	}
	return e
}

// SignalName is "SIGTERM"; "signal 34" for one without a name.
func SignalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// SignalNumber is the signal of that name, with or without SIG, or of that number; 0 if there is none.
func SignalNumber(name string) syscall.Signal {
	const last = 64
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n <= last {
		return syscall.Signal(n)
	}
	return unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG"))
}
