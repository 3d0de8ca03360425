package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Exit statuses of a command that runs another, docs/cli.md.
const (
	statusOurs          = 125 // fpstack itself failed
	statusNotExecutable = 126
	statusNotFound      = 127
)

// statusError ends fpstack with a status that the table of a dump has not. What is to be
// told was told already.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// child is a command that fpstack started, as the shell would have: the same files,
// environment, limits, process group and umask. Whoever waits for it is [child.wait]
// alone.
type child struct {
	process *os.Process
	ended   chan struct{} // closed when it has ended
	status  int           // valid when ended is closed
	err     error         // as status
}

// startChild starts argv, with the place in the order of the OOM killer that oom says we had, and returns when its program
// has taken over. The error is a *startError.
//
// Files beyond standard error are inherited as they are. Signals that were ignored when
// fpstack began stay ignored if they are SIGHUP or SIGINT; the others are at their default,
// because Go's runtime takes those over before any of our code runs.
func startChild(argv []string, oom oomScore) (*child, error) {
	return startChildWith(argv, []uintptr{0, 1, 2}, oom)
}

// startChildWith is startChild with other files for standard input, output and error.
func startChildWith(argv []string, files []uintptr, oom oomScore) (*child, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) { // a shell too runs what PATH finds in "."
		return nil, newStartError(argv[0], err)
	}
	pidfd := -1
	attr := &syscall.ProcAttr{Env: environment(), Files: files, Sys: &syscall.SysProcAttr{PidFD: &pidfd}}
	var pid int
	start := func() {
		pid, _, err = syscall.StartProcess(path, argv, attr)
		if errors.Is(err, syscall.ENOEXEC) { // as execvp(3): a script without #!
			pid, _, err = syscall.StartProcess("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...), attr)
		}
	}
	oom.usual(start)
	if err != nil {
		return nil, newStartError(argv[0], err)
	}
	p, err := os.FindProcess(pid) // it cannot fail: a child that has ended is there until it is reaped
	if err != nil {
		return nil, newStartError(argv[0], err)
	}
	c := &child{process: p, ended: make(chan struct{})}
	go c.wait(pidfd)
	return c, nil
}

// wait reaps the child when it has ended, and not before: a wait for the end of a process
// that some thread of ours traces takes the stops which that thread is waiting for, and shows them as
// an end (docs/dev/findings.md). os.Process.Wait would.
func (c *child) wait(pidfd int) {
	defer close(c.ended)
	pid := c.process.Pid
	awaitEnd(pid, pidfd)
	var w syscall.WaitStatus
	_, err := syscall.Wait4(pid, &w, 0, nil)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(pid, &w, 0, nil)
	}
	switch {
	case err != nil:
		c.status, c.err = statusOurs, fmt.Errorf("wait for process %d: %w", pid, err)
	case w.Signaled():
		c.status = 128 + int(w.Signal()) // as a shell says
	default:
		c.status = w.ExitStatus()
	}
}

// awaitEnd returns when process pid, a child, has ended and can be reaped. pidfd, which it closes, is
// readable then and at no stop before (pidfd_open(2)); it is -1 where the kernel has none.
func awaitEnd(pid, pidfd int) {
	const often = 10 * time.Millisecond // where there is nothing to wait on
	if pidfd >= 0 && syscall.SetNonblock(pidfd, true) == nil {
		f := os.NewFile(uintptr(pidfd), "pidfd")
		defer f.Close()
		if conn, err := f.SyscallConn(); err == nil {
			conn.Read(func(uintptr) bool { return isZombie(pid) })
		}
	}
	for !isZombie(pid) {
		time.Sleep(often)
	}
}

// isZombie tells whether a child has ended and waits to be reaped. A leader whose threads live on
// looks like that too; a wait for it blocks until they have ended, and nobody stops it.
func isZombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // gone, or no /proc to look at
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	return len(fields) > 0 && (fields[0][0] == 'Z' || fields[0][0] == 'X')
}

// environment is the one that fpstack was given, to the byte. os.Environ leaves out what has
// a name twice and what is empty.
func environment() []string {
	b, err := os.ReadFile("/proc/self/environ")
	if err != nil || len(b) == 0 {
		return os.Environ()
	}
	return strings.Split(string(bytes.TrimSuffix(b, []byte{0})), "\x00")
}

// startError says why a command could not be started.
type startError struct {
	status int
	err    error
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// newStartError files err under the status that a shell gives.
func newStartError(name string, err error) *startError {
	status := statusOurs
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		status = statusNotFound
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSYS):
	default:
		status = statusNotExecutable
	}
	if errors.Is(err, exec.ErrNotFound) {
		return &startError{status, fmt.Errorf("start %q: command not found", name)}
	}
	return &startError{status, fmt.Errorf("start %q: %w", name, err)}
}
