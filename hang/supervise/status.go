//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"
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
