//go:build linux

package tracer

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoProcess says that there is no such process, or that it has ended.
var ErrNoProcess = errors.New("no such process")

// ErrSelf says that the process is this one, which cannot stop itself.
var ErrSelf = errors.New("a process cannot stop itself")

// ErrExec says that the process began another program while it was inspected.
var ErrExec = errors.New("process began another program")

// ErrCoreDump says that the process is dumping core: it stops for nobody.
var ErrCoreDump = errors.New("process is dumping core")

// Transient reports whether err is a want that may pass: of descriptors, ours or the system's, or of memory. It says
// nothing about the process that was meant.
func Transient(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// KernelThreadError says that the process is a thread of the kernel.
type KernelThreadError struct {
	PID  int
	Comm string
}

func (e *KernelThreadError) Error() string {
	return fmt.Sprintf("process %d %q is a kernel thread", e.PID, e.Comm)
}

// ZombieError says that the process has ended and waits to be reaped by its parent.
type ZombieError struct {
	PID, Parent int
	Comm        string
}

func (e *ZombieError) Error() string {
	return fmt.Sprintf("process %d %q has ended and was not reaped by its parent %d", e.PID, e.Comm, e.Parent)
}

// TracedError says that another tracer holds the process. A process has one tracer.
type TracedError struct {
	PID    int
	Tracer int    // its process or thread id, 0 if it lies in another pid namespace
	Name   string // its comm, "" if unknown
	Mutual bool   // the process traces us, so that tracing it would stop both for good
}

func (e *TracedError) Error() string {
	if e.Mutual {
		return fmt.Sprintf("process %d traces this one", e.PID)
	}
	return fmt.Sprintf("process %d is traced by process %d %q", e.PID, e.Tracer, e.Name)
}

// ExecutingError says that a process could not be attached to as it begins another program: the kernel holds back who
// wants to while a thread is in execve(2), which reads files, and waits for whoever is asked whether it may.
type ExecutingError struct {
	PID    int
	Waited time.Duration // for how long it was tried
}

func (e *ExecutingError) Error() string {
	return fmt.Sprintf("process %d is in execve, which has not ended within %v: a file system or a scanner may hold it",
		e.PID, e.Waited.Round(time.Millisecond))
}

func isExecuting(err error) bool {
	var executing *ExecutingError
	return errors.As(err, &executing)
}

// NotStoppedError says that a thread did not stop, or is in a state in which none does.
type NotStoppedError struct {
	TID    int
	State  byte          // as /proc/TID/stat says
	Waited time.Duration // how long it was waited for; 0: it was not interrupted
	// Repaired says that it was not interrupted because its call was restarted once already: a
	// second stop would show.
	Repaired bool
}

func (e *NotStoppedError) Error() string {
	switch {
	case e.Repaired:
		return fmt.Sprintf("thread %d is not stopped again in a call that would return EINTR", e.TID)
	case e.Waited == 0:
		return fmt.Sprintf("thread %d is in state %c, in which it does not stop", e.TID, e.State)
	}
	return fmt.Sprintf("thread %d in state %c did not stop within %v", e.TID, e.State, e.Waited.Round(time.Millisecond))
}

// KernelError says that the kernel lacks what is needed, or refuses it to everybody.
type KernelError struct {
	Request string // "PTRACE_SEIZE" (Linux 3.4), "PTRACE_GETREGSET" (2.6.34)
	Err     error
}

func (e *KernelError) Error() string { return fmt.Sprintf("%s is not available: %v", e.Request, e.Err) }

func (e *KernelError) Unwrap() error { return e.Err }

// WordSizeError says that a 64-bit process was met by a 32-bit build.
type WordSizeError struct{ PID int }

func (e *WordSizeError) Error() string {
	return fmt.Sprintf("process %d is a 64-bit process and this is a 32-bit build", e.PID)
}
